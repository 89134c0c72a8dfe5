package show

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mqlab/mqlab/internal/chart"
	"github.com/mqlab/mqlab/internal/clients"
	"github.com/mqlab/mqlab/internal/report"
	"github.com/mqlab/mqlab/internal/stat"
	"github.com/mqlab/mqlab/internal/summary"
)

// partNames are those of a lone message's time, in their order.
var partNames = []string{"network and kernel", "wake-up", "parse and dispatch", "callback", "not told apart"}

// partsOf are the parts of a breakdown, nil where one was not measured.
func partsOf(b *clients.Breakdown) []*float64 {
	return []*float64{b.Network, b.Wake, b.Dispatch, &b.Callback, b.Rest}
}

// whereTimeGoes shows the parts of a lone message's time, and says what was not measured.
func (p *page) whereTimeGoes() {
	intro := []string{
		"Network and kernel: until a thread of the client is woken. Wake-up: until it runs again. Parse and dispatch: from there to the callback. Means over the middle half of the messages, so that parts add up. What was not measured is left out, and named.",
	}
	if !slices.ContainsFunc(p.r.Cells, func(c clients.Cell) bool { return c.Breakdown != nil && c.Invalid == "" }) {
		p.Section("Where the time goes")
		why := "it was not measured in this run"
		if p.r.Untraced != "" {
			why = p.r.Untraced
		}
		p.Say("The parts of a message's time are not known: %s.", why)
		return
	}
	p.each("Where the time goes", intro, p.parts)
}

func (p *page) parts(x clients.Point) {
	chart := chart.Stack{
		Labels: chart.Labels{Title: "Where the time of a lone message goes", Desc: "The parts of each client, floors included."},
		X:      chart.Axis{Name: "time of a lone message", Ticks: chart.Duration, Value: duration}, Parts: partNames,
	}
	var rows [][]string
	missing := map[string][]string{}
	var reasons []string
	for _, k := range p.r.Clients {
		c := p.r.Cell(k.Name, x.Payload, x.QoS)
		if c == nil || c.Invalid != "" || c.Breakdown == nil {
			continue
		}
		b := c.Breakdown
		row := []string{k.Name, duration(b.Total)}
		pile := chartPile(k.Name, b)
		for _, v := range partsOf(b) {
			row = append(row, perhapsDuration(v))
		}
		rows, chart.Piles = append(rows, row), append(chart.Piles, pile)
		if b.Why != "" {
			if missing[b.Why] == nil {
				reasons = append(reasons, b.Why)
			}
			missing[b.Why] = append(missing[b.Why], k.Name)
		}
	}
	if p.html {
		p.Charts(report.Drawing{SVG: chart.SVG(), Caption: chart.Title})
	}
	p.Table(1, []string{"client", "total", "network", "wake-up", "dispatch", "callback", "not told apart"}, rows)
	for _, why := range reasons {
		p.Warn("Parts not measured of %s: %s.", strings.Join(missing[why], ", "), why)
	}
}

func chartPile(name string, b *clients.Breakdown) chart.Pile {
	pile := chart.Pile{Name: name, Text: duration(b.Total)}
	for _, v := range partsOf(b) {
		if v == nil {
			pile.Parts = append(pile.Parts, math.NaN())
		} else {
			pile.Parts = append(pile.Parts, *v)
		}
	}
	return pile
}

func perhapsDuration(v *float64) string {
	if v == nil {
		return unknown
	}
	return duration(*v)
}

func perhapsNumber(v *float64) string {
	if v == nil {
		return unknown
	}
	return fmt.Sprintf("%.1f", *v)
}

// flows shows the modes that are not ranked.
func (p *page) flows() {
	if !slices.ContainsFunc(p.r.Cells, func(c clients.Cell) bool { return c.Paced != nil || c.Burst != nil }) {
		return
	}
	intro := []string{
		"Not ranked. Paced: one client alone, on a schedule. Burst: as fast as the client takes messages; queue: their time in it, mostly behind others, which is no latency of the library.",
	}
	p.each("On a schedule, and in a burst", intro, func(x clients.Point) {
		var rows [][]string
		for _, k := range p.r.Clients {
			c := p.r.Cell(k.Name, x.Payload, x.QoS)
			if c == nil || c.Invalid != "" || c.Paced == nil && c.Burst == nil {
				continue
			}
			row := []string{k.Name, unknown, unknown, unknown, unknown, unknown}
			if b := c.Paced; b != nil {
				row[1], row[2] = orUnknown(b.Latency.P50), orUnknown(b.Latency.P90)
			}
			if b := c.Burst; b != nil && len(b.PerSecond) > 0 {
				row[3], row[4], row[5] = summary.Number(stat.Median(b.PerSecond)), orUnknown(b.Queueing.P50), orUnknown(b.Queueing.P90)
			}
			rows = append(rows, row)
		}
		p.Table(1, []string{"client", "paced p50", "p90", "burst msg/s", "queue p50", "p90"}, rows)
	})
}
