package show

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/clients"
	"github.com/mqlab/mqlab/internal/report"
)

// modeWords say what a mode is for.
var modeWords = map[clients.Mode]string{
	clients.PairedMode: "latency of a lone message", clients.DrainMode: "work per message", clients.PacedMode: "on a schedule",
	clients.BurstMode: "throughput", clients.BreakdownMode: "where the time goes", clients.AllocationsMode: "allocations, counted from outside",
}

// WritePlan writes what a comparison would do, as text or JSON.
func WritePlan(w io.Writer, p *clients.Plan, asJSON, color bool) error {
	if asJSON {
		return report.WriteJSON(w, p)
	}
	var qos []string
	payloads := map[int]bool{}
	for _, x := range p.Points {
		payloads[x.Payload] = true
		if text := fmt.Sprint(x.QoS); len(qos) == 0 || qos[len(qos)-1] != text {
			qos = append(qos, text)
		}
	}
	page := report.NewPage(fmt.Sprintf("mqlab run clients: %s and %s, %s, QoS %s, %s", countWords(len(p.Clients), "library"),
		countWords(len(p.Floors), "floor"), countWords(len(payloads), "payload"), orNone(qos), p.Protocol))
	page.Say("Takes about %s where all of them are installed; what is missing is skipped and named.", about(p.Estimate))
	page.Say("Libraries: %s.", orNone(p.Clients))
	page.Say("Floors: %s.", orNone(p.Floors))
	if len(p.Besides) > 0 {
		page.Say("Besides, not in that time: %s.", strings.Join(p.Besides, "; "))
	}
	var rows [][]string
	for _, x := range p.Points {
		for i, m := range x.Modes {
			at, every := "", unknown
			if i == 0 {
				at = x.Point.String()
			}
			if m.Interval > 0 {
				every = duration(float64(m.Interval))
			}
			rows = append(rows, []string{at, string(m.Mode), modeWords[m.Mode], fmt.Sprintf("%d × %d", m.Rounds, m.Messages), every, about(m.Estimate)})
		}
	}
	page.Section("What every client gets")
	page.Table(3, []string{"", "mode", "tells", "rounds", "every", "about"}, rows)
	return page.Write(w, "text", color, nil)
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// about rounds a duration to what an estimate is worth.
func about(d time.Duration) string {
	switch {
	case d < time.Second:
		return "1s"
	case d < 2*time.Minute:
		return d.Round(time.Second).String()
	}
	return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
}
