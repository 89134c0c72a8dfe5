package diagnose

import (
	"cmp"
	"slices"
	"sort"
)

// beyondChance is how much more of the excess than of the time a signal must cover: what goes on all the time covers slow and fast
// messages alike.
const beyondChance = 1.3

// overlapOf claims of each slow message the time that it waited while the signal was on.
func overlapOf(g *Signal) test {
	return func(s *series) (Finding, []int64) {
		spans := merged(g.Spans)
		if len(spans) == 0 || !s.timed {
			return Finding{}, nil
		}
		parts := make([]int64, len(s.messages))
		for i, m := range s.messages {
			parts[i] = min(s.excess[i], overlap(s.start[i], m.Recv, spans))
		}
		from, to := s.span()
		coverage := float64(overlap(from, to, spans)) / float64(max(1, to-from))
		share := s.share(parts)
		if !g.Certain && share < beyondChance*coverage {
			return Finding{}, nil
		}
		count := g.Count
		if count == 0 {
			count = len(spans)
		}
		return Finding{
			Cause: g.Cause, Side: g.Side, Spans: longest(spans),
			Evidence: []Evidence{
				{string(g.Cause), []any{percent(share), count, ns(spansLength(spans) / int64(len(spans))), ns(longestOf(spans))}},
				{"coverage", []any{percent(coverage)}},
			},
		}, parts
	}
}

// merged sorts spans and joins those that overlap.
func merged(spans []Span) (list []Span) {
	sorted := slices.SortedFunc(slices.Values(spans), func(a, b Span) int { return cmp.Compare(a.From, b.From) })
	for _, s := range sorted {
		switch n := len(list); {
		case s.To <= s.From:
		case n > 0 && s.From <= list[n-1].To:
			list[n-1].To = max(list[n-1].To, s.To)
		default:
			list = append(list, s)
		}
	}
	return list
}

// overlap is how much of [from, to) lies in merged spans.
func overlap(from, to int64, spans []Span) (n int64) {
	i := sort.Search(len(spans), func(i int) bool { return spans[i].To > from })
	for ; i < len(spans) && spans[i].From < to; i++ {
		n += min(to, spans[i].To) - max(from, spans[i].From)
	}
	return n
}

func spansLength(spans []Span) (n int64) {
	for _, s := range spans {
		n += s.To - s.From
	}
	return n
}

func longestOf(spans []Span) (n int64) {
	for _, s := range spans {
		n = max(n, s.To-s.From)
	}
	return n
}

// longest are at most ten spans, in the order of time.
func longest(spans []Span) []Span {
	list := slices.SortedStableFunc(slices.Values(spans), func(a, b Span) int { return cmp.Compare(b.To-b.From, a.To-a.From) })
	list = list[:min(len(list), 10)]
	slices.SortFunc(list, func(a, b Span) int { return cmp.Compare(a.From, b.From) })
	return list
}

// broken are the connections that were seen to end and messages waited for: that needs no percentile, and so no number of messages.
func (s *series) broken() (list []Finding) {
	for i := range s.in.Signals {
		g := &s.in.Signals[i]
		if g.Cause != DeadPeer && g.Cause != Outage {
			continue
		}
		if f, parts := overlapOf(g)(s); parts != nil && s.share(parts) >= enough {
			f.Share = s.share(parts)
			list = append(list, f)
		}
	}
	return list
}

// busyCallback is how long a callback must run before others can be said to wait for it.
const busyCallback = 200 * microsecond

// callbackBlocked claims the time that a message waited while the callback of an earlier one was running.
func callbackBlocked(s *series) (Finding, []int64) {
	var spans []Span
	var lengths []int64
	for _, m := range s.messages {
		if m.Done == 0 {
			continue
		}
		lengths = append(lengths, m.Done-m.Recv)
		if m.Done-m.Recv > busyCallback {
			spans = append(spans, Span{m.Recv, m.Done})
		}
	}
	f, parts := overlapOf(&Signal{Cause: BlockedCallback, Side: "client", Spans: spans})(s)
	if parts == nil {
		return f, nil
	}
	slices.Sort(lengths)
	f.Evidence = append(f.Evidence, Evidence{"callback_times", []any{ns(at(lengths, 0.5)), ns(at(lengths, 0.99))}})
	if k := int64(s.in.KeepAlive); k > 0 && longestOf(spans) > k {
		f.Cause = CallbackKeepAlive
		f.Evidence = append(f.Evidence, Evidence{"callback_keepalive", []any{ns(longestOf(spans)), ns(k)}})
	}
	return f, parts
}
