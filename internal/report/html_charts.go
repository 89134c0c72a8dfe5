package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/mqlab/mqlab/internal/chart"
	"github.com/mqlab/mqlab/internal/hist"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/monitor"
	"github.com/mqlab/mqlab/internal/summary"
)

const (
	// together is how many lines a chart shows; more are too many to tell apart.
	together = 6
	// mostCharted is how many cells have charts over time of their own.
	mostCharted = 40
)

// none is where there is no number.
var none = math.NaN()

func orNone(v *float64) float64 {
	if v == nil {
		return none
	}
	return *v
}

var responseAxis = chart.Axis{Name: "response time", Ticks: chart.Duration, Value: summary.Nanoseconds.Format}

func ticksOf(u summary.Unit) chart.Ticks {
	switch u {
	case summary.Nanoseconds:
		return chart.Duration
	case summary.Size:
		return chart.Bytes
	}
	return chart.Plain
}

// charted are the rows of a group that charts over time show.
func (p *page) charted(g *group) (rows []*row) {
	before := 0
	for _, x := range p.groups {
		if x == g {
			break
		}
		before += len(x.rows)
	}
	for i := range g.rows {
		if before+i < mostCharted {
			rows = append(rows, &g.rows[i])
		}
	}
	return rows
}

// sayLeftOut names how much the section before does not show.
func (p *page) sayLeftOut() {
	if n := len(p.s.Cells); n > mostCharted {
		p.sections[len(p.sections)-1].say(plain, fmt.Sprintf("Shown for the first %d of %d combinations of subject and load.", mostCharted, n))
	}
}

// name is a row's name in charts.
func (p *page) name(r *row) string {
	name := r.label
	if name == "" {
		name = r.cell.Subject.Name
	}
	if p.folds[r.cell.Cell].invalid {
		name += " (invalid)"
	}
	return name
}

// percentileCharts shows the curves of a group, a few in each chart.
func (p *page) percentileCharts(g *group) (out figures) {
	for from := 0; from < len(g.rows); from += together {
		c := chart.Percentiles{Y: responseAxis}
		for i := from; i < min(from+together, len(g.rows)); i++ {
			r := &g.rows[i]
			if curve, ok := p.folds[r.cell.Cell].curve(p.name(r), ledger.Response); ok {
				c.Curves = append(c.Curves, curve)
			}
		}
		out = append(out, percentileChart(&c, "Response time by percentile"))
	}
	return out
}

// partCharts shows response, service and acknowledgement time of one row.
func (p *page) partCharts(r *row) figures {
	c := chart.Percentiles{Y: chart.Axis{Name: "time", Ticks: chart.Duration, Value: summary.Nanoseconds.Format}}
	for _, m := range []ledger.Metric{ledger.Response, ledger.Service, ledger.Ack} {
		if curve, ok := p.folds[r.cell.Cell].curve(m.String(), m); ok {
			c.Curves = append(c.Curves, curve)
		}
	}
	return figures{percentileChart(&c, p.name(r)+": times by percentile")}
}

func percentileChart(c *chart.Percentiles, title string) figure {
	c.Title = title
	var words []string
	for i := range c.Curves {
		words = append(words, describe(&c.Curves[i]))
	}
	c.Desc = sentence(words)
	return figure{c.SVG(), title}
}

// curve is the percentile curve of a metric; false where it is not known how many times there should be.
func (f *cellFold) curve(name string, m ledger.Metric) (c chart.Curve, ok bool) {
	h, expected := f.hists[m], f.expected[m]
	if h == nil || expected == 0 {
		return c, false
	}
	c = chart.Curve{Name: name, Expected: expected, Lost: h.Count()-h.Overflow() < expected}
	for _, pt := range h.Curve(expected) {
		if pt.Value <= hist.MaxValue {
			c.Points = append(c.Points, chart.Point{X: pt.Quantile, Y: float64(pt.Value)})
		}
	}
	return c, len(c.Points) > 0
}

func describe(c *chart.Curve) string {
	last := c.Points[len(c.Points)-1]
	if c.Lost {
		return fmt.Sprintf("%s ends at %s after %s of the messages, the rest is lost", c.Name, summary.Nanoseconds.Format(last.Y), summary.Ratio(last.X))
	}
	return fmt.Sprintf("%s rises to %s", c.Name, summary.Nanoseconds.Format(last.Y))
}

// heatMaps shows each row's response times over time, all on one scale.
func (p *page) heatMaps(g *group) (out figures) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, r := range p.charted(g) {
		if h := p.folds[r.cell.Cell].hists[ledger.Response]; h != nil && h.Count() > 0 {
			low, high = math.Min(low, math.Max(1, float64(h.Min()))), math.Max(high, float64(h.Max()))
		}
	}
	for _, r := range p.charted(g) {
		f := p.folds[r.cell.Cell]
		m := chart.HeatMap{Y: responseAxis, Phases: f.phases(), Marks: f.marks(), From: f.start(), To: f.end(), Low: low, High: high}
		m.Title = "Response time over time, " + p.name(r)
		m.Desc = f.describe()
		for i := range f.seconds {
			m.Columns = append(m.Columns, f.seconds[i].column())
		}
		out = append(out, figure{m.SVG(), p.name(r) + ": response time over time" + f.repetitions()})
	}
	return out
}

// describe says what was done when, for those who do not see it.
func (f *cellFold) describe() string {
	var words []string
	for _, p := range f.phases() {
		words = append(words, fmt.Sprintf("%s from %.1f to %.1f s", p.Name, p.From, p.To))
	}
	for i, m := range f.marks() {
		if i == 10 {
			words = append(words, "and more")
			break
		}
		if m.To > m.From {
			words = append(words, fmt.Sprintf("%s from %.1f to %.1f s", m.Kind, m.From, m.To))
		} else {
			words = append(words, fmt.Sprintf("%s at %.1f s", m.Kind, m.From))
		}
	}
	return sentence(words)
}

func (f *cellFold) repetitions() string {
	if len(f.trials) < 2 {
		return ""
	}
	return ", " + summary.Plural(uint64(len(f.trials)), "repetition")
}

// rateCharts shows what was offered, sent and delivered, all on one scale.
func (p *page) rateCharts(g *group) (out figures) {
	counts := []struct {
		name string
		of   func(*ledger.InWindow) uint64
	}{
		{"offered", func(i *ledger.InWindow) uint64 { return i.Offered }},
		{"sent", func(i *ledger.InWindow) uint64 { return i.Sent }},
		{"delivered", func(i *ledger.InWindow) uint64 { return i.Delivered }},
	}
	most := 0.0
	var charts []*chart.Timeline
	for _, r := range p.charted(g) {
		f := p.folds[r.cell.Cell]
		t := &chart.Timeline{Y: chart.Axis{Name: "messages per second", Value: summary.Rate}, Phases: f.phases(), Marks: f.marks(), From: f.start(), To: f.end()}
		t.Title, t.Desc = "Messages per second, "+p.name(r), f.describe()
		for _, c := range counts {
			s := chart.Series{Name: c.name}
			for i := range f.seconds {
				x := &f.seconds[i]
				v := x.rate(c.of(&x.in))
				if !math.IsNaN(v) {
					most = math.Max(most, v)
				}
				s.Points = append(s.Points, chart.Point{X: (inSeconds(x.from) + inSeconds(x.to)) / 2, Y: v})
			}
			t.Series = append(t.Series, s)
		}
		charts = append(charts, t)
		out = append(out, figure{caption: p.name(r) + ": messages per second" + f.meanOf()})
	}
	for i, t := range charts {
		t.Most = most
		out[i].svg = t.SVG()
	}
	return out
}

func (f *cellFold) meanOf() string {
	if len(f.trials) < 2 {
		return ""
	}
	return ", mean of " + summary.Plural(uint64(len(f.trials)), "repetition")
}

// resourceCharts shows CPU and memory of broker and generator, the rows beside each other.
func (p *page) resourceCharts(g *group) (out figures) {
	rows := p.charted(g)
	for from := 0; from < len(rows); from += together {
		part := rows[from:min(from+together, len(rows))]
		for _, role := range []string{monitor.Broker, monitor.Generator} {
			cpu := chart.Axis{Name: "CPU, % of a core", Value: func(v float64) string { return summary.Number(v) + " %" }}
			out = append(out, p.resource(part, "CPU of the "+role, cpu, func(f *cellFold) []chart.Point { return f.load(role) }))
		}
		for _, role := range []string{monitor.Broker, monitor.Generator} {
			memory := chart.Axis{Name: "memory (PSS)", Ticks: chart.Bytes, Value: summary.Size.Format}
			out = append(out, p.resource(part, "Memory of the "+role, memory, func(f *cellFold) []chart.Point { return f.memory(role) }))
		}
	}
	return out
}

func (p *page) resource(rows []*row, title string, y chart.Axis, of func(*cellFold) []chart.Point) figure {
	t := chart.Timeline{Y: y, From: math.Inf(1), To: math.Inf(-1)}
	t.Title = title
	var words []string
	for i, r := range rows {
		f := p.folds[r.cell.Cell]
		t.From, t.To = math.Min(t.From, f.start()), math.Max(t.To, f.end())
		if i == 0 {
			t.Phases = f.phases()
		}
		if len(rows) == 1 {
			t.Marks = f.marks()
		}
		t.Series = append(t.Series, chart.Series{Name: p.name(r), Points: of(f)})
		words = append(words, p.name(r))
	}
	t.Desc = "Over time, of " + sentence(words)
	return figure{t.SVG(), title}
}

// sentence joins words.
func sentence(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return strings.Join(words, "; ") + "."
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func spaced(s string) string { return strings.ReplaceAll(s, "_", " ") }
