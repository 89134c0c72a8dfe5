package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
)

// atNextSend is how soon after a send, as a part of the period, a message must be read to be said to have waited for it.
const atNextSend = 0.12

// loopSleep: the client reads only right after it published again, so latency is a multiple of its own period. (publish, loop once,
// sleep.) Latency that only happens to be such a multiple is scattered more, and on both sides of the next publish, and its multiple is
// another one with each message; of a loop it changes with a packet that was not foreseen.
func loopSleep(s *series) (Finding, []int64) {
	if s.period <= 0 || s.in.Facts.SocketWait != nil && *s.in.Facts.SocketWait >= 0.5 {
		return Finding{}, nil
	}
	parts := make([]int64, len(s.messages))
	multiples := map[int64]int{}
	var phases []int64
	before, steps, last := 0, 0, int64(0)
	for i, m := range s.messages {
		if 10*s.latency[i] < 7*s.period {
			continue
		}
		next := sort.Search(len(s.messages), func(j int) bool { return s.messages[j].Sent > m.Recv }) - 1
		phase := m.Recv - s.messages[max(next, 0)].Sent
		if float64(s.period-phase) < atNextSend*float64(s.period) {
			before++
		}
		if next <= i || float64(phase) > atNextSend*float64(s.period) {
			continue
		}
		parts[i] = s.excess[i]
		k := (s.latency[i] + s.period/2) / s.period
		multiples[k]++
		if len(phases) > 0 && k != last {
			steps++
		}
		phases, last = append(phases, phase), k
	}
	part := float64(len(phases)) / float64(len(s.messages))
	low, _, high := quartiles(phases)
	if part < enough || s.share(parts) < 0.5 || 5*steps > len(phases) || 10*before > len(phases) || high-low > max(300*microsecond, s.period/50) {
		return Finding{}, nil
	}
	f := Finding{Cause: LoopSleep, Side: "client", Evidence: []Evidence{{"loop_sleep", []any{percent(part), ns(s.period), said(multiples)}}}}
	if len(multiples) > 1 {
		f.Evidence = append(f.Evidence, Evidence{"loop_steps", []any{steps}})
	}
	f.Evidence = append(f.Evidence, s.threadFacts()...)
	return f, parts
}

// threadFacts are what looking at the client's threads and socket showed.
func (s *series) threadFacts() (list []Evidence) {
	facts := &s.in.Facts
	if facts.Asleep != nil && facts.SocketWait != nil {
		list = append(list, Evidence{"threads", []any{percent(*facts.Asleep), percent(*facts.SocketWait)}})
	}
	if facts.Unread != nil {
		list = append(list, Evidence{"unread", []any{percent(*facts.Unread)}})
	}
	return list
}

// said lists multiples with their counts, the most frequent first.
func said(multiples map[int64]int) string {
	keys := slices.SortedFunc(maps.Keys(multiples), func(a, b int64) int {
		return cmp.Or(cmp.Compare(multiples[b], multiples[a]), cmp.Compare(a, b))
	})
	var parts []string
	for _, k := range keys[:min(len(keys), 4)] {
		parts = append(parts, fmt.Sprintf("%d × %d", multiples[k], k))
	}
	return strings.Join(parts, ", ")
}

// Beacons of Wi-Fi come every 102.4 ms (100 time units of 1,024 µs, IEEE 802.11), unless the access point was told otherwise.
const beacon = 102_400 * microsecond

const (
	shortestPoll = 2 * millisecond
	onLattice    = 0.05 // how far, as a part of the period, a gap may be off
)

// polled: messages arrive only at moments that are a fixed time apart, whenever they were sent: somebody looks for them in that rhythm.
func polled(s *series) (Finding, []int64) {
	if !s.timed {
		return Finding{}, nil
	}
	moments := s.arrivalMoments()
	t, fit := lattice(moments)
	if t < shortestPoll || fit < 0.8 || !s.uniformUpTo(t) {
		return Finding{}, nil
	}
	parts := make([]int64, len(s.messages))
	for i := range parts {
		parts[i] = min(s.excess[i], t)
	}
	f := Finding{Cause: PollSleep, Side: "client", Evidence: append([]Evidence{{"poll_sleep", []any{percent(fit), ns(t)}}}, s.threadFacts()...)}
	asleep, waiting := s.in.Facts.Asleep, s.in.Facts.SocketWait
	switch off := t % beacon; {
	case (off < beacon/100 || off > beacon-beacon/100) && (asleep == nil || *asleep < 0.5):
		f.Cause, f.Side = PowerSave, "network"
		f.Evidence[0].Key = "power_save"
	case waiting != nil && *waiting >= 0.5: // the client does wait for its socket, so the rhythm is another's
		f.Cause, f.Side = Coalescing, "broker"
	}
	return f, parts
}

// uniformUpTo: latencies are spread evenly over a range of about t, as waits for the next of equidistant moments are.
func (s *series) uniformUpTo(t int64) bool {
	low, high := at(s.sorted, 0.05), at(s.sorted, 0.95)
	spread := high - low
	between := func(x int64) int { return sort.Search(len(s.sorted), func(i int) bool { return s.sorted[i] >= x }) }
	middle := between(low+3*spread/4) - between(low+spread/4)
	return 10*spread >= 7*t && 2*spread <= 3*t && 10*middle >= 3*len(s.sorted)
}

// together is how close to each other arrivals are of one moment.
const together = millisecond

// arrivalMoments are the times at which something arrived.
func (s *series) arrivalMoments() (list []int64) {
	for _, i := range s.byArrival() {
		r := s.messages[i].Recv
		if n := len(list); n == 0 || r-list[n-1] > together {
			list = append(list, r)
		}
	}
	return list
}

// lattice is the time that the gaps between moments are multiples of, and the part of the gaps that are.
func lattice(moments []int64) (t int64, fit float64) {
	if len(moments) < fewest/2 {
		return 0, 0
	}
	gaps := make([]int64, len(moments)-1)
	for i := range gaps {
		gaps[i] = moments[i+1] - moments[i]
	}
	// A small gap is a small multiple of it: where messages are sent less often, nobody ever finds one at the next look.
	shortest := at(slices.Sorted(slices.Values(gaps)), 0.1)
	const fitsAsWell = 0.95 // every gap fits a short enough time
	for k := int64(1); k <= 4; k++ {
		if part, p := onMultiples(gaps, shortest/k); fit < fitsAsWell*p {
			t, fit = part, p
		}
	}
	return t, fit
}

// onMultiples betters t, which is not exact, by the gaps that are multiples of it, and returns the part of the gaps that are.
func onMultiples(gaps []int64, t int64) (better int64, fit float64) {
	if t <= 0 {
		return 0, 0
	}
	for range 3 {
		total, n := int64(0), int64(0)
		for _, g := range gaps {
			if k := (g + t/2) / t; k > 0 && off(g, t) <= onLattice {
				total, n = total+g, n+k
			}
		}
		if n > 0 {
			t = max(total/n, 1)
		}
	}
	count := 0
	for _, g := range gaps {
		if off(g, t) <= onLattice {
			count++
		}
	}
	return t, float64(count) / float64(len(gaps))
}

// off is how far a gap is from a multiple of t, as a part of t.
func off(gap, t int64) float64 {
	k := max(1, (gap+t/2)/max(t, 1))
	return float64(max(gap-k*t, k*t-gap)) / float64(max(t, 1))
}
