//go:build linux

package main

import (
	"slices"

	"github.com/mqlab/mqlab/internal/search"
)

// margin is by how many probes a value must be decided, in the search and in the sweep.
const margin = 3

// mostRounds ends a sweep whose probes never agree.
const mostRounds = 10 * margin

// sweep is an exhaustive sweep: a value machine like the search, which goes its own way and judges each value by the same evidence.
//
// In the first round every value is probed once. Below the lowest value that did not hold, and above the highest that did, all
// outcomes agree and one for each is enough, as it is for what the search passes while it climbs. What lies between, and the two
// values next to that, is probed in further rounds, one probe each, until the evidence of every single value is decided. The rounds
// are spread over the whole time, so that a disturbance of the host hits one probe of a value and not all.
type sweep struct {
	evidence []search.Evidence // by value
	rounds   int
}

func newSweep(values int) *sweep { return &sweep{evidence: make([]search.Evidence, values)} }

// next are the indexes to probe in the next round; none when the sweep has ended.
func (s *sweep) next() (round []int) {
	if s.rounds++; s.rounds > mostRounds {
		return nil
	}
	if s.rounds == 1 {
		for i := range s.evidence {
			round = append(round, i)
		}
		return round
	}
	from, to := s.doubtful()
	for i := from; i <= to; i++ {
		if _, ok := s.evidence[i].Decided(margin); !ok {
			round = append(round, i)
		}
	}
	return round
}

// doubtful is the range of values that one probe does not decide: from the one below the lowest that did not hold to the one above
// the highest that did.
func (s *sweep) doubtful() (from, to int) {
	from = slices.IndexFunc(s.evidence, func(e search.Evidence) bool { return e.Failed+e.Unmeasured > 0 })
	if from < 0 {
		from = len(s.evidence)
	}
	for i := range s.evidence {
		if s.evidence[i].Held > 0 {
			to = i + 1
		}
	}
	return max(from-1, 0), min(to, len(s.evidence)-1)
}

// best is the index of the largest value that is sustained, -1 for none: most of the decided values up to it hold, and most of those
// above do not. If several places agree alike it is the lowest. end is what was decided of the value above it.
func (s *sweep) best() (best int, end search.End) {
	from, to := s.doubtful()
	agree, most := 0, 0
	best = -1
	outcome := func(i int) search.Outcome {
		if o, ok := s.evidence[i].Decided(margin); ok || i >= from && i <= to {
			return o
		}
		if i < from {
			return search.Held
		}
		if s.evidence[i].Failed == 0 {
			return search.Unmeasured
		}
		return search.Failed
	}
	for i := range s.evidence {
		switch outcome(i) {
		case search.Held:
			agree++
		case search.Failed, search.Unmeasured:
			agree--
		}
		if agree > most {
			most, best = agree, i
		}
	}
	switch {
	case best+1 == len(s.evidence):
		return best, search.AtTop
	case outcome(best+1) == search.Unmeasured:
		return best, search.NotTested
	case outcome(best+1) == "":
		return best, search.AtNoEnd
	case best < 0:
		return best, search.AtBottom
	}
	return best, search.AtLimit
}
