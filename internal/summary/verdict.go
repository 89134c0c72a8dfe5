package summary

import (
	"fmt"
	"strconv"

	"github.com/mqlab/mqlab/internal/stat"
)

// verdict puts the comparison of two subjects in words. Of the two the pair has the one with the lower median first.
func (c *Comparison) verdict(p *stat.Pair, m *Metric) Verdict {
	better, worse := &c.Subjects[p.A], &c.Subjects[p.B]
	if m.Higher {
		better, worse = worse, better
	}
	v := Verdict{Better: better.Subject, Worse: worse.Subject, Different: p.Verdict == stat.Different, P: new(p.AdjustedP)}
	low, high := *c.Subjects[p.A].Median, *c.Subjects[p.B].Median
	if p.Ratio != nil {
		v.Factor, v.Low, v.High = new(high/low), new(1/p.Ratio.High), new(1/p.Ratio.Low)
	}
	if !v.Different && p.NeedRepetitions > 0 {
		v.Needed = new(p.NeedRepetitions)
	}
	n := repetitions(better.Repetitions, worse.Repetitions)
	switch {
	case v.Different:
		v.Text = v.difference(m, better, worse) + " (" + v.interval() + n + ")"
	case min(better.Repetitions, worse.Repetitions) < 2:
		v.Text = fmt.Sprintf("no difference shown between %s and %s at %s: one repetition cannot show one", v.Better, v.Worse, m.Words)
	default:
		v.Text = fmt.Sprintf("no difference shown between %s and %s at %s (p = %s, %s)%s", v.Better, v.Worse, m.Words, Probability(*v.P), n, v.needed())
	}
	return v
}

// difference says who is better and by how much.
func (v *Verdict) difference(m *Metric, better, worse *Standing) string {
	if v.Factor == nil {
		return fmt.Sprintf("%s is better than %s at %s: %s against %s", v.Better, v.Worse, m.Words, m.Unit.Format(*better.Median), m.Unit.Format(*worse.Median))
	}
	factor := Factor(*v.Factor)
	switch m.Name {
	case DeliveredPer:
		return fmt.Sprintf("%s makes %s as many %s as %s", v.Better, factor, m.Words, v.Worse)
	case LostRatio:
		return fmt.Sprintf("%s loses %s as many deliveries as %s", v.Worse, factor, v.Better)
	case ConnectPer:
		return fmt.Sprintf("%s opens %s as many connections per second as %s", v.Better, factor, v.Worse)
	case Imbalance, BrokerCPU, BrokerPSS, MemoryConnection:
		return fmt.Sprintf("%s has %s as much %s as %s", v.Worse, factor, m.Words, v.Better)
	}
	return fmt.Sprintf("%s is %s faster than %s at %s", v.Better, factor, v.Worse, m.Words)
}

func (v *Verdict) interval() string {
	if v.Low == nil {
		return ""
	}
	return "95 % interval " + Range(Factor(*v.Low), Factor(*v.High)) + ", "
}

func (v *Verdict) needed() string {
	switch {
	case v.Factor != nil && *v.Factor == 1:
		return "" // none was seen
	case v.Needed == nil:
		return "; more than 100 repetitions would be needed to show one of the size seen"
	}
	return fmt.Sprintf("; about %d repetitions would be needed to show one of the size seen", *v.Needed)
}

func repetitions(a, b int) string {
	switch {
	case a != b:
		return fmt.Sprintf("%d and %d repetitions", a, b)
	case a == 1:
		return "1 repetition"
	}
	return fmt.Sprintf("%d repetitions", a)
}

// Probability writes p with two significant digits.
func Probability(p float64) string {
	if p < 0.001 {
		return "0.001 or less"
	}
	return strconv.FormatFloat(p, 'g', 2, 64)
}
