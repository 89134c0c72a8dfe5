// Package search finds the largest value of something, a rate for example, that is sustained: it climbs geometrically until a
// probe fails, bisects between what held and what failed, and repeats both sides of the edge until they can be told apart.
//
// It is pure: what to probe next follows from the outcomes so far and from nothing else, so that a search can be replayed from
// what was written down, and be gone on with.
//
// Outcomes near the edge are random. The edge is therefore where most outcomes agree with it: as many as can be that held lie
// below it, as many as can be that failed above (the maximum-likelihood step under errors that are equally likely on both
// sides). One outcome that contradicts the others moves nothing for long: the edge is believed only when the evidence of the
// values on both of its sides is decided. See Evidence.
package search

import (
	"math"
	"slices"
)

// Outcome is what came of a probe.
type Outcome string

// The outcomes. What could not be measured, because the load generator did not keep up, is no failure of the broker: the search
// goes on below, and says so.
const (
	Held       Outcome = "held"
	Failed     Outcome = "failed"
	Unmeasured Outcome = "unmeasured"
)

// Config says how to search.
type Config struct {
	Values []float64 // ascending, at least one
	Climb  float64   // factor from one probe to the next while nothing has failed; above 1
	Margin int       // by how many outcomes each side of the edge must be ahead; at least 1
}

// Probe is what is to be tried.
type Probe struct {
	Index      int // into Config.Values
	Value      float64
	Repetition int // of this value, from 1
}

// Search is a search under way. It is a value machine: Next says what to probe, Report what came of it.
type Search struct {
	config Config
	votes  []Evidence // by index
	probes int
}

// New begins a search.
func New(c Config) *Search { return &Search{config: c, votes: make([]Evidence, len(c.Values))} }

// Report takes the outcome of a probe of the value with this index, whether or not Next asked for it.
func (s *Search) Report(index int, o Outcome) {
	s.votes[index].Add(o)
	s.probes++
}

// Next is what to probe next; false when the search has ended.
func (s *Search) Next() (Probe, bool) {
	if s.probes >= s.config.Most() {
		return Probe{}, false
	}
	index, more := s.next()
	if !more {
		return Probe{}, false
	}
	return Probe{index, s.config.Values[index], s.votes[index].Total() + 1}, true
}

// next chooses among: climbing, settling a contradiction, bisecting, and repeating the sides of the edge.
func (s *Search) next() (index int, more bool) {
	n := len(s.votes)
	low, high, gap := s.edges()
	switch {
	case gap >= 0:
		return gap, true
	case high == n && low < n: // nothing above has failed
		return s.climb(low), true
	case low < high:
		return (low + high) / 2, true
	}
	for _, side := range s.sides(low) {
		if side.ahead < s.config.Margin {
			return side.index, true
		}
	}
	return 0, false
}

// edges are the places of the edge that agree best with the outcomes: at place b all below index b holds, and all from b on
// fails. It may be anywhere from low to high, which differ where what lies between was not probed. gap is an index whose
// outcomes decide between two such ranges, -1 if there is but one.
func (s *Search) edges() (low, high, gap int) {
	score, best := 0, 0
	scores := make([]int, len(s.votes)+1) // less those of place 0
	for i := range s.votes {
		score += s.votes[i].net()
		scores[i+1] = score
		best = max(best, score)
	}
	low = slices.Index(scores, best)
	high = low
	for high+1 < len(scores) && scores[high+1] == best && s.votes[high].Total() == 0 {
		high++
	}
	for b := high + 1; b < len(scores); b++ {
		if scores[b] == best {
			return low, high, high
		}
	}
	return low, high, -1
}

// climb is the index to try when everything below low held: the first value that is Climb times as large as the last.
func (s *Search) climb(low int) int {
	if low == 0 {
		return 0
	}
	target := s.config.Values[low-1] * s.config.Climb
	i, _ := slices.BinarySearch(s.config.Values, target)
	return min(max(i, low), len(s.votes)-1)
}

// side is one of the two values next to the edge, and by how many outcomes it agrees with it.
type side struct{ index, ahead int }

// sides are the values next to an edge; the one of which less is known first.
func (s *Search) sides(edge int) (both []side) {
	if edge < len(s.votes) {
		both = append(both, side{edge, s.votes[edge].against()})
	}
	if edge > 0 {
		both = append(both, side{edge - 1, s.votes[edge-1].net()})
	}
	slices.SortStableFunc(both, func(a, b side) int { return a.ahead - b.ahead })
	return both
}

// About is how many probes a search takes that no outcome contradicts, at most.
func (c *Config) About() int {
	n := len(c.Values)
	climbs := math.Ceil(math.Log(c.Values[n-1]/c.Values[0])/math.Log(c.Climb)) + 1
	within := 1.0 // values in one step of climbing
	for i := range c.Values {
		j, _ := slices.BinarySearch(c.Values, c.Values[i]*c.Climb)
		within = max(within, float64(j-i))
	}
	return min(int(climbs+math.Ceil(math.Log2(within))), n) + 2*(c.Margin-1)
}

// Most is how many probes a search makes at most; then it ends, settled or not.
func (c *Config) Most() int { return c.About() + 8*c.Margin }
