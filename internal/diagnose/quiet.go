package diagnose

import (
	"cmp"
	"slices"
)

const (
	budget    = 3 * millisecond  // a p99 below this is no jitter worth a name
	bigEvent  = 15 * millisecond // and neither are fewer than three events above this
	bigEvents = 3
	apart     = 200 * millisecond // of two events
)

// quiet: nearly every message was fast, and the few that were not are no pattern.
func (s *series) quiet() bool {
	return at(s.sorted, 0.99) < max(budget, s.slow) && s.events(bigEvent) < bigEvents
}

// events counts how often messages were slower than limit; slow ones close to each other are one event.
func (s *series) events(limit int64) (n int) {
	last := -apart
	for i, l := range s.latency {
		if l <= limit {
			continue
		}
		now := s.messages[i].Sent
		if !s.timed || now-last > apart {
			n++
		}
		last = now
	}
	return n
}

// steady: latency hardly varies; it is only not short.
func (s *series) steady() bool {
	return at(s.sorted, 0.99)-at(s.sorted, 0.05) < max(millisecond, at(s.sorted, 0.5)/10)
}

func (s *series) none() Finding {
	f := Finding{Cause: None, Evidence: []Evidence{{"none", []any{ns(at(s.sorted, 0.5)), ns(at(s.sorted, 0.99))}}}}
	if !s.quiet() {
		f.Evidence = append(f.Evidence, Evidence{"steady", []any{ns(at(s.sorted, 0.5))}})
	}
	if n := s.events(at(s.sorted, 0.5) + bigEvent); n > 0 {
		f.Evidence = append(f.Evidence, Evidence{"single_events", []any{n, ns(s.sorted[len(s.sorted)-1])}})
	}
	return f
}

// untroubled is what is left to say where latency is well: that messages never arrived, or that nothing needs to be explained.
func (s *series) untroubled() []Finding {
	if s.lost == 0 {
		return []Finding{s.none()}
	}
	f := s.neverArrived()
	f.Evidence = append(f.Evidence, s.none().Evidence...)
	return []Finding{f}
}

// neverArrived tells of lost messages, and of the longest row of them where the time of each is known.
func (s *series) neverArrived() Finding {
	f := Finding{Cause: Lost, Evidence: []Evidence{{"lost", []any{s.lost, s.lost + len(s.messages)}}}}
	if !s.timed {
		return f
	}
	sent := slices.SortedStableFunc(slices.Values(s.in.Messages), func(a, b Message) int { return cmp.Compare(a.Sent, b.Sent) })
	row, most := 0, 0
	var from, to int64
	for i := range sent {
		if row++; !sent[i].Lost {
			row = 0
		}
		if row > most {
			most, from, to = row, sent[i-row+1].Sent, sent[i].Sent
		}
	}
	if most > 1 {
		f.Evidence = append(f.Evidence, Evidence{"lost_row", []any{most, ns(to - from), ns(from - sent[0].Sent)}})
	}
	return f
}

func (s *series) unexplainedFinding() Finding {
	n := 0
	for _, e := range s.excess {
		if e > 0 {
			n++
		}
	}
	return Finding{Cause: Unexplained, Evidence: append([]Evidence{
		{"unexplained", []any{ns(at(s.sorted, 0.5)), ns(at(s.sorted, 0.99)), ns(s.sorted[len(s.sorted)-1]), percent(float64(n) / float64(len(s.latency)))}},
	}, s.shape()...)}
}

// clockSkew: a message cannot arrive before it was sent.
func clockSkew(s *series) []Finding {
	n := s.in.Negative
	if n == 0 {
		return nil
	}
	all := n + len(s.in.Messages)
	return []Finding{{Cause: ClockSkew, Evidence: []Evidence{{"clock_skew", []any{n, all}}}}}
}
