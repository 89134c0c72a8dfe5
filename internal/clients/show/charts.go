package show

import (
	"math"
	"slices"

	"github.com/mqlab/mqlab/internal/chart"
	"github.com/mqlab/mqlab/internal/clients"
	"github.com/mqlab/mqlab/internal/report"
	"github.com/mqlab/mqlab/internal/summary"
)

// families are the languages that share a chart.
var families = [][]string{{"C", "C++"}, {"Go"}, {"Python"}, {"Node"}}

// payloadCharts draw a metric by payload, a chart for each family of languages, all on one scale. Of lone messages the latency itself is
// drawn, so that floors have a line, too.
func (p *page) payloadCharts(at []clients.Point, m clients.Metric, title string) {
	if !p.html || len(at) < 2 {
		return
	}
	low, high := math.Inf(1), 0.0
	var sweeps []*chart.Sweep
	var captions []string
	for _, family := range families {
		s := &chart.Sweep{
			X: chart.Axis{Name: "payload", Ticks: chart.Bytes}, Y: chart.Axis{Name: "time per message", Ticks: chart.Duration, Value: duration},
		}
		words := ""
		for _, k := range p.r.Clients {
			if !slices.Contains(family, k.Language) {
				continue
			}
			line := chart.Series{Name: k.Name}
			for _, x := range at {
				v := p.value(m, x, k.Name)
				if v > 0 {
					low, high = math.Min(low, v), math.Max(high, v)
				}
				line.Points = append(line.Points, chart.Point{X: float64(x.Payload), Y: v})
			}
			words += k.Name + " "
			s.Lines = append(s.Lines, line)
		}
		name := family[0]
		if len(family) > 1 {
			name += " and " + family[1]
		}
		caption := title + " by payload: " + name
		s.Title, s.Desc = caption, "Of "+words+"."
		sweeps, captions = append(sweeps, s), append(captions, caption)
	}
	var drawings []report.Drawing
	for i, s := range sweeps {
		s.Low, s.High = low, high
		drawings = append(drawings, report.Drawing{SVG: s.SVG(), Caption: captions[i]})
	}
	p.Charts(drawings...)
}

// value is what a chart by payload shows; no number where there is none.
func (p *page) value(m clients.Metric, x clients.Point, name string) float64 {
	if m == clients.Excess {
		if c := p.r.Cell(name, x.Payload, x.QoS); c != nil && c.Invalid == "" && c.Lone != nil {
			return c.Lone.P50
		}
		return math.NaN()
	}
	if f := p.r.Figure(m, x, name); f != nil {
		return f.Median
	}
	return math.NaN()
}

// bars compare the libraries at a point.
func (p *page) bars(x clients.Point) {
	var drawings []report.Drawing
	for _, m := range clients.Metrics {
		k := p.r.Ranking(m, x)
		if k == nil {
			continue
		}
		caption := map[clients.Metric]string{
			clients.Drain: "Work per message", clients.Excess: "Added to a lone message, beyond the floor of C",
			clients.Jitter: "Jitter of lone messages", clients.CPU: "CPU per message",
		}[m]
		b := chart.Bars{Labels: chart.Labels{Title: caption, Desc: "Medians and 95 % intervals."}, X: chart.Axis{Name: "time per message", Ticks: chart.Duration, Value: duration}}
		for _, row := range k.Rows {
			f := p.r.Figure(m, x, row.Client)
			bar := chart.Bar{Name: row.Client, Value: f.Median, Low: math.NaN(), High: math.NaN(), Text: median(f)}
			if f.Low != 0 || f.High != 0 {
				bar.Low, bar.High = f.Low, f.High
				bar.Text += " (" + interval(f, summary.Nanoseconds) + ") " + marks(f)
			}
			b.Bars = append(b.Bars, bar)
		}
		drawings = append(drawings, report.Drawing{SVG: b.SVG(), Caption: caption})
	}
	p.Charts(drawings...)
}
