package summary

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mqlab/mqlab/internal/stat"
)

// figures are everything a limit can be set on: the metrics that are compared, and all other times, counts and rates.
var figures = allFigures()

// timed are the distributions of times, by name.
var timed = []struct {
	name, words string
	of          func(*Trial) *Quantiles
}{
	{"response", "response", response},
	{"service", "service", service},
	{"ack", "acknowledgement", acknowledgement},
	{"kernel", "kernel", func(t *Trial) *Quantiles { return t.Latency.Kernel }},
	{"client", "client", func(t *Trial) *Quantiles { return t.Latency.Client }},
	{"blocked", "blocked", func(t *Trial) *Quantiles { return t.Latency.Blocked }},
	{"first_leg", "first leg", func(t *Trial) *Quantiles { return t.Latency.FirstLeg }},
	{"lateness", "lateness", func(t *Trial) *Quantiles { return t.Generator.Lateness }},
	{"connect", "connect", connecting(func(c *Connections) *Quantiles { return c.Connect })},
	{"connect_tcp", "connect TCP", connecting(func(c *Connections) *Quantiles { return c.TCP })},
	{"connect_tls", "connect TLS", connecting(func(c *Connections) *Quantiles { return c.TLS })},
	{"connect_protocol", "connect protocol", connecting(func(c *Connections) *Quantiles { return c.Protocol })},
	{"outage", "outage", connecting(func(c *Connections) *Quantiles { return c.Outage })},
	{"visit", "visit", visits},
}

func connecting(of func(*Connections) *Quantiles) func(*Trial) *Quantiles {
	return func(t *Trial) *Quantiles {
		if t.Connections == nil {
			return nil
		}
		return of(t.Connections)
	}
}

func allFigures() []Metric {
	all := slices.Clone(Metrics)
	add := func(m Metric) {
		if !slices.ContainsFunc(all, func(x Metric) bool { return x.Name == m.Name }) {
			all = append(all, m)
		}
	}
	for _, x := range timed {
		for i, p := range Percentiles {
			add(percentile(x.name+"_"+p.Name, x.words+" "+p.Words, i, x.of))
		}
		for _, e := range []struct {
			name string
			of   func(*Quantiles) *int64
		}{
			{"min", func(q *Quantiles) *int64 { return q.Min }},
			{"mean", func(q *Quantiles) *int64 { return q.Mean }},
			{"max", func(q *Quantiles) *int64 { return q.Max }},
		} {
			add(Metric{Name: x.name + "_" + e.name, Words: x.words + " " + e.name, Unit: Nanoseconds, times: x.of, percentile: e.name, Of: func(t *Trial) *float64 {
				q := x.of(t)
				if q == nil {
					return nil
				}
				return toFloat(e.of(q))
			}})
		}
	}
	for _, f := range CountFields {
		add(Metric{Name: f.Name, Words: strings.ReplaceAll(f.Name, "_", " "), Unit: Messages, Of: func(t *Trial) *float64 { return toFloat(*f.Of(&t.Counts)) }})
	}
	add(Metric{Name: "offered_per_s", Words: "offered per second", Unit: PerSecond, Higher: true, Of: func(t *Trial) *float64 { return t.Rates.Offered }})
	add(Metric{Name: "sent_per_s", Words: "sent per second", Unit: PerSecond, Higher: true, Of: func(t *Trial) *float64 { return t.Rates.Sent }})
	add(Metric{Name: "expected_per_s", Words: "expected per second", Unit: PerSecond, Higher: true, Of: func(t *Trial) *float64 { return t.Rates.Expected }})
	add(Metric{Name: "achieved", Words: "part of the expected rate delivered", Unit: Part, Higher: true, Of: achieved})
	for i := range all {
		switch all[i].Name {
		case "offered", "sent", "acked", "expected", "received", "delivered":
			all[i].Higher = true
		}
	}
	return all
}

// FindFigure returns the figure of that name. Names are those of JSON with dots or underscores, with or without the group and the
// unit: response_p99, response.p99_ns, latency.response.p99_ns. A percentile alone is that of response times.
func FindFigure(name string) (m Metric, ok bool) {
	short := strings.ToLower(strings.TrimSpace(name))
	for _, group := range []string{"latency.", "counts.", "rates.", "generator.", "connections."} {
		short = strings.TrimPrefix(short, group)
	}
	short = strings.TrimSuffix(strings.ReplaceAll(strings.ReplaceAll(short, "p99.9", "p999"), ".", "_"), "_ns")
	if short == "achieved_ratio" {
		short = "achieved"
	}
	for _, candidate := range []string{short, "response_" + short} {
		if i := slices.IndexFunc(figures, func(m Metric) bool { return m.Name == candidate }); i >= 0 {
			return figures[i], true
		}
	}
	return m, false
}

// FigureNames are the names of all figures, the short ones first.
func FigureNames() []string {
	var names []string
	for _, p := range Percentiles {
		names = append(names, p.Name)
	}
	for i := range figures {
		names = append(names, figures[i].Name)
	}
	return names
}

// Reading is what a cell shows by a metric: the figure that reports print, and the values of its repetitions.
type Reading struct {
	Value  *float64
	Values []float64 // of the repetitions that have one
	Lost   bool      // it falls among lost messages: later than any limit
	Why    string    // there is no value
}

// Read returns the reading of a cell: of times and rates the median of its valid repetitions, of counts their sum, of losses the part
// of all messages expected. The trials are those of the cell.
func (m *Metric) Read(c *Cell, trials []*Trial) Reading {
	s, values := standing(c.Subject.Name, trials, m)
	r := Reading{Value: s.Median, Values: values, Lost: s.Lost, Why: s.Unranked}
	if s.Pooled > 0 { // a limit is one for each repetition
		r.Value, r.Lost, r.Why = nil, false, whyFew
	}
	switch {
	case m.Unit == Messages && c.Valid > 0:
		r.Value = toFloat(*m.count().Of(&c.Counts))
	case m.Name == LostRatio && c.Valid > 0:
		r.Value = c.LostRatio
	case r.Lost:
		r.Why = fmt.Sprintf("%s falls among lost messages: it is later than any limit", m.Words)
	}
	if r.Value != nil {
		r.Why = ""
	}
	return r
}

// Median is the middle of the values, nil if there is none.
func (r *Reading) Median() *float64 {
	if len(r.Values) == 0 {
		return nil
	}
	return new(stat.Median(r.Values))
}

// count is the count field of that name.
func (m *Metric) count() *CountField {
	i := slices.IndexFunc(CountFields, func(f CountField) bool { return f.Name == m.Name })
	return &CountFields[i]
}

// TrialsOf are the trials of a cell.
func (s *Summary) TrialsOf(c *Cell) []*Trial { return s.trialsOf(c.Cell) }
