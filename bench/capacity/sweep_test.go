//go:build linux

package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/mqlab/mqlab/internal/search"
)

// host is a broker on a machine with neighbours: its capacity is another one in each probe, which makes the part of the probes that
// hold fall from 1 to 0 around it, and hiccups of the host make a probe fail that would have held, or make it one that tells nothing.
type host struct {
	capacity, spread float64
	fails, busy      float64 // part of the probes
	random           *rand.Rand
}

func (h *host) probe(rate float64) search.Outcome {
	x := h.random.Float64()
	switch {
	case x < h.busy:
		return search.Unmeasured
	case x < h.busy+h.fails, rate >= h.capacity*math.Exp(h.spread*h.random.NormFloat64()):
		return search.Failed
	}
	return search.Held
}

// seek carries out a search, and sweeps a sweep.
func (h *host) seek(values []float64) (best, probes int, settled bool) {
	s := search.New(search.Config{Values: values, Climb: 2, Margin: margin})
	for {
		p, more := s.Next()
		if !more {
			r := s.Result()
			return r.Best, r.Probes, r.Settled
		}
		s.Report(p.Index, h.probe(p.Value))
	}
}

func (h *host) sweep(values []float64) (best, probes int, settled bool) {
	s := newSweep(len(values))
	for {
		round := s.next()
		if len(round) == 0 {
			best, end := s.best()
			return best, probes, end != search.AtNoEnd
		}
		for _, i := range round {
			s.evidence[i].Add(h.probe(values[i]))
			probes++
		}
	}
}

// TestSearchAndSweep: of one broker, both find the same within a step, and neither finds more than there is. The truth is the largest
// value of which an undisturbed probe is more likely to hold than not.
func TestSearchAndSweep(t *testing.T) {
	const seeds = 1000
	values := search.Grid{From: 2000, To: 100_000, Step: 0.08}.Values()
	for _, spread := range []float64{0, 0.01, 0.03, 0.06} {
		for _, hiccups := range []float64{0, 0.03, 0.12} {
			t.Run(fmt.Sprintf("spread %g hiccups %g", spread, hiccups), func(t *testing.T) {
				alike, third := 0, 0
				var seekBias, sweepBias, seekCost, sweepCost, open float64
				for seed := range uint64(seeds) {
					random := rand.New(rand.NewPCG(seed, 1))
					h := &host{math.Exp(math.Log(4000) + random.Float64()*math.Log(20)), spread, hiccups * 2 / 3, hiccups / 3, random}
					truth := -1
					for i, v := range values {
						if v < h.capacity {
							truth = i
						}
					}
					found, n, settled := h.seek(values)
					swept, m, _ := h.sweep(values)
					if found-swept <= 1 && swept-found <= 1 {
						alike++
					}
					if 3*n <= m {
						third++
					}
					if !settled {
						open++
					}
					seekBias, sweepBias = seekBias+float64(found-truth)/seeds, sweepBias+float64(swept-truth)/seeds
					seekCost, sweepCost = seekCost+float64(n)/seeds, sweepCost+float64(m)/seeds
				}
				t.Logf("within a step %.1f %%; steps too many: search %+.2f, sweep %+.2f; probes: %.1f and %.1f, a third or fewer in %.0f %%; search not settled %.1f %%",
					100*float64(alike)/seeds, seekBias, sweepBias, seekCost, sweepCost, 100*float64(third)/seeds, 100*open/seeds)
				if alike < seeds*95/100 {
					t.Errorf("within a step in %d of %d", alike, seeds)
				}
				if seekBias > 0.05 || sweepBias > 0.05 || seekBias < -0.5 || sweepBias < -0.5 {
					t.Errorf("bias of %+.2f and %+.2f steps", seekBias, sweepBias)
				}
				if seekCost > sweepCost/3 {
					t.Errorf("%.1f probes, a sweep takes %.1f", seekCost, sweepCost)
				}
			})
		}
	}
}
