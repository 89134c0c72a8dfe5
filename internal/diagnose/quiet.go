package diagnose

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
	} else if n := s.events(bigEvent); n > 0 {
		f.Evidence = append(f.Evidence, Evidence{"single_events", []any{n, ns(s.sorted[len(s.sorted)-1])}})
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
	return Finding{Cause: Unexplained, Evidence: []Evidence{
		{"unexplained", []any{ns(at(s.sorted, 0.5)), ns(at(s.sorted, 0.99)), ns(s.sorted[len(s.sorted)-1]), percent(float64(n) / float64(len(s.latency)))}},
	}}
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
