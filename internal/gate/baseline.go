package gate

import (
	"fmt"
	"math"

	"github.com/mqlab/mqlab/internal/stat"
	"github.com/mqlab/mqlab/internal/summary"
)

// fewest repetitions of which an interval is wrong on one side in at most 5 of 100 cases (simulated: 4.8 % with three on each
// side, 1.6 % with five).
const fewest = 3

// againstBaseline compares a cell with the same one of the baseline.
func (c *Check) againstBaseline(s *summary.Summary, cell *summary.Cell, o *Options) {
	m := &c.limit.Metric
	if o.Baseline == nil {
		c.decide(Undecidable, "there is no baseline: name a run by --baseline")
		return
	}
	if apart := summary.HostsApart(&s.Run.Host, &o.Baseline.Run.Host, "this run", "the baseline"); apart != "" && !o.AnyHost {
		c.decide(Undecidable, "the baseline is of another machine: %s; --across-hosts compares nevertheless", apart)
		return
	}
	trials, why := s.Counterparts(cell, o.Baseline)
	if why != "" {
		c.decide(Undecidable, "%s", why)
		return
	}
	other := summary.Cell{Subject: cell.Subject, Valid: len(trials)}
	base := m.Read(&other, trials)
	c.Value, c.Baseline, c.base = c.reading.Median(), base.Median(), base.Values
	upper := c.limit.upper()
	switch {
	case c.reading.Lost && base.Lost:
		c.decide(Undecidable, "%s falls among lost messages in this run and in the baseline", m.Words)
	case c.reading.Lost && upper:
		c.decide(Missed, "%s", c.reading.Why)
	case c.Value == nil:
		c.decide(Undecidable, "%s of %s is absent: %s", m.Words, c.Name(), c.reading.Why)
	case base.Lost && upper:
		c.decide(Pass, "%s of %s is %s; in the baseline it falls among lost messages", m.Words, c.Name(), m.Unit.Format(*c.Value))
	case c.Baseline == nil:
		c.decide(Undecidable, "%s of %s is absent in the baseline: %s", m.Words, c.Name(), base.Why)
	default:
		c.byInterval()
	}
}

// upper reports whether the limit is kept by small values.
func (l *Limit) upper() bool {
	return l.Op == Less || l.Op == AtMost || l.Op == NotWorse && !l.Metric.Higher
}

// byInterval decides from the interval of the ratio where the values have one, else from that of the difference.
func (c *Check) byInterval() {
	if *c.Baseline > 0 && finite(*c.Value / *c.Baseline) {
		c.Ratio = new(*c.Value / *c.Baseline)
	}
	if ci, ok := stat.RatioCI(c.reading.Values, c.base); ok {
		c.Low, c.High = &ci.Low, &ci.High
	}
	if c.limit.Op == NotWorse {
		return // when all checks are known: see Gate.notWorse
	}
	if a, b := len(c.reading.Values), len(c.base); min(a, b) < fewest {
		c.decide(Undecidable, "%s: an interval takes %d valid repetitions or more on both sides, there are %d and %d", c.found(), fewest, a, b)
		return
	}
	ci, bound := c.interval(), c.limit.Value
	if c.Low == nil {
		bound = 0
	}
	op := c.limit.Op
	switch {
	case op.keeps(ci.Low, bound) && op.keeps(ci.High, bound):
		c.decide(Pass, "%s", c.found())
	case !op.keeps(ci.Low, bound) && !op.keeps(ci.High, bound):
		c.decide(Missed, "%s", c.found())
	default:
		c.decide(Undecidable, "%s: the interval holds the limit of %s; more repetitions would narrow it%s", c.found(), c.boundWords(), c.hint())
	}
}

// interval is that of the ratio, or of the difference from the baseline times the factor.
func (c *Check) interval() stat.Interval {
	if c.Low != nil {
		return stat.Interval{Low: *c.Low, High: *c.High}
	}
	ci, ok := stat.DifferenceCI(c.reading.Values, scaled(c.base, c.limit.Value))
	if !ok {
		return stat.Interval{Low: math.Inf(-1), High: math.Inf(1)}
	}
	return ci
}

func scaled(values []float64, factor float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = v * factor
	}
	return out
}

func (c *Check) boundWords() string {
	if c.Low == nil {
		return "no difference"
	}
	return summary.Factor(c.limit.Value)
}

// hint names the form of a limit that equal runs pass.
func (c *Check) hint() string {
	if c.limit.Value != 1 {
		return ""
	}
	return fmt.Sprintf(" (%s not worse than baseline passes where no difference is shown)", c.Metric)
}

// found says what was measured.
func (c *Check) found() string {
	unit := c.Unit
	text := fmt.Sprintf("%s of %s is %s, in the baseline %s", c.limit.Metric.Words, c.Name(), unit.Format(*c.Value), unit.Format(*c.Baseline))
	if c.Low != nil {
		text += fmt.Sprintf(": %s of it (95 %% interval %s)", summary.Factor(*c.Ratio), summary.Range(summary.Factor(*c.Low), summary.Factor(*c.High)))
	}
	return text
}

// notWorse decides all checks of that kind together: the chance of one or more false alarms among them is bounded.
func (g *Gate) notWorse() {
	var open []*Check
	for i := range g.Checks {
		if c := &g.Checks[i]; c.limit.Op == NotWorse && c.Result == "" {
			open = append(open, c)
		}
	}
	ps := make([]float64, len(open))
	for i, c := range open {
		ps[i] = c.oneSided()
	}
	for i, p := range stat.Holm(ps) {
		open[i].P = new(p)
		open[i].decideNotWorse(p, len(open))
	}
}

// oneSided is how likely values that are so much worse than the baseline's are if they are drawn from the same ones; 1 where they
// are not worse.
func (c *Check) oneSided() float64 {
	u, p := stat.MannWhitney(c.reading.Values, scaled(c.base, c.limit.Value))
	worse := u > float64(len(c.reading.Values)*len(c.base))/2
	if c.limit.Metric.Higher {
		worse = u < float64(len(c.reading.Values)*len(c.base))/2
	}
	if worse {
		return p / 2
	}
	return 1
}

func (c *Check) decideNotWorse(p float64, checks int) {
	ci, equal := c.interval(), c.limit.Value
	if c.Low == nil {
		equal = 0
	}
	worse := ci.Low > equal
	if c.limit.Metric.Higher {
		worse = ci.High < equal
	}
	switch a, b := len(c.reading.Values), len(c.base); {
	case float64(checks)*smallestP(a, b) > stat.Alpha:
		c.decide(Undecidable, "%s: %d and %d valid repetitions cannot show any difference among %d such checks; it takes %d on both sides",
			c.found(), a, b, checks, enough(checks))
	case p <= stat.Alpha && worse:
		c.decide(Missed, "%s, and told apart (p = %s)", c.found(), summary.Probability(p))
	default:
		c.decide(Pass, "%s; not shown to be worse (p = %s)", c.found(), summary.Probability(p))
	}
}

// smallestP is the one-sided probability of the rank test for a and b values that do not overlap.
func smallestP(a, b int) float64 {
	values := make([]float64, a+b)
	for i := range values {
		values[i] = float64(i)
	}
	_, p := stat.MannWhitney(values[:a], values[a:])
	return p / 2
}

// enough is how many repetitions on each side can show a difference among so many checks.
func enough(checks int) int {
	n := 1
	for float64(checks)*smallestP(n, n) > stat.Alpha {
		n++
	}
	return n
}
