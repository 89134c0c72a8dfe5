package stat

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

func close12(a, b float64) bool { return math.Abs(a-b) < 1e-12 }

// The values are those of SciPy's documentation of mannwhitneyu, or computed by hand.
func TestMannWhitneyKnownValues(t *testing.T) {
	for _, tt := range []struct {
		a, b []float64
		u, p float64
	}{
		{[]float64{19, 22, 16, 29, 24}, []float64{20, 11, 17, 12}, 17, 0.1111111111111111},
		{[]float64{1, 2, 3, 4, 5}, []float64{6, 7, 8, 9, 10}, 0, 2.0 / 252},
		{[]float64{6, 7, 8, 9, 10}, []float64{1, 2, 3, 4, 5}, 25, 2.0 / 252},
		{[]float64{1, 2, 3, 4, 6}, []float64{5, 7, 8, 9, 10}, 1, 4.0 / 252},
		{[]float64{1, 2, 3, 5, 6}, []float64{4, 7, 8, 9, 10}, 2, 8.0 / 252},
		{[]float64{1, 1, 1}, []float64{1, 1}, 3, 1},
		{[]float64{1}, []float64{2}, 0, 1},
		{nil, []float64{2}, 0, 1},
		{[]float64{2}, nil, 0, 1},
	} {
		u, p := MannWhitney(tt.a, tt.b)
		if u != tt.u || !close12(p, tt.p) {
			t.Errorf("%v against %v: U %v p %v, want %v %v", tt.a, tt.b, u, p, tt.u, tt.p)
		}
	}
	if p := normalP(17, 5, 4, []int{1, 1, 1, 1, 1, 1, 1, 1, 1}); !close12(p, 0.11134688653314041) {
		t.Errorf("normal approximation %v", p)
	}
}

// byDivision tries every way to divide the pooled values.
func byDivision(a, b []float64) float64 {
	pooled := slices.Concat(a, b)
	deviation := func(mask uint) float64 {
		u := 0.0
		for i, x := range pooled {
			for j, y := range pooled {
				if mask>>i&1 == 1 && mask>>j&1 == 0 {
					if x > y {
						u++
					} else if x == y {
						u += 0.5
					}
				}
			}
		}
		return math.Abs(u - float64(len(a)*len(b))/2)
	}
	seen := deviation(1<<len(a) - 1)
	all, far := 0.0, 0.0
	for mask := range uint(1) << len(pooled) {
		if bits.OnesCount(mask) == len(a) {
			all++
			if deviation(mask) >= seen {
				far++
			}
		}
	}
	return far / all
}

func TestExactPAgreesWithEveryDivision(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		a, b := make([]float64, 1+rng.IntN(5)), make([]float64, 1+rng.IntN(5))
		different := 2 + rng.IntN(12) // few different values: many ties
		for _, s := range [][]float64{a, b} {
			for i := range s {
				s[i] = float64(rng.IntN(different))
			}
		}
		_, p := MannWhitney(a, b)
		_, q := MannWhitney(b, a)
		if want := byDivision(a, b); !close12(p, want) || !close12(q, want) {
			t.Fatalf("%v against %v: p %v and %v, want %v", a, b, p, q, want)
		}
	}
}

func TestNormalApproximationMeetsTheExactTest(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for range 200 {
		a, b := make([]float64, 10), make([]float64, 10)
		for i := range a {
			a[i], b[i] = math.Round(10*rng.NormFloat64()), math.Round(10*rng.NormFloat64())+5
		}
		u, exact := MannWhitney(a, b)
		_, ties := pooledRanks(a, b)
		off := math.Abs(exact - normalP(u, 10, 10, ties))
		if off > 0.02 || exact < 0.1 && off > 0.005 {
			t.Errorf("exact %v, approximation off by %v", exact, off)
		}
	}
	same := make([]float64, 30)
	if _, p := MannWhitney(same, same); p != 1 {
		t.Errorf("all equal: p %v", p)
	}
	a, b := make([]float64, 11), make([]float64, 40)
	for i := range a {
		a[i] = 100
	}
	if _, p := MannWhitney(a, b); p > 1e-9 {
		t.Errorf("far apart: p %v", p)
	}
}

func TestHolm(t *testing.T) {
	for _, tt := range []struct{ ps, want []float64 }{
		{nil, []float64{}},
		{[]float64{0.04}, []float64{0.04}},
		{[]float64{0.01, 0.04, 0.03, 0.005}, []float64{0.03, 0.06, 0.06, 0.02}}, // p.adjust of R
		{[]float64{0.5, 0.6}, []float64{1, 1}},
		{[]float64{0.02, 0.02, 0.02}, []float64{0.06, 0.06, 0.06}},
	} {
		before := slices.Clone(tt.ps)
		if got := Holm(tt.ps); !slices.EqualFunc(got, tt.want, close12) || !slices.Equal(before, tt.ps) {
			t.Errorf("%v becomes %v, want %v", before, got, tt.want)
		}
	}
}
