package stat

import (
	"math"
	"math/rand/v2"
)

// Alpha is the chance of a false alarm that the rank test may have.
const Alpha = 0.05

// Verdict says whether two subjects may be called different.
type Verdict string

// The verdicts. There is none that says "equal": repetitions cannot show that.
const (
	Different Verdict = "different"
	NotShown  Verdict = "no difference shown"
)

// Comparison is what the repetitions of two subjects, a and b, say about them.
type Comparison struct {
	Ratio           *Interval `json:"ratio_ci,omitempty"`      // of median(a) / median(b); nil unless all values are positive
	Difference      *Interval `json:"difference_ci,omitempty"` // of median(a) - median(b); nil with fewer than two values each
	P               float64   `json:"p"`                       // of MannWhitney, two-sided
	Verdict         Verdict   `json:"verdict"`
	NeedRepetitions int       `json:"need_repetitions,omitempty"` // each; see Compare
}

// Compare says whether a and b differ: only if the interval of the ratio excludes 1 (where values are not all positive, that
// of the difference excludes 0) and MannWhitney finds P <= Alpha.
//
// If no difference is shown, NeedRepetitions estimates how many repetitions would show one of the size seen, at the
// spread seen, in four of five attempts. It is 0 when that is unknown: too few values, or more than 100.
func Compare(a, b []float64, seed uint64) Comparison {
	c := test(a, b)
	c.decide(c.P)
	if c.Verdict == NotShown {
		c.NeedRepetitions = needRepetitions(a, b, Alpha, seed)
	}
	return c
}

// test fills in everything but the verdict.
func test(a, b []float64) Comparison {
	c := Comparison{P: 1}
	difference, ok := DifferenceCI(a, b)
	if !ok {
		return c
	}
	c.Difference = &difference
	if ratio, ok := RatioCI(a, b); ok {
		c.Ratio = &ratio
	}
	_, c.P = MannWhitney(a, b)
	return c
}

// decide sets the verdict; p may be adjusted for several comparisons.
func (c *Comparison) decide(p float64) {
	c.Verdict = NotShown
	if p <= Alpha && c.intervalExcludesEqual() {
		c.Verdict = Different
	}
}

func (c *Comparison) intervalExcludesEqual() bool {
	switch {
	case c.Ratio != nil:
		return c.Ratio.excludes(1)
	case c.Difference != nil:
		return c.Difference.excludes(0)
	}
	return false
}

// How NeedRepetitions is estimated.
const (
	mostRepetitions = 100
	attempts        = 200
	wantedPower     = 0.8
)

// needRepetitions returns the smallest number of repetitions of which wantedPower of the attempts, drawn with replacement
// from a and b, are told apart at level alpha; 0 if mostRepetitions are too few, and if the medians are equal: then no difference
// was seen that could be shown. (Power by resampling a pilot sample: Efron & Tibshirani 1993, §25.4.)
func needRepetitions(a, b []float64, alpha float64, seed uint64) int {
	low := min(len(a), len(b)) // known to be too few
	if !usable(a) || !usable(b) || low >= mostRepetitions || Median(a) == Median(b) {
		return 0
	}
	enough := func(n int) bool { return powerful(a, b, n, alpha, seed) }
	high := low + 1
	for !enough(high) {
		if high == mostRepetitions {
			return 0
		}
		low, high = high, min(2*high, mostRepetitions)
	}
	for high-low > 1 {
		if mid := (low + high) / 2; enough(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

// powerful reports whether n repetitions of a and b would be told apart in wantedPower of the attempts.
func powerful(a, b []float64, n int, alpha float64, seed uint64) bool {
	rng := newRand(seed ^ uint64(n)<<32)
	r := newResampling(n)
	x, y := make([]float64, n), make([]float64, n)
	shown, needed := 0, int(wantedPower*attempts)
	for i := range attempts {
		draw(x, a, rng)
		draw(y, b, rng)
		if r.toldApart(x, y, alpha) {
			shown++
		}
		if shown >= needed {
			return true
		}
		if i+1-shown > attempts-needed {
			return false
		}
	}
	return false
}

func draw(to, from []float64, rng *rand.Rand) {
	for i := range to {
		to[i] = from[rng.IntN(len(from))]
	}
}

// toldApart is the rule of Compare without the figures: of two samples of that size, it makes intervals only where the rank
// test asks for them.
func (r resampling) toldApart(a, b []float64, alpha float64) bool {
	if _, p := MannWhitney(a, b); p > alpha {
		return false
	}
	f, equal := difference, 0.0
	if positive(a) && positive(b) {
		f, equal = ratio, 1
	}
	const out = (1 - confidence) / 2
	x, y := r.of(a), r.of(b)
	return x.atMost(y, f, equal) <= out || x.atMost(y, f, math.Nextafter(equal, math.Inf(-1))) >= 1-out
}
