package diagnose

import "math"

// A shape is told where no cause is found: it says where to look.
const (
	shapeRow   = 5   // messages at least that come at one moment, or between two falls
	shapePart  = 0.5 // of all excess, or of the spread
	shapeRank  = 0.9 // rank correlation of what climbs
	shapeFlat  = 0.5 // and of what does not
	shapeWider = 3   // times the scatter on either side, between two levels
	shapeFew   = 20  // one in so many messages is no level of its own
)

// shape is what the course of latency looks like; nothing where it looks like none of those known.
func (s *series) shape() []Evidence {
	shapes := []func() (Evidence, bool){s.levels}
	if s.timed {
		shapes = []func() (Evidence, bool){s.stoodStill, s.step, s.climb, s.sawtooth, s.levels}
	}
	for _, of := range shapes {
		if e, ok := of(); ok {
			return []Evidence{e}
		}
	}
	return nil
}

// stoodStill: most of the excess is of messages that all arrived at one moment.
func (s *series) stoodStill() (Evidence, bool) {
	for _, c := range s.clumps() {
		if len(c.members) < shapeRow || float64(c.excess) < shapePart*float64(s.total) {
			continue
		}
		from, to := int64(math.MaxInt64), int64(math.MinInt64)
		for _, i := range c.members {
			from, to = min(from, s.start[i]), max(to, s.messages[i].Recv)
		}
		return Evidence{"shape_stood", []any{len(c.members), ns(to - from), ns(from - s.start[0])}}, true
	}
	return Evidence{}, false
}

// step: one level before a message and another one after it.
func (s *series) step() (Evidence, bool) {
	n := len(s.latency)
	at, least := s.split()
	if at < max(shapeRow, n/shapeFew) || n-at < max(shapeRow, n/shapeFew) || least == 0 {
		return Evidence{}, false
	}
	before, after := s.latency[:at], s.latency[at:]
	if math.Abs(spearman(before)) > shapeFlat || math.Abs(spearman(after)) > shapeFlat {
		return Evidence{}, false
	}
	l1, m1, h1 := quartiles(before)
	l2, m2, h2 := quartiles(after)
	if max(m2-m1, m1-m2) < shapeWider*max(h1-l1, h2-l2, millisecond) {
		return Evidence{}, false
	}
	return Evidence{"shape_step", []any{ns(m1), ns(m2), at + 1, ns(s.start[at] - s.start[0])}}, true
}

// split is where the messages fall into two parts whose squares from their own means are the least, and by how much that is less.
func (s *series) split() (at int, gain float64) {
	total := 0.0
	for _, l := range s.latency {
		total += float64(l)
	}
	mean, sum := total/float64(len(s.latency)), 0.0
	for i := 1; i < len(s.latency); i++ {
		sum += float64(s.latency[i-1]) - mean
		if g := sum * sum * (1/float64(i) + 1/float64(len(s.latency)-i)); g > gain {
			at, gain = i, g
		}
	}
	return at, gain
}

// climb: latency grows, or falls, from the begin to the end.
func (s *series) climb() (Evidence, bool) {
	if math.Abs(spearman(s.latency)) < shapeRank {
		return Evidence{}, false
	}
	tenth := len(s.latency) / 10
	return Evidence{"shape_climbs", []any{ns(middle(s.latency[:tenth])), ns(middle(s.latency[len(s.latency)-tenth:]))}}, true
}

// sawtooth: latency climbs, and falls back by most of its spread, again and again.
func (s *series) sawtooth() (Evidence, bool) {
	spread := at(s.sorted, 0.95) - at(s.sorted, 0.05)
	var lengths, times []int64
	climbing, begin := 0, -1
	for i := 1; i < len(s.latency); i++ {
		if float64(s.latency[i-1]-s.latency[i]) < shapePart*float64(spread) {
			continue
		}
		if begin >= 0 {
			lengths, times = append(lengths, int64(i-begin)), append(times, s.start[i]-s.start[begin])
			if i-begin >= shapeRow && spearman(s.latency[begin:i]) >= shapeRank {
				climbing++
			}
		}
		begin = i
	}
	if climbing < 3 || 5*climbing < 4*len(lengths) {
		return Evidence{}, false
	}
	return Evidence{"shape_sawtooth", []any{len(lengths) + 1, middle(lengths), ns(middle(times))}}, true
}

// levels: messages take one of two times, and hardly any something between.
func (s *series) levels() (Evidence, bool) {
	n := len(s.sorted)
	margin := max(1, n/shapeFew)
	widest, gap := 0, int64(0)
	for i := margin; i < n-margin; i++ {
		if g := s.sorted[i] - s.sorted[i-1]; g > gap {
			widest, gap = i, g
		}
	}
	if float64(gap) < shapePart*float64(at(s.sorted, 0.99)-s.sorted[0]) || gap < millisecond {
		return Evidence{}, false
	}
	low, high := s.sorted[:widest], s.sorted[widest:]
	return Evidence{"shape_levels", []any{
		percent(float64(len(low)) / float64(n)), ns(at(low, 0.5)), percent(float64(len(high)) / float64(n)), ns(at(high, 0.5)),
	}}, true
}
