package show

import (
	"io"
	"time"

	"github.com/mqlab/mqlab/internal/clients/idle"
	"github.com/mqlab/mqlab/internal/report"
	"github.com/mqlab/mqlab/internal/summary"
)

// WriteIdle writes what waiting costs client libraries: in the named format, json or one of report.PageFormats.
func WriteIdle(w io.Writer, format string, r *idle.Result, color bool) error {
	if format == "json" {
		return writeJSON(w, r)
	}
	p := report.NewPage("What client libraries cost while they have nothing to say")
	p.Say("%s clients, each with a connection to %s, waited for %v at the same time. Link: %s.", r.Protocol, r.Broker, time.Duration(r.Span).Round(time.Second), r.Link)
	if r.KeepAlive > 0 {
		p.Say("Keep-alive: %v.", time.Duration(r.KeepAlive))
	} else {
		p.Say("Keep-alive: as each library and the broker have it.")
	}
	p.Section("Per minute")
	var rows [][]string
	for _, c := range r.Clients {
		if c.Invalid != "" {
			rows = append(rows, []string{c.Name, "–", "–", "–", "–", "–"})
			continue
		}
		rows = append(rows, []string{
			c.Name, known(c.CPU, func(v float64) string { return summary.Duration(int64(v)) }), known(c.Wakeups, summary.Number),
			known(c.Bytes, summary.Number), known(c.Packets, summary.Number), summary.Bytes(c.Memory),
		})
	}
	p.Table(1, []string{"client", "CPU/min", "wake-ups/min", "link B/min", "packets/min", "memory"}, rows)
	p.Say("CPU time and wake-ups compare libraries; bytes and packets, with their headers and both ways, compare protocols and the timers that libraries have.")
	for _, c := range r.Clients {
		if c.Invalid != "" {
			p.Warn("%s gave no figures: %s.", c.Name, c.Invalid)
		}
	}
	var left []string
	for _, s := range r.Skipped {
		left = append(left, s.Name+" is left out: "+s.Why)
	}
	p.Points(left...)
	return p.Write(w, format, color, nil)
}

// known writes a figure, or that it is not known.
func known(v *float64, write func(float64) string) string {
	if v == nil {
		return "–"
	}
	return write(*v)
}
