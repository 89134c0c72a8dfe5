package stat

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

func TestMedian(t *testing.T) {
	for _, tt := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{3}, 3},
		{[]float64{3, 1}, 2},
		{[]float64{5, 1, 3}, 3},
		{[]float64{4, 1, 3, 2}, 2.5},
		{[]float64{math.MaxFloat64, math.MaxFloat64}, math.MaxFloat64},
	} {
		before := slices.Clone(tt.values)
		if got := Median(tt.values); got != tt.want || !slices.Equal(before, tt.values) {
			t.Errorf("median of %v = %v, want %v", before, got, tt.want)
		}
	}
	if !math.IsNaN(Median(nil)) {
		t.Error("nothing has a median")
	}
}

// The bootstrap distribution of the median of an odd number of values is known: the median of a resample is at most the
// k-th value if more than half of the draws are, which is binomial (Efron 1979).
func TestBootstrapOfMedianAgreesWithItsExactDistribution(t *testing.T) {
	for _, n := range []int{3, 5, 7, 9, 15, 21, 51, 201} {
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(i + 1)
		}
		below := func(k float64) float64 {
			draws := distuv.Binomial{N: float64(n), P: k / float64(n)}
			return 1 - draws.CDF(float64(n/2))
		}
		ci, ok := BootstrapCI(values)
		if !ok {
			t.Fatal("no interval")
		}
		if below(ci.Low) < 0.025 || below(ci.Low-1) > 0.025 || below(ci.High) < 0.975 || below(ci.High-1) > 0.975 {
			t.Errorf("n=%d: %v to %v has the levels %v and %v", n, ci.Low, ci.High, below(ci.Low), below(ci.High))
		}
	}
	if ci, _ := BootstrapCI([]float64{40, 10, 50, 20, 30}); ci != (Interval{10, 50}) {
		t.Errorf("five values: %v", ci)
	}
}

// Drawing resamples must give the distribution that is computed, for even and odd numbers of values and with ties.
func TestResampledMediansAgreeWithDrawing(t *testing.T) {
	for n := 2; n < 12; n++ {
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(i * i / 2 * 2)
		}
		m := resampled(values)
		rng := rand.New(rand.NewPCG(3, uint64(n)))
		const draws = 40_000
		drawn, medians := make([]float64, n), make([]float64, draws)
		for i := range medians {
			draw(drawn, values, rng)
			medians[i] = Median(drawn)
		}
		slices.Sort(medians)
		for i, v := range m.values {
			at, _ := slices.BinarySearchFunc(medians, v, func(x, v float64) int {
				if x <= v {
					return -1
				}
				return 1
			})
			if got := float64(at) / draws; math.Abs(got-m.upTo[i]) > 0.012 {
				t.Errorf("n=%d: %.4f of the medians drawn are at most %v, computed %.4f", n, got, v, m.upTo[i])
			}
		}
	}
}

func TestResamplingsAreWhole(t *testing.T) {
	for _, n := range []int{2, 3, 4, 10, 99, 100, 1000} {
		sum := 0.0
		for _, m := range newResampling(n) {
			if m.p < 0 || m.i > m.j || m.j >= n {
				t.Fatalf("n=%d: %+v", n, m)
			}
			sum += m.p
		}
		if math.Abs(sum-1) > 1e-8 {
			t.Errorf("n=%d: the probabilities add up to %v", n, sum)
		}
	}
}

func TestIntervalsOfTwoSamples(t *testing.T) {
	a, b := []float64{200, 201, 202, 203, 204}, []float64{100, 101, 102, 103, 104}
	ratio, ok := RatioCI(a, b)
	if !ok || ratio.Low < 200.0/104 || ratio.High > 204.0/100 || ratio.Low > 202.0/102 || ratio.High < 202.0/102 {
		t.Errorf("ratio %v, %v", ratio, ok)
	}
	difference, ok := DifferenceCI(a, b)
	if !ok || difference.Low < 96 || difference.High > 104 || difference.Low > 100 || difference.High < 100 {
		t.Errorf("difference %v, %v", difference, ok)
	}
	if turned, _ := RatioCI(b, a); math.Abs(turned.Low*ratio.High-1) > 1e-12 || math.Abs(turned.High*ratio.Low-1) > 1e-12 {
		t.Errorf("ratio %v, turned %v", ratio, turned)
	}
}

// The interval of two medians must be that of all pairs of resamples.
func TestIntervalOfARatioAgreesWithAllPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for range 200 {
		a, b := repetitions(rng, 2+rng.IntN(6), 100, 0.1), repetitions(rng, 2+rng.IntN(6), 110, 0.1)
		x, y := resampled(a), resampled(b)
		type pair struct{ v, p float64 }
		var pairs []pair
		for i, u := range x.values {
			for j, v := range y.values {
				pairs = append(pairs, pair{u / v, x.probability(i) * y.probability(j)})
			}
		}
		slices.SortFunc(pairs, func(a, b pair) int { return cmp.Compare(a.v, b.v) })
		want, sum := Interval{math.NaN(), math.NaN()}, 0.0
		for _, p := range pairs {
			sum += p.p
			if math.IsNaN(want.Low) && sum > 0.025 {
				want.Low = p.v
			}
			if math.IsNaN(want.High) && sum >= 0.975 {
				want.High = p.v
			}
		}
		if got, ok := RatioCI(a, b); !ok || got != want {
			t.Fatalf("%v / %v: %v, by all pairs %v", a, b, got, want)
		}
	}
}

func (a medians) probability(i int) float64 {
	if i == 0 {
		return a.upTo[0]
	}
	return a.upTo[i] - a.upTo[i-1]
}

func TestNoIntervalWithoutGrounds(t *testing.T) {
	good := []float64{1, 2, 3}
	for _, bad := range [][]float64{nil, {1}, {1, math.NaN()}, {1, math.Inf(1)}} {
		_, ok := BootstrapCI(bad)
		_, okRatio := RatioCI(good, bad)
		_, okDifference := DifferenceCI(bad, good)
		if ok || okRatio || okDifference {
			t.Errorf("%v has an interval", bad)
		}
	}
	for _, bad := range [][]float64{{0, 1, 2}, {-1, 2, 3}} {
		_, okA := RatioCI(bad, good)
		_, okB := RatioCI(good, bad)
		if _, ok := DifferenceCI(bad, good); okA || okB || !ok {
			t.Errorf("%v has a ratio or no difference", bad)
		}
	}
}

// The interval should hold the true median about as often as it says; with few values it is known to be a little short.
func TestCoverage(t *testing.T) {
	for _, tt := range []struct {
		n           int
		atLeast, to float64
	}{{5, 0.91, 0.97}, {15, 0.92, 0.98}, {31, 0.92, 0.98}} {
		rng := rand.New(rand.NewPCG(5, uint64(tt.n)))
		held := 0
		const runs = 10_000
		for range runs {
			values := make([]float64, tt.n)
			for j := range values {
				values[j] = math.Exp(rng.NormFloat64())
			}
			if ci, ok := BootstrapCI(values); ok && !ci.excludes(1) {
				held++
			}
		}
		if share := float64(held) / runs; share < tt.atLeast || share > tt.to {
			t.Errorf("n=%d: the interval holds the median in %.3f of the cases", tt.n, share)
		}
	}
}
