package gate

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/summary"
)

// Result is what came of a check or of a whole gate.
type Result string

// The results. A percentile that falls among lost messages is later than any limit: missed. A figure that is not known, for want of
// valid repetitions or of messages, makes its limit undecidable, never kept. A gate is missed if one check is, else undecidable if
// one check is or the run did not reach its end.
const (
	Pass        Result = "pass"
	Missed      Result = "missed"
	Undecidable Result = "undecidable"
)

// Gate is the outcome of all limits of a run.
type Gate struct {
	Result     Result  `json:"result"`
	Baseline   string  `json:"baseline,omitempty"`   // the other run's id
	Incomplete bool    `json:"incomplete,omitempty"` // the run did not reach its end
	Checks     []Check `json:"checks"`
}

// Check is a limit of one cell.
type Check struct {
	Limit    string            `json:"limit"`
	Cell     int               `json:"cell,omitempty"`
	Point    int               `json:"point,omitempty"`
	Set      []plan.Assignment `json:"set,omitempty"`
	Subject  string            `json:"subject,omitempty"`
	Metric   string            `json:"metric"`
	Unit     summary.Unit      `json:"unit"`
	Value    *float64          `json:"value,omitempty"`          // the figure of the report
	Bound    *float64          `json:"bound,omitempty"`          // the number it was compared with; of a baseline, the factor
	Baseline *float64          `json:"baseline_value,omitempty"` // the baseline's median
	Ratio    *float64          `json:"ratio,omitempty"`          // of the medians, this run by the baseline
	Low      *float64          `json:"ratio_low,omitempty"`      // its bootstrap interval, 95 %
	High     *float64          `json:"ratio_high,omitempty"`
	P        *float64          `json:"p,omitempty"` // of the one-sided rank test, adjusted
	Result   Result            `json:"result"`
	Text     string            `json:"text"` // one line: what was found

	limit   *Limit
	reading summary.Reading
	base    []float64
}

// Options are what a gate may need besides the run.
type Options struct {
	Baseline *summary.Summary // nil: there is none
	AnyHost  bool             // the baseline may be of another machine
}

// Evaluate checks every limit in every cell that it is for. It is nil if there is no limit.
func Evaluate(s *summary.Summary, limits []Limit, o Options) *Gate {
	if len(limits) == 0 {
		return nil
	}
	g := &Gate{Incomplete: !s.Run.Complete}
	if o.Baseline != nil {
		g.Baseline = o.Baseline.Run.ID
	}
	for i := range limits {
		found := false
		for n := range s.Cells {
			if c := &s.Cells[n]; limits[i].Subject == "" || limits[i].Subject == c.Subject.Name {
				found = true
				g.Checks = append(g.Checks, checkCell(s, c, &limits[i], &o))
			}
		}
		if !found {
			g.Checks = append(g.Checks, unmeasured(&limits[i]))
		}
	}
	g.notWorse()
	g.conclude()
	return g
}

// unmeasured is the check of a limit that is for no cell.
func unmeasured(l *Limit) Check {
	who := l.Subject
	if who == "" {
		who = "nothing"
	}
	c := Check{Limit: l.Text, Subject: l.Subject, Metric: l.Metric.Name, Unit: l.Metric.Unit, limit: l}
	c.decide(Undecidable, "%s was not measured", who)
	if l.Subject == "" {
		c.Text = "nothing was measured"
	}
	return c
}

func (g *Gate) conclude() {
	g.Result = Pass
	if g.Incomplete {
		g.Result = Undecidable
	}
	for i := range g.Checks {
		if r := g.Checks[i].Result; r == Missed || r == Undecidable && g.Result == Pass {
			g.Result = r
		}
	}
}

// Count is how many checks have that result.
func (g *Gate) Count(r Result) (n int) {
	for i := range g.Checks {
		if g.Checks[i].Result == r {
			n++
		}
	}
	return n
}

// Name is the cell of a check in words.
func (c *Check) Name() string {
	words := []string{c.Subject}
	for _, a := range c.Set {
		words = append(words, a.Key+" "+a.Value)
	}
	return strings.TrimPrefix(strings.Join(words, ", "), ", ")
}

func checkCell(s *summary.Summary, cell *summary.Cell, l *Limit, o *Options) Check {
	c := Check{
		Limit: l.Text, Cell: cell.Cell, Point: cell.Point, Set: cell.Set, Subject: cell.Subject.Name,
		Metric: l.Metric.Name, Unit: l.Metric.Unit, Bound: &l.Value, limit: l, reading: l.Metric.Read(cell, s.TrialsOf(cell)),
	}
	c.Value = c.reading.Value
	switch {
	case l.Baseline:
		c.againstBaseline(s, cell, o)
	case c.reading.Lost && (l.Op == Less || l.Op == AtMost):
		c.decide(Missed, "%s", c.reading.Why)
	case c.Value == nil:
		c.decide(Undecidable, "%s of %s is absent: %s", l.Metric.Words, c.Name(), c.reading.Why)
	default:
		c.decide(resultOf(l.Op.keeps(*c.Value, l.Value)), "%s of %s is %s", l.Metric.Words, c.Name(), c.exact())
	}
	return c
}

func (c *Check) decide(r Result, format string, args ...any) {
	c.Result, c.Text = r, fmt.Sprintf(format, args...)
}

func resultOf(kept bool) Result {
	if kept {
		return Pass
	}
	return Missed
}

// keeps reports whether v keeps the limit.
func (o Op) keeps(v, bound float64) bool {
	switch o {
	case Less:
		return v < bound
	case AtMost:
		return v <= bound
	case More:
		return v > bound
	case AtLeast:
		return v >= bound
	}
	return v == bound
}

// exact writes the value as reports do, and with every digit where that would look like the limit.
func (c *Check) exact() string {
	text := c.Unit.Format(*c.Value)
	if *c.Value == c.limit.Value || text != c.Unit.Format(c.limit.Value) {
		return text
	}
	return fmt.Sprintf("%s (exactly %v %s)", text, *c.Value, c.Unit)
}

// Figure is the value as reports print it, – where there is none.
func (c *Check) Figure() string {
	switch {
	case c.reading.Lost:
		return "lost"
	case c.Value == nil:
		return "–"
	}
	return c.Unit.Format(*c.Value)
}

// order puts first what needs attention.
var order = []Result{Missed, Undecidable, Pass}

// Worst are the checks, those first that did not pass; otherwise in their order.
func (g *Gate) Worst() []*Check {
	all := make([]*Check, len(g.Checks))
	for i := range g.Checks {
		all[i] = &g.Checks[i]
	}
	slices.SortStableFunc(all, func(a, b *Check) int { return slices.Index(order, a.Result) - slices.Index(order, b.Result) })
	return all
}

func finite(v float64) bool { return !math.IsInf(v, 0) && !math.IsNaN(v) }

// ByBaseline is the ratio to the baseline's figure with its interval; "" where the limit is about no baseline, or where there is
// no ratio.
func (c *Check) ByBaseline() string {
	switch {
	case c.Ratio == nil:
		return ""
	case c.Low == nil:
		return summary.Factor(*c.Ratio)
	}
	return summary.Factor(*c.Ratio) + " (" + summary.Range(summary.Factor(*c.Low), summary.Factor(*c.High)) + ")"
}

// Sentence is the gate in one line: how many limits were missed or could not be decided, and the first of them. It is "" for a gate
// that passed.
func (g *Gate) Sentence() string {
	if g.Result == Pass {
		return ""
	}
	n := g.Count(g.Result)
	if n == 0 {
		return "undecidable: the run did not reach its end"
	}
	first := g.Checks[slices.IndexFunc(g.Checks, func(c Check) bool { return c.Result == g.Result })]
	return fmt.Sprintf("%d of %d limits %s; %s: %s", n, len(g.Checks), g.Result, first.Limit, first.Text)
}
