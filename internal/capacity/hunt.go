// Package capacity carries a search from trial to trial, and tells what it found. It is pure: what a run has to try next, and what
// is the answer, follows from the trials that were written down. A run that was killed is read like any other, and says how far it came.
//
// Package search decides where to look; this package decides what a trial says about the value it tried, by the limits of package gate
// and the verdicts of validity of package summary.
package capacity

import (
	"fmt"
	"slices"

	"github.com/mqlab/mqlab/internal/gate"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/search"
	"github.com/mqlab/mqlab/internal/summary"
)

// Hunt is a run of searches under way: one for each subject at each point of the matrix.
type Hunt struct {
	plan     *plan.Plan
	limits   []gate.Limit
	values   []float64
	searches []*search.Search
	probes   [][]Probe // of each search, in the order of trials
	next     int       // number of the next trial
}

// New begins the searches of a plan. The error names a limit that cannot be read.
func New(p *plan.Plan) (*Hunt, error) {
	c := p.Search.Config()
	h := &Hunt{plan: p, values: c.Values, next: 1, probes: make([][]Probe, len(p.Trials))}
	for _, text := range p.Search.Limits {
		l, err := gate.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("limit of the search: %w", err)
		}
		h.limits = append(h.limits, l)
	}
	for range p.Trials {
		h.searches = append(h.searches, search.New(c))
	}
	return h, nil
}

// Next is the trial to carry out next; false when all searches have ended. They take turns, so that a drifting machine hits all alike.
func (h *Hunt) Next() (t plan.Trial, more bool) {
	least := -1
	var probe search.Probe
	for i, s := range h.searches {
		p, more := s.Next()
		if more && (least < 0 || len(h.probes[i]) < len(h.probes[least])) {
			least, probe = i, p
		}
	}
	if least < 0 {
		return t, false
	}
	return h.plan.Search.Probe(h.plan.Trials[least], probe, h.next), true
}

// Add takes a trial that was carried out, with its summary. Trials that were stopped by the user or cut by a crash say nothing.
func (h *Hunt) Add(s *summary.Summary, trial int) {
	one := s.Only(trial)
	if one == nil {
		return
	}
	t := &one.Trials[0]
	h.next = max(h.next, t.ID+1)
	cell, index := h.plan.Search.Found(t.Cell)
	number := slices.IndexFunc(h.plan.Trials, func(begin plan.Trial) bool { return begin.Cell == cell })
	if number < 0 || index < 0 || index >= len(h.values) {
		return // of another plan
	}
	p := Probe{Trial: t.ID, Value: h.values[index], trial: t}
	if p.judge(one, h.limits) {
		h.searches[number].Report(index, p.Outcome)
		h.probes[number] = append(h.probes[number], p)
	}
}
