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
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return mean(sorted[(n-1)/2], sorted[n/2])
}

// mean does not overflow, and is exact for equal numbers.
func mean(a, b float64) float64 { return a + (b-a)/2 }

// BootstrapCI returns the percentile bootstrap interval of the median (Efron & Tibshirani, An Introduction to the Bootstrap,
// 1993, §13.3): the values between which the medians of 95 % of the resamples lie, each drawn with replacement. The
// distribution of those medians is computed, not drawn (§5.6 there), so that the interval is that of endlessly many resamples. With
// five values it is from the smallest to the largest. ok is false for fewer than two values, which show no spread, and for values
// that are not finite.
func BootstrapCI(values []float64) (ci Interval, ok bool) {
	if !usable(values) {
		return ci, false
	}
	m := resampled(values)
	return interval(m, certain(0), func(a, _ float64) float64 { return a }), true
}

// DifferenceCI returns the bootstrap interval of median(a) - median(b): as BootstrapCI, the two resampled independently.
func DifferenceCI(a, b []float64) (ci Interval, ok bool) {
	if !usable(a) || !usable(b) {
		return ci, false
	}
	return interval(resampled(a), resampled(b), difference), true
}

// RatioCI returns the bootstrap interval of median(a) / median(b): as BootstrapCI, the two resampled independently. A ratio
// needs positive values; ok is false if one is not.
func RatioCI(a, b []float64) (ci Interval, ok bool) {
	if !usable(a) || !usable(b) || !positive(a) || !positive(b) {
		return ci, false
	}
	return interval(resampled(a), resampled(b), ratio), true
}

func difference(a, b float64) float64 { return a - b }

func ratio(a, b float64) float64 { return a / b }

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x6d716c6162)) }

func usable(values []float64) bool { return len(values) >= 2 && finite(values) }

func finite(values []float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}

func positive(values []float64) bool { return slices.Min(values) > 0 }

// interval leaves out the same share of the distribution of f(a, b) on both sides. f grows with a and falls with b.
func interval(a, b medians, f func(a, b float64) float64) Interval {
	const out = (1 - confidence) / 2
	return Interval{
		Low:  a.quantile(b, f, func(p float64) bool { return p > out }),
		High: a.quantile(b, f, func(p float64) bool { return p >= 1-out }),
	}
}

// quantile is the smallest value of f(a, b) for which the probability of at most that is enough.
func (a medians) quantile(b medians, f func(a, b float64) float64, enough func(p float64) bool) float64 {
	low, high := f(a.values[0], b.values[len(b.values)-1]), f(a.values[len(a.values)-1], b.values[0])
	if enough(a.atMost(b, f, low)) {
		return low
	}
	for { // enough at high, not at low
		middle := mean(low, high)
		if middle <= low || middle >= high {
			return high
		}
		if enough(a.atMost(b, f, middle)) {
			high = middle
		} else {
			low = middle
		}
	}
}
