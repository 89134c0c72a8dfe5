package diagnose

import "slices"

// clump is messages that arrived together.
type clump struct {
	members []int // indices of messages
	oldest  int64 // the longest that one of them took
	before  int64 // since the arrival before; 0 = it is the first
	excess  int64
}

// clumps groups arrivals less than 1 ms apart, of at most 3 ms.
func (s *series) clumps() (list []clump) {
	order := s.byArrival()
	for i := 0; i < len(order); {
		first := s.messages[order[i]].Recv
		c := clump{}
		if i > 0 {
			c.before = first - s.messages[order[i-1]].Recv
		}
		last := first
		for ; i < len(order); i++ {
			m := &s.messages[order[i]]
			if m.Recv-last >= together || m.Recv-first >= 3*millisecond {
				break
			}
			last = m.Recv
			c.members = append(c.members, order[i])
			c.oldest = max(c.oldest, m.Recv-m.Sent)
			c.excess += s.excess[order[i]]
		}
		list = append(list, c)
	}
	return list
}

// hold is how long an acknowledgement is delayed by a kind of peer.
type hold struct {
	bands []band
	key   string
	// known: nothing but what was seen of the sockets tells it from other waits of that length.
	known bool
}

type band struct{ from, to int64 }

func (b band) has(t int64) bool { return t >= b.from && t < b.to }

var (
	once40  = band{36 * millisecond, 47 * millisecond}
	twice40 = band{74 * millisecond, 98 * millisecond}
)

// holds: Linux delays an acknowledgement by at least 40 ms (TCP_DELACK_MIN), Windows and BSD by up to 200 ms; both ways are held
// where two connections in a row have the same trouble. Linux does not delay the acknowledgement that follows one whose time ran out, so
// that there is often but one of them.
var holds = []hold{
	{[]band{once40}, "delayed_ack_40", false},
	{[]band{twice40}, "delayed_ack_80", true},
	{[]band{once40, twice40}, "delayed_ack_both", true},
	{[]band{{190 * millisecond, 235 * millisecond}}, "delayed_ack_200", false},
}

// heldAny: Linux takes its time from the round trips and gaps it has seen, and may delay by up to 200 ms (TCP_DELACK_MAX); a message that is
// sent a while after the one that it waits behind waits for the rest of that. It is no mark by itself; it is where the socket was seen to
// hold bytes back behind unacknowledged ones.
var heldAny = hold{[]band{{20 * millisecond, 235 * millisecond}}, "delayed_ack_held", true}

// heldBack is the part of the looks at a socket without TCP_NODELAY that must have found bytes held back.
const heldBack = 0.2

func (h hold) holds(t int64) bool {
	return slices.ContainsFunc(h.bands, func(b band) bool { return b.has(t) })
}

// exact is how little the waits for a delayed acknowledgement differ: a timer ends them all. Stalls that happen to be as long end waits
// of every length.
const exact = 4 * millisecond

// exactly: the waits in each band differ by little.
func (h hold) exactly(waits []int64) bool {
	for _, b := range h.bands {
		in := slices.DeleteFunc(slices.Clone(waits), func(w int64) bool { return !b.has(w) })
		if low, _, high := quartiles(in); len(in) < 3 || high-low > exact {
			return false
		}
	}
	return true
}

// heldByAck: late messages come in clumps whose oldest, or the silence before, waited as long as an acknowledgement is delayed. With
// TCP_NODELAY on both sides it cannot be.
func heldByAck(s *series) (Finding, []int64) {
	client, broker := s.in.Facts.ClientNoDelay, s.in.Facts.BrokerNoDelay
	if !s.timed || is(client, true) && is(broker, true) {
		return Finding{}, nil
	}
	late := 0
	for _, c := range s.clumps() {
		if c.oldest > s.slow {
			late++
		}
	}
	kinds := holds
	seen := is(client, false) && s.in.Facts.Unsent != nil && *s.in.Facts.Unsent >= heldBack
	if seen {
		kinds = append(slices.Clone(holds), heldAny)
	}
	for _, h := range kinds {
		waits, parts := s.heldFor(h)
		off := is(client, false) || is(broker, false)
		if h.known && !off || len(waits) < 5 || 5*len(waits) < 3*late || s.left(parts) < 0.4 || !seen && !h.exactly(waits) {
			continue
		}
		f := Finding{Cause: DelayedAck, Side: nagleSide(client, broker)}
		f.Evidence = []Evidence{
			{h.key, []any{percent(float64(len(waits)) / float64(late)), late}},
			{"nodelay", []any{known(client), known(broker)}},
		}
		if h.key == heldAny.key {
			f.Evidence[0].Args = append(f.Evidence[0].Args, ns(middle(waits)))
		}
		if s.in.Facts.Unsent != nil {
			f.Evidence = append(f.Evidence, Evidence{"unsent", []any{percent(*s.in.Facts.Unsent)}})
		}
		return f, parts
	}
	return Finding{}, nil
}

// heldFor are the waits of late clumps that are as long as a hold, and their messages' excess.
func (s *series) heldFor(h hold) (waits, parts []int64) {
	parts = make([]int64, len(s.messages))
	for _, c := range s.clumps() {
		wait := c.oldest
		if !h.holds(wait) && !h.holds(s.period) { // where messages are sent so far apart, silence is no wait
			wait = c.before
		}
		if c.oldest <= s.slow || !h.holds(wait) {
			continue
		}
		waits = append(waits, wait)
		for _, i := range c.members {
			parts[i] = s.excess[i]
		}
	}
	return waits, parts
}

func is(b *bool, value bool) bool { return b != nil && *b == value }

// nagleSide is whose socket may hold data back, as far as that is known.
func nagleSide(client, broker *bool) string {
	switch {
	case is(client, false) && is(broker, false):
		return "client, broker"
	case is(client, false) || is(broker, true):
		return "client"
	case is(broker, false) || is(client, true):
		return "broker"
	}
	return ""
}

// gathered: most messages arrive in groups of several, and the oldest of each waited about as long: somebody collects them, and sends
// them on when the first has waited for that time.
func gathered(s *series) (Finding, []int64) {
	if !s.timed {
		return Finding{}, nil
	}
	parts := make([]int64, len(s.messages))
	var waits []int64
	members := 0
	for _, c := range s.clumps() {
		if c.oldest <= s.slow || len(c.members) < 3 {
			continue
		}
		waits = append(waits, c.oldest)
		members += len(c.members)
		for _, i := range c.members {
			parts[i] = s.excess[i]
		}
	}
	slices.Sort(waits)
	// No group waits less than the time set, and half of them hardly more; others may be held up besides.
	low, middle, high := at(waits, 0.1), at(waits, 0.5), at(waits, 0.75)
	if len(waits) < 10 || 2*members < len(s.messages) || middle-low > middle/8 || high-low > middle/2 {
		return Finding{}, nil
	}
	return Finding{Cause: Coalescing, Evidence: []Evidence{
		{"coalescing", []any{percent(float64(members) / float64(len(s.messages))), members / len(waits), ns(middle)}},
	}}, parts
}
