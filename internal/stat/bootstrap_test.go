package stat

import (
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
	for _, n := range []int{3, 5, 7, 9, 15, 21, 51} {
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(i + 1)
		}
		below := func(k float64) float64 {
			draws := distuv.Binomial{N: float64(n), P: k / float64(n)}
			return 1 - draws.CDF(float64(n/2))
		}
		ci, ok := BootstrapCI(values, 40_000, 1)
		if !ok {
			t.Fatal("no interval")
		}
		// The probability at an end may be so close to the level that the draws decide.
		if below(ci.Low) < 0.0235 || below(ci.Low-1) > 0.0265 || below(ci.High) < 0.9735 || below(ci.High-1) > 0.9765 {
			t.Errorf("n=%d: %v to %v has the levels %v and %v", n, ci.Low, ci.High, below(ci.Low), below(ci.High))
		}
	}
	if ci, _ := BootstrapCI([]float64{40, 10, 50, 20, 30}, 2000, 7); ci != (Interval{10, 50}) {
		t.Errorf("five values: %v", ci)
	}
}

func TestResampledMedianAgreesWithSorting(t *testing.T) {
	for n := 1; n < 12; n++ {
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(i * i)
		}
		r := newResampler(values, rand.New(rand.NewPCG(3, 4)))
		same := rand.New(rand.NewPCG(3, 4))
		for range 200 {
			drawn := make([]float64, n)
			for i := range drawn {
				drawn[i] = values[same.IntN(n)]
			}
			if got, want := r.median(), Median(drawn); got != want {
				t.Fatalf("median of %v = %v, want %v", drawn, got, want)
			}
		}
	}
}

func TestIntervalsOfTwoSamples(t *testing.T) {
	a, b := []float64{200, 201, 202, 203, 204}, []float64{100, 101, 102, 103, 104}
	ratio, ok := RatioCI(a, b, 5000, 1)
	if !ok || ratio.Low < 200.0/104 || ratio.High > 204.0/100 || ratio.Low > 202.0/102 || ratio.High < 202.0/102 {
		t.Errorf("ratio %v, %v", ratio, ok)
	}
	difference, ok := DifferenceCI(a, b, 5000, 1)
	if !ok || difference.Low < 96 || difference.High > 104 || difference.Low > 100 || difference.High < 100 {
		t.Errorf("difference %v, %v", difference, ok)
	}
	again, _ := RatioCI(a, b, 5000, 1)
	if other, _ := RatioCI([]float64{1, 5, 9, 2}, []float64{3, 4, 8, 1}, 50, 2); again != ratio || other == ratio {
		t.Error("the seed does not decide")
	}
}

func TestNoIntervalWithoutGrounds(t *testing.T) {
	good := []float64{1, 2, 3}
	for _, bad := range [][]float64{nil, {1}, {1, math.NaN()}, {1, math.Inf(1)}} {
		_, ok := BootstrapCI(bad, 100, 1)
		_, okRatio := RatioCI(good, bad, 100, 1)
		_, okDifference := DifferenceCI(bad, good, 100, 1)
		if ok || okRatio || okDifference {
			t.Errorf("%v has an interval", bad)
		}
	}
	for _, bad := range [][]float64{{0, 1, 2}, {-1, 2, 3}} {
		_, okA := RatioCI(bad, good, 100, 1)
		_, okB := RatioCI(good, bad, 100, 1)
		if _, ok := DifferenceCI(bad, good, 100, 1); okA || okB || !ok {
			t.Errorf("%v has a ratio or no difference", bad)
		}
	}
	if _, ok := BootstrapCI(good, 0, 1); ok {
		t.Error("an interval from no resample")
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
		const runs = 600
		for i := range runs {
			values := make([]float64, tt.n)
			for j := range values {
				values[j] = math.Exp(rng.NormFloat64())
			}
			if ci, ok := BootstrapCI(values, 500, uint64(i)); ok && !ci.excludes(1) {
				held++
			}
		}
		if share := float64(held) / runs; share < tt.atLeast || share > tt.to {
			t.Errorf("n=%d: the interval holds the median in %.3f of the cases", tt.n, share)
		}
	}
}
