package capacity

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mqlab/mqlab/internal/gate"
	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/search"
	"github.com/mqlab/mqlab/internal/summary"
)

// Probe is a trial of a search, and what it says about the value it tried.
type Probe struct {
	Trial   int            `json:"trial"`
	Value   float64        `json:"value"`
	Outcome search.Outcome `json:"outcome"`
	Why     string         `json:"why,omitempty"` // it did not hold
	Stopped *int64         `json:"stopped_after_ns,omitempty"`

	trial *summary.Trial
}

// broken are the reasons of an invalid trial that are an answer all the same: the broker did not survive, or nothing came through.
var broken = []string{"killed_for_memory", "broker_exited", "no_samples"}

// judge fills in the outcome; false if the trial says nothing.
func (p *Probe) judge(s *summary.Summary, limits []gate.Limit) bool {
	t := p.trial
	reason := func(match func(r *summary.Reason) bool) (string, bool) {
		i := slices.IndexFunc(t.Reasons, func(r summary.Reason) bool { return match(&r) })
		if i < 0 {
			return "", false
		}
		return t.Reasons[i].Text, true
	}
	if _, gone := reason(func(r *summary.Reason) bool { return r.Code == "interrupted" || r.Code == "cut" }); gone {
		return false
	}
	p.Outcome = search.Failed
	var is bool
	if p.Why, is = reason(func(r *summary.Reason) bool { return slices.Contains(broken, r.Code) }); is {
		return true
	}
	if p.Why, is = reason(func(r *summary.Reason) bool { return r.Level == summary.Invalid && r.Code != "failed" }); is {
		p.Outcome = search.Unmeasured
		return true
	}
	if t.State == run.Failed {
		p.Why = t.Failure
		return true
	}
	if p.Why, is = reason(func(r *summary.Reason) bool { return r.Code == "stopped_early" }); is {
		p.Stopped = t.Measured
		return true
	}
	p.Outcome, p.Why = decide(gate.Evaluate(s, limits, gate.Options{}))
	return true
}

// decide turns limits into an outcome: one that was missed is decisive, one that could not be decided leaves the question open.
func decide(g *gate.Gate) (search.Outcome, string) {
	if g == nil {
		return search.Held, ""
	}
	for _, c := range g.Worst() {
		switch c.Result {
		case gate.Missed:
			return search.Failed, c.Limit + ": " + c.Text
		case gate.Undecidable:
			return search.Unmeasured, c.Limit + ": " + c.Text
		}
	}
	return search.Held, ""
}

// Check refuses a limit that a search cannot be given.
func Check(text string) error {
	l, err := gate.Parse(text)
	switch {
	case err != nil:
		return err
	case l.Baseline:
		return errBaseline
	case l.Subject != "":
		return errSubject
	}
	return sense(&l)
}

// sense refuses limits that more load does not break, and those that nothing keeps: a search would end at its edge with either.
func sense(l *gate.Limit) error {
	m, upper := &l.Metric, l.Op == gate.Less || l.Op == gate.AtMost
	better := "<"
	if m.Higher {
		better = ">="
	}
	switch {
	case l.Op == gate.Equal && (m.Higher || l.Value != 0), l.Op != gate.Equal && m.Higher == upper:
		return fmt.Errorf("%q is no limit that a larger value breaks, which is what a search looks for: write %s %s a number", l.Text, m.Name, better)
	case upper && l.Value == 0 && (l.Op == gate.Less || m.Unit == summary.Nanoseconds),
		!upper && m.Unit == summary.Part && (l.Value > 1 || l.Op == gate.More && l.Value == 1):
		return fmt.Errorf("nothing keeps %q", l.Text)
	}
	return nil
}

// Need is how many deliveries it takes to decide a limit well: ten times as many as its percentile takes to exist at all.
func Need(text string) int {
	l, err := gate.Parse(text)
	if err != nil {
		return 1
	}
	p, ok := percentileOf(l.Metric.Name)
	if !ok {
		return 1
	}
	return 10 * int(p.Need)
}

// percentileOf finds the percentile that a figure is.
func percentileOf(name string) (summary.Percentile, bool) {
	i := slices.IndexFunc(summary.Percentiles, func(p summary.Percentile) bool { return strings.HasSuffix(name, "_"+p.Name) })
	if i < 0 {
		return summary.Percentile{}, false
	}
	return summary.Percentiles[i], true
}
