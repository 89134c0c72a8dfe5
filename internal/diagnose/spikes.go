package diagnose

import (
	"math"
	"slices"
)

// spike is slow messages close to each other.
type spike struct {
	at     int64
	excess int64
}

// pattern says when messages were slow, where that is regular. It points to what runs at that rhythm, and stands behind a mechanism that
// was found to explain as much: rank is the part of the excess that nothing else explained, negative where there is no pattern.
func (s *series) pattern(found []Finding) (f Finding, rank float64) {
	if slices.ContainsFunc(found, func(f Finding) bool {
		return slices.Contains([]Cause{LoopSleep, PollSleep, PowerSave, Backlog, MemoryGrowth}, f.Cause)
	}) {
		return Finding{}, -1
	}
	list := s.spikes()
	period, fit := rhythm(list, s.period)
	parts, above := s.spikeParts()
	if !s.timed || len(list) < 3 || fit < 0.7 || 2*above > len(s.excess) || !s.throughout(list, period) {
		return Finding{}, -1
	}
	share := s.share(parts)
	if share < enough {
		return Finding{}, -1
	}
	f = Finding{Cause: Periodic, Share: share, Evidence: []Evidence{{"periodic", []any{len(list), ns(period), percent(fit)}}}}
	if k := int64(s.in.KeepAlive); k > 0 && 10*max(period-k, k-period) < k && concentration(list, k) > 0.85 {
		f.Cause = KeepAlivePeriod
		f.Evidence = append(f.Evidence, Evidence{"keepalive_period", []any{ns(k), figure(concentration(list, k))}})
	}
	rank = s.left(parts)
	if f.Cause == Periodic && len(list) >= 5 && fit >= 0.9 && s.guessed(found) {
		rank = math.Inf(1)
	}
	s.explain(parts)
	return f, rank
}

// guessed: a delayed acknowledgement is told by how long messages waited alone, as nothing was seen of the sockets. What stands still as
// long, again and again, looks the same, but for its rhythm.
func (s *series) guessed(found []Finding) bool {
	return len(found) > 0 && found[0].Cause == DelayedAck && s.in.Facts.ClientNoDelay == nil && s.in.Facts.BrokerNoDelay == nil
}

// throughout: spikes are there in at least half of the periods that the messages last. What runs at a period goes on; a few spikes that are
// equally far apart by chance do not.
func (s *series) throughout(list []spike, period int64) bool {
	from, to := s.span()
	return 2*int64(len(list))*period >= to-from
}

// spikeLimit is what a spike exceeds: well above the usual scatter, and a quarter of the way to the largest.
func (s *series) spikeLimit() int64 {
	p50 := at(s.sorted, 0.5)
	away := make([]int64, len(s.sorted))
	for i, l := range s.sorted {
		away[i] = max(l-p50, p50-l)
	}
	return max(s.slow, p50+max(5*middle(away), millisecond, (at(s.sorted, 0.998)-p50)/4))
}

// spikes are the events above the limit, without those that are small beside the largest.
func (s *series) spikes() (list []spike) {
	limit := s.spikeLimit()
	last := int64(math.MinInt64 / 2)
	for i, l := range s.latency {
		if l <= limit {
			continue
		}
		if s.messages[i].Sent-last > max(3*s.period/2, 60*millisecond) {
			list = append(list, spike{at: s.start[i]})
		}
		last = s.messages[i].Sent
		list[len(list)-1].excess += s.excess[i]
	}
	largest := int64(0)
	for _, k := range list {
		largest = max(largest, k.excess)
	}
	return slices.DeleteFunc(list, func(k spike) bool { return 5*k.excess < largest })
}

// spikeParts are the excess of the messages above the limit, and how many those are.
func (s *series) spikeParts() (parts []int64, n int) {
	limit := s.spikeLimit()
	parts = make([]int64, len(s.latency))
	for i, l := range s.latency {
		if l > limit {
			parts[i] = s.excess[i]
			n++
		}
	}
	return parts, n
}

// rhythm is the usual time between spikes, and the part of the gaps that are a multiple of it. A rhythm hardly longer than that of the
// messages says nothing.
func rhythm(list []spike, sends int64) (period int64, fit float64) {
	if len(list) < 3 {
		return 0, 0
	}
	gaps := make([]int64, len(list)-1)
	for i := range gaps {
		gaps[i] = list[i+1].at - list[i].at
	}
	period = middle(gaps)
	if period < 6*sends {
		return period, 0
	}
	n := 0
	for _, g := range gaps {
		k := (g + period/2) / period
		tolerance := max(8*period/100, 2*sends) * k
		if k >= 1 && max(g-k*period, k*period-g) < tolerance {
			n++
		}
	}
	return period, float64(n) / float64(len(gaps))
}

// concentration is how much events keep to one phase of a period: 1 = all to the same, near 0 = to none (Rayleigh's test).
func concentration(list []spike, period int64) float64 {
	var cos, sin float64
	for _, k := range list {
		w := 2 * math.Pi * float64(k.at%period) / float64(period)
		cos, sin = cos+math.Cos(w), sin+math.Sin(w)
	}
	return math.Hypot(cos, sin) / float64(len(list))
}
