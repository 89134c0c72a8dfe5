package link

import (
	"math"
	"time"
)

// steps is how finely Travel integrates.
const steps = 1 << 16

// Travel returns mean and standard deviation of the delays that a Machine draws: Delay and what the distribution makes of
// Jitter, corrected for draws below 0, which become 0. Order and waiting come on top.
func (p Params) Travel() (mean, deviation time.Duration) {
	if p.Jitter == 0 {
		return p.Delay, 0
	}
	// Mean and mean square in units of jitter, of the distribution without the correction.
	first, second := 0.0, 1.0
	quantile := func(share float64) float64 {
		return standard(p.Distribution, -math.Sqrt2*math.Erfinv(1-2*share), 1-share)
	}
	switch {
	case p.Mode == NetEm && !p.uniform():
		second = 0
		for i := range tableSize {
			x := tableEntry(p.Distribution, (float64(i)+0.5)/tableSize)
			first, second = first+x/tableSize, second+x*x/tableSize
		}
		quantile = func(share float64) float64 { return tableEntry(p.Distribution, share) }
	case p.uniform():
		second = 1.0 / 3
	}
	lowest := -float64(p.Delay) / float64(p.Jitter)
	for i := range steps {
		x := quantile((float64(i) + 0.5) / steps)
		if x >= lowest {
			break
		}
		first += (lowest - x) / steps
		second += (lowest*lowest - x*x) / steps
	}
	jitter := float64(p.Jitter)
	return p.Delay + time.Duration(math.Round(first*jitter)), time.Duration(math.Round(math.Sqrt(second-first*first) * jitter))
}

// MeanBurst returns the mean number of packets lost in a row; 0 without losses.
func (p Params) MeanBurst() float64 {
	switch {
	case p.Loss == 0:
		return 0
	case p.Burst > 0:
		return p.Burst
	}
	return 1 / (1 - p.Loss)
}

// LossError returns the standard error of the share of losses among n packets in a row: that of independent ones, made larger by
// sqrt((1+r)/(1-r)), r = 1-p-q, for a chain that changes its state with probabilities p and q.
func (p Params) LossError(n int) float64 {
	e := math.Sqrt(p.Loss * (1 - p.Loss) / float64(n))
	if p.Burst == 0 || p.Loss == 0 {
		return e
	}
	r := 1 - 1/p.Burst/(1-p.Loss)
	return e * math.Sqrt((1+r)/(1-r))
}
