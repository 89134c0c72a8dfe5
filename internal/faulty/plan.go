package faulty

import (
	"math"
	"math/rand/v2"
	"time"
)

// Plan says what a Broker does wrong. The zero value is a broker without faults.
type Plan struct {
	Seed   uint64 // of the random choices: delays and damaged bits
	Delay  Delay
	Stalls []Stall

	// Faults are by ordinal number, from 0, of the delivery among all counted ones, in the order in which they are forwarded.
	Faults map[uint64]Fault

	// LateSubscription is how long after it was asked for a subscription begins, and is confirmed.
	LateSubscription time.Duration
	// ReadBytesPerS limits how fast the broker reads from each connection; 0 = as fast as possible.
	ReadBytesPerS int
	// Queue is how many deliveries may wait for one subscriber, further ones are dropped; 0 = any number.
	Queue int
}

// Delay is how long a delivery is kept back, from the arrival of its message on: drawn uniformly from [Min, Max], or
// constant where both are the same.
type Delay struct {
	Min, Max time.Duration
	// Overtake lets a delivery overtake an earlier one of its stream that drew a longer delay. Otherwise it waits for it.
	Overtake bool
}

func (d *Delay) draw(rng *rand.Rand) int64 {
	if d.Max <= d.Min {
		return int64(d.Min)
	}
	return int64(d.Min) + rng.Int64N(int64(d.Max-d.Min)+1)
}

// Stall is a time in which the broker neither reads nor writes. At counts from the zero of Broker.SetZero.
type Stall struct{ At, For time.Duration }

// Kind is what happens to a delivery.
type Kind uint8

// The faults of deliveries.
const (
	None    Kind = iota
	Lose         // it is not forwarded
	Corrupt      // one bit of its payload is wrong
	Repeat       // it is forwarded a second time, after By further deliveries of its stream if so many come in time
	Defer        // it is forwarded after By further deliveries of its stream, or later than all of them
	Foreign      // a message of another run comes before it
	kinds
)

// String returns the name of the kind.
func (k Kind) String() string {
	names := [kinds]string{"none", "lose", "corrupt", "repeat", "defer", "foreign"}
	if k < kinds {
		return names[k]
	}
	return "unknown"
}

// Fault is what happens to one delivery.
type Fault struct {
	Kind Kind
	By   int // of Repeat and Defer; 0 = at once
}

// Swap is the fault of a delivery that changes places with the next one of its stream.
var Swap = Fault{Kind: Defer, By: 1}

// heldAtMost is how long a delivery waits for further ones of its stream. Then a deferred one is forwarded in any case, and
// a repetition is given up: a trial that has received everything need not wait for it.
const heldAtMost = int64(100 * time.Millisecond)

// stalled tells whether the broker stands still at now, and until when.
func (p *Plan) stalled(zero, now int64) (until int64, yes bool) {
	if zero == math.MaxInt64 {
		return 0, false
	}
	for _, s := range p.Stalls {
		from := zero + int64(s.At)
		if end := from + int64(s.For); from <= now && now < end {
			until, yes = max(until, end), true
		}
	}
	return until, yes
}

// pace limits how fast a connection is read.
type pace struct {
	perSecond int
	at        int64   // when allowance was worked out
	allowance float64 // bytes; negative after a large unit
}

// paceSlice is how much allowance is saved at most: what flows in this time. Reading waits until there is half of it.
const paceSlice = 0.02 // s

func (p *pace) slice() float64 { return float64(p.perSecond) * paceSlice }

// allow returns how many bytes may be read now; where that is 0, next is when to ask again.
func (p *pace) allow(now int64) (n int, next int64) {
	if p.perSecond == 0 {
		return math.MaxInt, now
	}
	p.allowance = min(p.allowance+float64(now-p.at)/1e9*float64(p.perSecond), p.slice())
	p.at = now
	if missing := p.slice()/2 - p.allowance; missing > 0 {
		return 0, now + int64(missing/float64(p.perSecond)*1e9) + 1
	}
	return max(int(p.allowance), 1), now
}

func (p *pace) took(n int) { p.allowance -= float64(n) }
