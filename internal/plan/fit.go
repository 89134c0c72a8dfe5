package plan

import "github.com/mqlab/mqlab/internal/scenario"

// fit keeps the points that this host can carry out, where the scenario asks for that: those that it can carry out with every
// subject, so that all are compared at the same points.
func (r *resolver) fit(s *scenario.Scenario, points []scenario.Point, subjects []Subject, params []Params) (kept []Params, out []LeftOut) {
	if !s.Fit || r.options.Unfit == nil {
		return params, nil
	}
	for i := range params {
		if why := r.unfit(subjects, params[i]); why != "" {
			out = append(out, LeftOut{Set: params[i].Set, Why: why})
			continue
		}
		kept = append(kept, params[i])
	}
	if len(kept) == 0 && len(out) > 0 {
		key := "load.publishers"
		if params[0].Subscribers > params[0].Publishers {
			key = "load.subscribers"
		}
		r.problems.Add(points[0].At(key), key, "nothing fits this host: it %s", out[0].Why)
	}
	return kept, out
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
