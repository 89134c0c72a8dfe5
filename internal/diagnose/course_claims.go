package diagnose

import (
	"slices"
	"sort"
)

// during claims what messages waited while a signal was on. When within its stretch a message arrived is not known: it is taken to be
// the last moment at which it waited most of all that was done to the run; or of the signal itself, where that is not certain.
func (c *course) during(g *Signal, done []Span) claim {
	spans := merged(g.Spans)
	if !g.Certain {
		done = spans
	}
	if len(spans) == 0 {
		return claim{}
	}
	parts := make([]int64, len(c.bins))
	for i := range c.bins {
		b, s := &c.bins[i], &c.Stretches[c.bins[i].stretch]
		end := arrival(b.latency, s.Span, done)
		parts[i] = min(b.excess, b.count*overlap(end-b.latency, end, spans))
	}
	coverage := 0.0
	if n := len(c.Stretches); n > 0 {
		from, to := c.Stretches[0].From, c.Stretches[n-1].To
		coverage = float64(overlap(from, to, spans)) / float64(max(1, to-from))
	}
	share := c.share(parts)
	if !g.Certain && share < beyondChance*coverage {
		return claim{}
	}
	count := g.Count
	if count == 0 {
		count = len(spans)
	}
	return claim{parts: parts, finding: Finding{
		Cause: g.Cause, Side: g.Side, Spans: longest(spans),
		Evidence: []Evidence{
			{string(g.Cause), []any{percent(share), count, ns(spansLength(spans) / int64(len(spans))), ns(longestOf(spans))}},
			{"coverage", []any{percent(coverage)}},
		},
	}}
}

// manySpans near one message: then it is taken to have come at the end of its stretch.
const manySpans = 16

// arrival is the last moment of a window at which a message that took so long has waited through most of merged spans.
func arrival(wait int64, window Span, spans []Span) (at int64) {
	first := sort.Search(len(spans), func(i int) bool { return spans[i].To > window.From-wait })
	near := spans[first:]
	near = near[:sort.Search(len(near), func(i int) bool { return near[i].From >= window.To })]
	at = window.To
	if len(near) > manySpans {
		return at
	}
	most := overlap(at-wait, at, near)
	consider := func(end int64) {
		if end < window.From || end > window.To {
			return
		}
		if n := overlap(end-wait, end, near); n > most || n == most && end > at {
			most, at = n, end
		}
	}
	consider(window.From)
	for _, s := range near {
		for _, end := range []int64{s.From, s.To, s.From + wait, s.To + wait} {
			consider(end)
		}
	}
	return at
}

// held claims what messages can have waited while somebody had no core: within a stretch no message more than that time, and all of
// them no more than if it had been one piece, or the pieces counted. Somebody who was held back in each period has work piled up: all
// that is slow is then due to it.
func (c *course) held(cause Cause) claim {
	parts := make([]int64, len(c.bins))
	var time, longest, count, all int64
	var spans []Span
	side := ""
	for i := range c.Stretches {
		s := &c.Stretches[i]
		all += s.To - s.From
		for _, h := range s.Holds {
			if h.Cause != cause || h.Time <= 0 {
				continue
			}
			held := min(h.Time, s.To-s.From)
			time, longest, count, side = time+held, max(longest, held/int64(max(1, h.Count))), count+int64(max(1, h.Count)), h.Side
			spans = append(spans, s.Span)
			c.heldIn(i, held, &h, parts)
		}
	}
	coverage := float64(time) / float64(max(1, all))
	share := c.share(parts)
	if time == 0 || share < beyondChance*coverage {
		return claim{}
	}
	return claim{parts: parts, finding: Finding{
		Cause: cause, Side: side, Spans: worst(c, spans, parts),
		Evidence: []Evidence{
			{"held_" + string(cause), []any{percent(share), percent(coverage), ns(longest)}},
		},
	}}
}

func (c *course) heldIn(stretch int, held int64, h *Hold, parts []int64) {
	from, to := c.binsOf(stretch)
	piece, pieces := held, int64(1)
	if h.Count > 1 {
		piece, pieces = held/int64(h.Count), int64(h.Count)
	}
	arrived := int64(0)
	for _, b := range c.Stretches[stretch].Times {
		arrived += b.Count
	}
	length := c.Stretches[stretch].To - c.Stretches[stretch].From
	budget := int64(float64(arrived) / float64(max(1, length)) * float64(piece) * float64(piece) / 2 * float64(pieces))
	for i := from; i < to; i++ {
		b := &c.bins[i]
		if h.Full {
			parts[i] = b.excess
			continue
		}
		parts[i] = min(b.excess, b.count*piece, budget)
		budget -= parts[i]
	}
}

// binsOf are the bins of a stretch.
func (c *course) binsOf(stretch int) (from, to int) {
	from = sort.Search(len(c.bins), func(i int) bool { return c.bins[i].stretch >= stretch })
	to = sort.Search(len(c.bins), func(i int) bool { return c.bins[i].stretch > stretch })
	return from, to
}

// worst are those of a cause's stretches in which it explains anything, the ten longest after those that follow each other are joined.
func worst(c *course, spans []Span, parts []int64) []Span {
	explains := map[Span]bool{}
	for i, p := range parts {
		if p > 0 {
			explains[c.Stretches[c.bins[i].stretch].Span] = true
		}
	}
	return longest(merged(slices.DeleteFunc(slices.Clone(spans), func(s Span) bool { return !explains[s] })))
}

// waited spends the waits of each stretch on what arrived in it, and what is left of them on what arrived in the following ones, for as
// long as the longest wait may reach. No message gets more than that one.
func (c *course) waited(waits func(*Stretch) Waits, copies float64) (parts []int64, all Waits, spans []Span) {
	parts = make([]int64, len(c.bins))
	type purse struct{ left, each, until int64 }
	var purses []purse
	for i := range c.Stretches {
		s := &c.Stretches[i]
		if w := waits(s); w.Count > 0 {
			all.add(w)
			purses = append(purses, purse{int64(float64(w.Sum) * max(1, copies)), w.Max, s.To + max(w.Max, s.To-s.From)})
		}
		from, to := c.binsOf(i)
		spent := int64(0)
		for k := range purses {
			p := &purses[k]
			if p.until < s.From {
				p.left = 0
			}
			for j := from; j < to && p.left > 0; j++ {
				pay := min(c.bins[j].excess-parts[j], c.bins[j].count*p.each, p.left)
				parts[j], p.left, spent = parts[j]+pay, p.left-pay, spent+pay
			}
		}
		purses = slices.DeleteFunc(purses, func(p purse) bool { return p.left == 0 })
		if spent > 0 {
			spans = append(spans, s.Span)
		}
	}
	return parts, all, longest(merged(spans))
}

// late claims what messages waited before the generator even tried to send them.
func (c *course) late() claim {
	parts, all, spans := c.waited(func(s *Stretch) Waits { return s.Late }, c.copies())
	if all.Count == 0 {
		return claim{}
	}
	return claim{parts: parts, finding: Finding{
		Cause: GeneratorLate, Side: "client", Spans: spans, Evidence: []Evidence{{"sent_late", []any{percent(c.share(parts)), all.Count, ns(all.Max)}}},
	}}
}

// readLate claims what messages lay in the kernel before the generator read them.
func (c *course) readLate() claim {
	parts, all, spans := c.waited(func(s *Stretch) Waits { return s.Reading }, 1)
	if all.Count == 0 {
		return claim{}
	}
	return claim{parts: parts, finding: Finding{
		Cause: GeneratorLate, Side: "client", Spans: spans, Evidence: []Evidence{{"read_late", []any{percent(c.share(parts)), all.Count, ns(all.Max)}}},
	}}
}

// windowFull claims what messages waited for room: in the window of unacknowledged ones, or, where there is no window, in a socket whose
// other end did not read.
func (c *course) windowFull() claim {
	parts, all, spans := c.waited(func(s *Stretch) Waits { return s.Blocked }, c.copies())
	if all.Count == 0 {
		return claim{}
	}
	f := Finding{Cause: WindowFull, Side: "client", Spans: spans}
	figures := []any{percent(c.share(parts)), all.Count, ns(all.Sum / all.Count), ns(all.Max)}
	if c.Window == 0 {
		f.Cause, f.Side = NotReading, "broker"
		f.Evidence = []Evidence{{"socket_full", figures}}
		return claim{parts: parts, finding: f}
	}
	f.Evidence = []Evidence{{"window_full", figures}}
	if c.Ack > 0 {
		f.Evidence = append(f.Evidence, Evidence{"window_size", []any{c.Window, ns(int64(c.Ack)), number(float64(c.Window) * float64(second) / float64(c.Ack))}})
	}
	return claim{parts: parts, finding: f}
}

const (
	heldUp   = 0.5 // of the messages sent, for a window to be said to set the pace
	queuedUp = 2   // times the shortest acknowledgement: one that takes longer waits for something itself
)

// windowLimits reports whether the window alone sets the pace: most messages wait for it, and acknowledgements take no longer than they must.
func (c *course) windowLimits() bool {
	var blocked, sent int64
	for i := range c.Stretches {
		blocked, sent = blocked+c.Stretches[i].Blocked.Count, sent+int64(c.Stretches[i].Sent)
	}
	return c.Window > 0 && float64(blocked) > heldUp*float64(sent) && c.Ack > 0 && c.Ack <= queuedUp*c.AckLeast
}

// queued claims what the network's queue held messages back: of each message the mean wait of a packet.
func (c *course) queued() claim {
	parts := make([]int64, len(c.bins))
	var spans []Span
	most := int64(0)
	for i := range c.bins {
		b := &c.bins[i]
		s := &c.Stretches[b.stretch]
		if q := int64(s.Queued); q > 0 {
			parts[i] = min(b.excess, b.count*q)
			spans, most = append(spans, s.Span), max(most, q)
		}
	}
	if len(spans) == 0 {
		return claim{}
	}
	return claim{parts: parts, finding: Finding{
		Cause: LinkFull, Side: "network", Spans: longest(merged(spans)), Evidence: []Evidence{{"link_full", []any{percent(c.share(parts)), ns(most)}}},
	}}
}

// leastTimeout is the shortest that Linux waits for an acknowledgement before it sends again (TCP_RTO_MIN).
const leastTimeout = 200 * millisecond

// losses claims what messages took that were under way while the network lost something, and took longer than it takes to notice: a
// round trip more where others follow, the retransmission timer where none do. Where nobody tells when packets were lost, only the timer
// counts; and where nothing can be lost, nothing was, whatever TCP sent again because an acknowledgement was late.
func (c *course) losses() claim {
	var spans []Span
	bytes := 0
	for i := range c.Stretches {
		if n := c.Stretches[i].Lost; n > 0 {
			bytes += n
			spans = append(spans, c.Stretches[i].Span)
		}
	}
	told := len(spans) > 0
	if !told && (c.Local || c.Retransmitted == nil || *c.Retransmitted == 0) {
		return claim{}
	}
	notice := leastTimeout
	if told && c.RoundTrip > 0 {
		notice = min(notice, int64(c.RoundTrip))
	}
	spans = merged(spans)
	parts := make([]int64, len(c.bins))
	for i := range c.bins {
		b, s := &c.bins[i], &c.Stretches[c.bins[i].stretch]
		if b.latency >= c.floor+notice && (!told || overlap(s.From-b.latency, s.To, spans) > 0) {
			parts[i] = b.excess
		}
	}
	f := Finding{Cause: PacketLoss, Side: "network", Spans: longest(spans), Evidence: []Evidence{{"late_by_loss", []any{percent(c.share(parts)), ns(notice)}}}}
	if told {
		f.Evidence = append(f.Evidence, Evidence{"link_lost", []any{size(float64(bytes))}})
	}
	if c.Retransmitted != nil {
		f.Evidence = append(f.Evidence, Evidence{"sent_again", []any{*c.Retransmitted}})
	}
	return claim{parts: parts, finding: f}
}
