package stat

import (
	"cmp"
	"math"
	"slices"
	"sync"
)

// medians is the distribution of the median of a resample: values in ascending order, and the probability of at most each.
type medians struct{ values, upTo []float64 }

// certain is the distribution of a value that is known.
func certain(v float64) medians { return medians{[]float64{v}, []float64{1}} }

// atMost is the probability that f(a, b) is at most v. f grows with a and falls with b.
func (a medians) atMost(b medians, f func(a, b float64) float64, v float64) float64 {
	sum, before, i := 0.0, 0.0, 0
	for j, y := range b.values {
		for i < len(a.values) && f(a.values[i], y) <= v {
			i++
		}
		if i > 0 {
			sum += (b.upTo[j] - before) * a.upTo[i-1]
		}
		before = b.upTo[j]
	}
	return sum
}

// resampled is the distribution of the median of resamples of values, each as large as the sample.
func resampled(values []float64) medians {
	return newResampling(len(values)).of(values)
}

// resampling says how likely it is that the middle of a resample of n values lies between the i-th and the j-th value of the
// sample.
type resampling []middle

// middle are the places, from 0, of the two values in the middle of a resample; one and the same where n is odd.
type middle struct {
	i, j int
	p    float64
}

// negligible probabilities are left out: all of them together are below 1e-9.
const negligible = 1e-15

// resamplings keeps those that were made, by n: few numbers of repetitions come again and again.
var resamplings sync.Map

func newResampling(n int) resampling {
	if r, ok := resamplings.Load(n); ok {
		return r.(resampling)
	}
	r := evenResampling
	if n%2 == 1 {
		r = oddResampling
	}
	made, _ := resamplings.LoadOrStore(n, r(n))
	return made.(resampling)
}

// oddResampling: the middle is at most the i-th value if more than half of the draws are, which is binomial.
func oddResampling(n int) (r resampling) {
	before := 0.0
	for i := range n {
		upTo := atLeast(n, n/2+1, float64(i+1)/float64(n))
		r = append(r, middle{i, i, upTo - before})
		before = upTo
	}
	return r
}

// evenResampling: for i below j, half of the draws are at most the i-th value with the i-th among them, the other half at least
// the j-th with the j-th among them. What is left of the probability of the lower one is that of both at one value.
func evenResampling(n int) (r resampling) {
	k := n / 2
	ways := choose(n, k) / 2 // of the logarithm, half for each factor
	half := make([]float64, n)
	for i := range half {
		half[i] = math.Exp(ways+float64(k)*math.Log(float64(i+1)/float64(n))) - math.Exp(ways+float64(k)*math.Log(float64(i)/float64(n)))
	}
	before := 0.0
	for i := range n {
		upTo := atLeast(n, k, float64(i+1)/float64(n))
		both := upTo - before
		before = upTo
		for j := i + 1; j < n; j++ {
			p := half[i] * half[n-1-j]
			both -= p
			if p > negligible {
				r = append(r, middle{i, j, p})
			}
		}
		r = append(r, middle{i, i, max(0, both)})
	}
	return r
}

// of is the distribution for a sample of that size.
func (r resampling) of(values []float64) medians {
	sorted := slices.Sorted(slices.Values(values))
	type point struct{ v, p float64 }
	points := make([]point, 0, len(r))
	for _, m := range r {
		v := mean(sorted[m.i], sorted[m.j])
		if last := len(points) - 1; last >= 0 && points[last].v == v { // samples that were drawn themselves have many ties
			points[last].p += m.p
			continue
		}
		points = append(points, point{v, m.p})
	}
	slices.SortFunc(points, func(a, b point) int { return cmp.Compare(a.v, b.v) })
	var m medians
	sum := 0.0
	for n, x := range points {
		sum += x.p
		if n > 0 && x.v == points[n-1].v {
			m.upTo[len(m.upTo)-1] = sum
			continue
		}
		m.values, m.upTo = append(m.values, x.v), append(m.upTo, sum)
	}
	m.upTo[len(m.upTo)-1] = 1 // without the errors of rounding
	return m
}

// atLeast is the probability of k or more successes in n draws.
func atLeast(n, k int, p float64) (sum float64) {
	if p >= 1 {
		return 1
	}
	for m := k; m <= n; m++ {
		sum += math.Exp(choose(n, m) + float64(m)*math.Log(p) + float64(n-m)*math.Log1p(-p))
	}
	return min(sum, 1)
}

// choose is the logarithm of the number of ways to choose k of n.
func choose(n, k int) float64 {
	log := func(n int) float64 { v, _ := math.Lgamma(float64(n + 1)); return v }
	return log(n) - log(k) - log(n-k)
}
