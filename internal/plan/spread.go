package plan

import (
	"math"
	"time"
)

// Interval is the time between two messages of publisher n, where all have a constant rate.
func (p *Params) Interval(n int) time.Duration {
	first := float64(p.Publishers) / p.RatePerS
	return time.Duration(first * math.Pow(max(p.Spread, 1), float64(n)) * float64(time.Second))
}

// spreadRate is the rate of all publishers together.
func (p *Params) spreadRate() (sum float64) {
	if p.Spread <= 1 {
		return p.RatePerS
	}
	for n := range p.Publishers {
		sum += 1 / p.Interval(n).Seconds()
	}
	return sum
}
