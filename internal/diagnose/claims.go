package diagnose

import (
	"cmp"
	"slices"
)

// test is a cause's own: what part of each message's excess it claims, and why.
type test func(s *series) (Finding, []int64)

// claim is what a test claims.
type claim struct {
	finding Finding
	parts   []int64
	basis   basis
}

// basis is what a claim rests on.
type basis uint8

const (
	seen     basis = iota // something measured went on while messages waited
	symptom               // so it did, but it often has a cause that is seen as well
	inferred              // the times alone
)

// mechanisms are what makes messages wait, each judged by what those before it left unexplained.
func (s *series) mechanisms() (found []Finding) {
	for _, c := range s.claims() {
		left := s.left(c.parts)
		if left < atLeast || left < enough && (len(found) == 0 || c.basis == inferred) {
			continue
		}
		s.explain(c.parts)
		if c.basis != seen { // it is responsible for what was not seen to be something else
			c.finding.Share = left
		}
		found = append(found, c.finding)
	}
	return found
}

// claims are all that claim enough, in the order in which they are judged: a loop that sleeps, whose mark is unmistakable; what bounds the
// throughput; a backlog, which that would make; what was measured; what may be a symptom of it; what the times alone tell.
func (s *series) claims() (list []claim) {
	var bounds, measured, symptoms []claim
	for i := range s.in.Signals {
		g := &s.in.Signals[i]
		switch g.Cause {
		case HostNoise:
			measured = s.claim(measured, heldByHost(g), seen)
		case CPUContention:
			symptoms = s.claim(symptoms, overlapOf(g), symptom)
		default:
			measured = s.claim(measured, overlapOf(g), seen)
		}
	}
	symptoms = s.claim(symptoms, callbackBlocked, symptom)
	byShare := func(a, b claim) int { return cmp.Compare(b.finding.Share, a.finding.Share) }
	slices.SortStableFunc(measured, byShare)
	slices.SortStableFunc(symptoms, byShare)
	bound := func(c claim) bool {
		return (c.finding.Cause == WindowFull || c.finding.Cause == Throttling) && c.finding.Share >= mostly
	}
	for _, c := range measured {
		if bound(c) {
			bounds = append(bounds, c)
		}
	}
	measured = slices.DeleteFunc(measured, bound)
	list = s.claim(list, loopSleep, seen)
	list = append(list, bounds...)
	list = s.claim(list, backlog, seen)
	list = append(append(list, measured...), symptoms...)
	for _, t := range []test{polled, heldByAck, gathered, sentLate, handshake} {
		list = s.claim(list, t, inferred)
	}
	return list
}

// claim adds what a test claims, if that is enough to count.
func (s *series) claim(list []claim, t test, b basis) []claim {
	f, parts := t(s)
	if parts == nil {
		return list
	}
	if f.Share = s.share(parts); f.Share < atLeast {
		return list
	}
	return append(list, claim{f, parts, b})
}

// heldByHost claims what the host's own noise explains: what overlaps the slow moments of a probe beside; as probes are only samples,
// at least the part of each wait that they were slow for on average; and, where that is much, the waits for a core, which the probe had
// as well.
func heldByHost(g *Signal) test {
	return func(s *series) (Finding, []int64) {
		f, parts := overlapOf(g)(s)
		mean := s.in.Facts.HostExcess
		if mean == nil || s.total == 0 || len(g.Spans) == 0 || !s.timed {
			return f, parts
		}
		perMessage := float64(s.total) / float64(len(s.messages))
		part := min(1, *mean/perMessage)
		if part < atLeast {
			return f, parts
		}
		if parts == nil {
			f, parts = Finding{Cause: HostNoise, Side: g.Side, Spans: longest(merged(g.Spans))}, make([]int64, len(s.messages))
		}
		waits := s.spansOf(CPUContention)
		for i, m := range s.messages {
			parts[i] = max(parts[i], min(int64(part*float64(s.excess[i])), longestOf(g.Spans)))
			if part >= enough {
				parts[i] = max(parts[i], min(s.excess[i], overlap(s.start[i], m.Recv, waits)))
			}
		}
		f.Evidence = append(f.Evidence, Evidence{"host_probe", []any{ns(int64(*mean)), ns(int64(perMessage))}})
		return f, parts
	}
}

// spansOf are the spans of all signals of a cause, joined.
func (s *series) spansOf(c Cause) []Span {
	var spans []Span
	for i := range s.in.Signals {
		if s.in.Signals[i].Cause == c {
			spans = append(spans, s.in.Signals[i].Spans...)
		}
	}
	return merged(spans)
}
