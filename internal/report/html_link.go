package report

import (
	"math"
	"time"

	"github.com/mqlab/mqlab/internal/chart"
	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/summary"
)

// linkCharts shows what the links carried over time, and how long packets waited for them.
func (p *page) linkCharts() {
	p.each("The link over time", "What arrived at the other end, packet headers included, and how long packets waited for the rate on average, second by second.",
		func(sec *section, g *group) {
			var charts figures
			for _, way := range []struct {
				name string
				flow func(*run.LinkInterval) *run.LinkFlow
			}{
				{"up", func(i *run.LinkInterval) *run.LinkFlow { return &i.Up }},
				{"down", func(i *run.LinkInterval) *run.LinkFlow { return &i.Down }},
			} {
				carried := func(f *run.LinkFlow, span time.Duration) float64 {
					return float64(f.Carried) * 8 / 1000 / span.Seconds()
				}
				waited := func(f *run.LinkFlow, _ time.Duration) float64 { return float64(f.Wait) / 1e6 }
				charts = append(charts, p.linkChart(g, "Carried "+way.name, "kbit/s", way.flow, carried)...)
				charts = append(charts, p.linkChart(g, "Waited "+way.name, "ms", way.flow, waited)...)
			}
			if len(charts) > 0 {
				sec.add(charts)
			}
		})
}

// linkChart draws one figure of the links of a group's subjects; none where there was no link.
func (p *page) linkChart(g *group, title, unit string, flow func(*run.LinkInterval) *run.LinkFlow, of func(*run.LinkFlow, time.Duration) float64) figures {
	var rows []*row
	for _, r := range p.charted(g) {
		if len(p.folds[r.cell.Cell].link(flow, of)) > 0 {
			rows = append(rows, r)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	axis := chart.Axis{Name: unit, Value: func(v float64) string { return summary.Number(v) + " " + unit }}
	return figures{p.resource(rows[:min(len(rows), together)], title, axis, func(f *cellFold) []chart.Point { return f.link(flow, of) })}
}

// link is a figure of the link over time, averaged over the repetitions.
func (f *cellFold) link(flow func(*run.LinkInterval) *run.LinkFlow, of func(*run.LinkFlow, time.Duration) float64) []chart.Point {
	return f.mean(math.Round, func(t *run.Trial, add func(x, y float64)) {
		if t.Link == nil {
			return
		}
		before := int64(0)
		for i := range t.Link.Intervals {
			x := &t.Link.Intervals[i]
			if span := time.Duration(x.T - before); span > 0 {
				add(inSeconds(x.T), of(flow(x), span))
			}
			before = x.T
		}
	})
}
