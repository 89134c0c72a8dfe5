package plan

import (
	"cmp"
	"strings"

	"github.com/mqlab/mqlab/internal/scenario"
)

// fit keeps the points that this host can carry out, where the scenario asks for that: those that it can carry out with every
// subject, so that all are compared at the same points.
func (r *resolver) fit(s *scenario.Scenario, points []scenario.Point, subjects []Subject, params []Params, able [][]bool) ([]Params, [][]bool) {
	if !s.Fit || r.options.Unfit == nil {
		return params, able
	}
	var kept []Params
	var still [][]bool
	var first string
	for i := range params {
		if why := r.unfit(subjects, params[i]); why != "" {
			r.leftOut = append(r.leftOut, LeftOut{Set: params[i].Set, Why: why})
			first = cmp.Or(first, why)
			continue
		}
		kept, still = append(kept, params[i]), append(still, able[i])
	}
	if len(kept) == 0 && first != "" {
		key := "load.publishers"
		if params[0].Subscribers > params[0].Publishers {
			key = "load.subscribers"
		}
		r.problems.Add(points[0].At(key), key, "nothing fits this host: it %s", first)
	}
	return kept, still
}

// able tells which subjects can be measured at a point. Where the scenario does not want to skip what cannot, that is a problem.
func (r *resolver) able(s *scenario.Scenario, p *scenario.Point, set []Assignment, subjects []Subject) []bool {
	able := make([]bool, len(subjects))
	for i, subject := range subjects {
		able[i] = true
		if !s.Skip {
			r.checkSubject(p, subject)
			continue
		}
		probe := resolver{options: r.options, noLimits: r.noLimits}
		probe.checkSubject(p, subject)
		if why := probe.whyNot(subject); why != "" {
			able[i] = false
			r.leftOut = append(r.leftOut, LeftOut{Subject: subject.Name, Set: set, Why: why})
		}
	}
	return able
}

// whyNot is the first thing that a subject cannot do, or that it is not installed; "" = it can be measured.
func (r *resolver) whyNot(s Subject) string {
	if len(r.problems) > 0 {
		first := r.problems[0]
		return first.Key + ": " + strings.TrimPrefix(first.Text, s.Name+": ")
	}
	ask := r.options.Installed
	if ask != nil && s.Runtime != "external" && !ask(s) {
		return "is not installed"
	}
	return ""
}

// String says what is left out and why, in one line.
func (l LeftOut) String() string {
	what := Settings(l.Set)
	switch {
	case l.Subject == "":
		return what + ": it " + l.Why
	case what == "":
		return l.Subject + ": " + l.Why
	}
	return l.Subject + ", " + what + ": " + l.Why
}

// unfit says why one of the subjects cannot be measured with these parameters here.
func (r *resolver) unfit(subjects []Subject, p Params) string {
	for _, s := range subjects {
		t := Trial{Subject: s, Params: p}
		if why := r.options.Unfit(t.Estimate()); why != "" {
			return why
		}
	}
	return ""
}
