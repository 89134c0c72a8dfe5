package engine

import (
	"math"
	"math/rand/v2"
	"time"
)

// Schedule says when the messages of all publishers of a group are due, as offsets from its start.
// Before Ramp begins and without it the rate is constant.
type Schedule struct {
	RatePerS   float64       // over all publishers; 0 = no schedule (closed loop)
	Poisson    bool          // exponential gaps instead of equal ones
	RampTo     float64       // rate at the end, reached linearly between RampFrom and End; 0 = no ramp
	RampFrom   time.Duration // where the ramp begins
	End        time.Duration // nothing is due at or after this offset
	Burst      int           // messages back to back over all publishers, on top of the rate
	BurstGap   time.Duration // between bursts; the first comes one gap after RampFrom
	Publishers int
	Sharp      bool // the first message of each publisher is due at once; else within its first interval
}

// Pacer yields the due times of one publisher in order. It is a value: a copy is an independent cursor at the same place.
//
// The arrivals of a unit-rate process (equal steps with a random phase, or exponential steps) are mapped through the
// inverse of the cumulative rate, so that constant, Poisson and ramped schedules are one formula and never drift.
type Pacer struct {
	rate, slope float64 // messages per nanosecond of this publisher; its change per nanosecond within the ramp
	from, end   float64
	arrivals    float64 // unit-rate arrivals so far
	rng         rand.PCG
	poisson     bool
	next        int64 // next steady due time
	burstGap    int64
	burstAt     int64 // next burst
	burstSize   int
	burstLeft   int
}

// NewPacer returns the pacer of publisher i of s.Publishers; the same seed gives the same due times.
func NewPacer(s Schedule, i int, seed uint64) Pacer {
	p := Pacer{
		rate: s.RatePerS / float64(s.Publishers) / 1e9,
		from: float64(s.RampFrom), end: float64(s.End),
		rng:     *rand.NewPCG(seed, uint64(i)+1),
		poisson: s.Poisson,
		burstAt: math.MaxInt64,
	}
	if s.RampTo > 0 && s.End > s.RampFrom {
		p.slope = (s.RampTo - s.RatePerS) / float64(s.Publishers) / 1e9 / float64(s.End-s.RampFrom)
	}
	if s.Burst > 0 {
		p.burstSize = s.Burst / s.Publishers
		if i < s.Burst%s.Publishers {
			p.burstSize++
		}
		if p.burstSize > 0 {
			p.burstGap = int64(s.BurstGap)
			p.burstAt = int64(s.RampFrom + s.BurstGap)
			p.burstLeft = p.burstSize
		}
	}
	switch {
	case p.poisson:
		p.arrivals = p.step()
	case !s.Sharp:
		p.arrivals = p.uniform()
	}
	p.next = p.offset(p.arrivals)
	return p
}

// Next returns the next due time as an offset in nanoseconds from the start of the schedule; ok is false at its end.
func (p *Pacer) Next() (due int64, ok bool) {
	if p.burstAt <= p.next && float64(p.burstAt) < p.end {
		due = p.burstAt
		if p.burstLeft--; p.burstLeft == 0 {
			p.burstAt += p.burstGap
			p.burstLeft = p.burstSize
		}
		return due, true
	}
	due = p.next
	if float64(due) >= p.end {
		return 0, false
	}
	if p.poisson {
		p.arrivals += p.step()
	} else {
		p.arrivals++
	}
	p.next = p.offset(p.arrivals)
	return due, true
}

// offset inverts the cumulative rate: rate·t before the ramp, plus slope·(t-from)²/2 within it.
func (p *Pacer) offset(arrivals float64) int64 {
	if p.rate <= 0 {
		return math.MaxInt64
	}
	t := arrivals / p.rate
	if p.slope != 0 && t > p.from {
		beyond := arrivals - p.rate*p.from
		root := p.rate*p.rate + 2*p.slope*beyond
		if root < 0 {
			return math.MaxInt64 // the rate has fallen to its end before this arrival
		}
		t = p.from + 2*beyond/(p.rate+math.Sqrt(root))
	}
	if t >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(t)
}

// uniform returns a float in [0,1) with 53 random bits.
func (p *Pacer) uniform() float64 { return float64(p.rng.Uint64()>>11) / (1 << 53) }

// step returns an exponentially distributed gap of mean 1.
func (p *Pacer) step() float64 { return -math.Log1p(-p.uniform()) }
