// Package stat decides, from repetitions of a measurement, what may be said about the subjects measured.
//
// Compare takes the repetitions of two subjects, Groups those of several; both answer "different" only where the bootstrap
// interval and a rank test say so. Everything is pure: the same values and seed give the same answer. A value is a
// finite number, one for each repetition.
package stat

import (
	"math"
	"math/rand/v2"
	"slices"
)

// confidence is the level of every interval.
const confidence = 0.95

// Interval is a range that holds the true value with 95 % confidence.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// excludes reports whether v lies outside.
func (i Interval) excludes(v float64) bool { return v < i.Low || v > i.High }

// Median returns the middle value, or the mean of the two middle ones; NaN if there is none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	return middle(slices.Sorted(slices.Values(values)))
}

func middle(sorted []float64) float64 {
	n := len(sorted)
	return mean(sorted[(n-1)/2], sorted[n/2])
}

// mean does not overflow, and is exact for equal numbers.
func mean(a, b float64) float64 { return a + (b-a)/2 }

// BootstrapCI returns the percentile bootstrap interval of the median (Efron & Tibshirani, An Introduction to the Bootstrap,
// 1993, §13.3): the values between which the medians of 95 % of the resamples lie, each drawn with replacement.
// With five values it is from the smallest to the largest. ok is false for fewer than two values, which show no spread, and for values
// that are not finite.
func BootstrapCI(values []float64, resamples int, seed uint64) (ci Interval, ok bool) {
	if !usable(values) || resamples < 1 {
		return ci, false
	}
	r := newResampler(values, newRand(seed))
	return percentiles(resamples, r.median), true
}

// DifferenceCI returns the bootstrap interval of median(a) - median(b): as BootstrapCI, the two resampled independently.
func DifferenceCI(a, b []float64, resamples int, seed uint64) (ci Interval, ok bool) {
	if !usable(a) || !usable(b) || resamples < 1 {
		return ci, false
	}
	rng := newRand(seed)
	ra, rb := newResampler(a, rng), newResampler(b, rng)
	return percentiles(resamples, func() float64 { return ra.median() - rb.median() }), true
}

// RatioCI returns the bootstrap interval of median(a) / median(b): as BootstrapCI, the two resampled independently. A ratio
// needs positive values; ok is false if one is not.
func RatioCI(a, b []float64, resamples int, seed uint64) (ci Interval, ok bool) {
	if !usable(a) || !usable(b) || !positive(a) || !positive(b) || resamples < 1 {
		return ci, false
	}
	rng := newRand(seed)
	ra, rb := newResampler(a, rng), newResampler(b, rng)
	return percentiles(resamples, func() float64 { return ra.median() / rb.median() }), true
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x6d716c6162)) }

func usable(values []float64) bool { return len(values) >= 2 && finite(values) }

func finite(values []float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}

func positive(values []float64) bool { return slices.Min(values) > 0 }

// percentiles draws n numbers and returns the interval that leaves out the same share of them on both sides.
func percentiles(n int, draw func() float64) Interval {
	drawn := make([]float64, n)
	for i := range drawn {
		drawn[i] = draw()
	}
	slices.Sort(drawn)
	out := int(float64(n) * (1 - confidence) / 2)
	return Interval{drawn[out], drawn[n-1-out]}
}

// resampler draws medians of resamples of the same size as the sample.
type resampler struct {
	sorted []float64
	times  []int // how often each value was drawn
	rng    *rand.Rand
}

func newResampler(values []float64, rng *rand.Rand) *resampler {
	return &resampler{slices.Sorted(slices.Values(values)), make([]int, len(values)), rng}
}

func (r *resampler) median() float64 {
	n := len(r.sorted)
	clear(r.times)
	for range n {
		r.times[r.rng.IntN(n)]++
	}
	i, seen := 0, r.times[0]
	for seen <= (n-1)/2 {
		i++
		seen += r.times[i]
	}
	low := r.sorted[i]
	for seen <= n/2 {
		i++
		seen += r.times[i]
	}
	return mean(low, r.sorted[i])
}
