package search

// End says why a search found no larger value.
type End string

// The ends.
const (
	AtLimit    End = "limit"      // the next larger value failed
	NotTested  End = "unmeasured" // the next larger value could not be measured
	AtTop      End = "top"        // the largest value of the search held
	AtBottom   End = "bottom"     // not even the smallest one held
	AtNoEnd    End = "unsettled"  // the outcomes contradict each other, or the search was cut short
	noOutcomes     = -1
)

// Result is what a search has found so far.
type Result struct {
	Best int // index of the largest value that is sustained; -1 = none is known
	Next int // index of the smallest probed value that is not sustained; -1 = none is known
	// Every outcome at or below Low held, every one at or above High failed, of those that could be measured: the interval of the
	// answer. -1 = there is none.
	Low, High int
	End       End
	Probes    int
	Settled   bool // both sides of the edge were repeated as often as was asked for
}

// Result is what has been found so far; also of a search that was cut short.
func (s *Search) Result() Result {
	r := Result{Best: noOutcomes, Next: noOutcomes, Low: noOutcomes, High: noOutcomes, Probes: s.probes, End: AtNoEnd}
	low, high, gap := s.edges()
	if s.probes == 0 {
		return r
	}
	r.Best = low - 1
	if high < len(s.votes) {
		r.Next = high
	}
	r.Low, r.High = s.interval()
	_, more := s.next()
	if r.Settled = !more; !r.Settled || gap >= 0 {
		return r
	}
	r.End = s.end(low)
	return r
}

// end says what lies at a settled edge.
func (s *Search) end(edge int) End {
	switch {
	case edge == len(s.votes):
		return AtTop
	case s.votes[edge].outOfReach():
		return NotTested
	case edge == 0:
		return AtBottom
	}
	return AtLimit
}

// interval is where outcomes begin and end to differ.
func (s *Search) interval() (low, high int) {
	low, high = noOutcomes, noOutcomes
	for i, v := range s.votes {
		if v.Failed > 0 {
			break
		}
		if v.Held > 0 {
			low = i
		}
	}
	for i := len(s.votes) - 1; i >= 0 && s.votes[i].Held == 0; i-- {
		if s.votes[i].Failed > 0 {
			high = i
		}
	}
	return low, high
}
