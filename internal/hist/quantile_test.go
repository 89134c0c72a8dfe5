package hist

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// exactRank computes ceil(q × n) in whole numbers from the decimal fraction.
func exactRank(q string, n int64) int64 {
	r, ok := new(big.Rat).SetString(q)
	if !ok {
		panic(q)
	}
	r.Mul(r, new(big.Rat).SetInt64(n))
	v := new(big.Int).Add(r.Num(), new(big.Int).Sub(r.Denom(), big.NewInt(1)))
	return max(1, v.Quo(v, r.Denom()).Int64())
}

func TestRankIsExact(t *testing.T) {
	check := func(q string, n int64) {
		t.Helper()
		var f float64
		if _, err := fmt.Sscan(q, &f); err != nil {
			t.Fatal(err)
		}
		if got, want := rank(f, n), exactRank(q, n); got != want {
			t.Errorf("rank(%s, %d) = %d, want %d", q, n, got, want)
		}
	}
	check("0.99", 1000)
	for _, n := range []int64{1, 2, 3, 7, 10, 100, 101, 999, 1000, 1001, 123_457, 1_000_000, 60_000_001, 1_000_000_000} {
		for permille := range 1001 {
			check(fmt.Sprintf("%d.%03d", permille/1000, permille%1000), n)
		}
		for _, q := range []string{"0.9999", "0.99999", "0.999999", "0.0001"} {
			check(q, n)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		check(fmt.Sprintf("0.%04d", rng.IntN(10_000)), 1+rng.Int64N(10_000_000_000))
	}
}

func TestRankOfFractions(t *testing.T) {
	for n := int64(1); n < 3000; n += 7 {
		for r := int64(1); r <= n; r++ {
			if got := rank(float64(r)/float64(n), n); got != r {
				t.Fatalf("rank(%d/%d) = %d", r, n, got)
			}
		}
	}
}

func TestRankStaysInRange(t *testing.T) {
	for _, q := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, 1, 2} {
		for _, n := range []int64{1, 5, math.MaxInt64} {
			if r := rank(q, n); r < 1 || r > n {
				t.Errorf("rank(%v, %d) = %d", q, n, r)
			}
		}
	}
	if rank(1, math.MaxInt64) != math.MaxInt64 {
		t.Error("the last rank of very many is not the last")
	}
}

func TestQuantileOfCountsTheLostAsLast(t *testing.T) {
	h := new(Hist)
	for v := int64(1); v <= 990; v++ {
		h.Record(v)
	}
	tests := []struct {
		q        float64
		expected int64
		want     int64
		ok       bool
	}{
		{0, 1000, 1, true},
		{0.5, 1000, 500, true},
		{0.99, 1000, 990, true},
		{0.9901, 1000, 0, false},
		{0.999, 1000, 0, false},
		{1, 1000, 0, false},
		{1, 990, 990, true},
		{0.5, 1980, 990, true},
		{0.51, 1980, 0, false},
		{0.5, 989, 0, false}, // more arrived than expected: no answer
		{0.5, 0, 0, false},
		{0.5, -1, 0, false},
		{-0.1, 1000, 0, false},
		{1.1, 1000, 0, false},
		{math.NaN(), 1000, 0, false},
	}
	for _, tt := range tests {
		if v, ok := h.QuantileOf(tt.q, tt.expected); v != tt.want || ok != tt.ok {
			t.Errorf("QuantileOf(%v, %d) = %d, %v, want %d, %v", tt.q, tt.expected, v, ok, tt.want, tt.ok)
		}
	}
}

func TestCurve(t *testing.T) {
	for seed := range uint64(40) {
		n := 1 + int(seed*seed*seed/3)
		h := record(new(Hist), values(seed, n))
		for _, expected := range []int64{h.Count(), h.Count() + 1, 2 * h.Count()} {
			points := h.Curve(expected)
			if len(points) == 0 || len(points) > 200 {
				t.Fatalf("seed %d: %d points", seed, len(points))
			}
			for i, p := range points {
				if i > 0 && (p.Quantile <= points[i-1].Quantile || p.Value <= points[i-1].Value) {
					t.Fatalf("seed %d: %v after %v", seed, p, points[i-1])
				}
				if v, ok := h.QuantileOf(p.Quantile, expected); !ok || v != p.Value {
					t.Fatalf("seed %d: point %v, but the quantile is %d, %v", seed, p, v, ok)
				}
			}
			last := points[len(points)-1]
			if last.Value != h.Max() || last.Quantile != float64(h.Count())/float64(expected) {
				t.Fatalf("seed %d: curve ends at %v", seed, last)
			}
		}
		if h.Curve(h.Count()-1) != nil {
			t.Fatalf("seed %d: a curve over fewer than were recorded", seed)
		}
	}
}

// The distance between two neighbouring points is at most a fifth of the distance to 1, unless one slot holds more.
func TestCurveIsDense(t *testing.T) {
	h := new(Hist)
	for v := int64(0); v < 2000; v++ {
		h.RecordN(v, 1_000)
	}
	points := h.Curve(h.Count())
	for i := 1; i < len(points); i++ {
		a, b := points[i-1].Quantile, points[i].Quantile
		if b-a > (1-a)/ticksPerHalving+1.0/2000 {
			t.Errorf("nothing between %v and %v", a, b)
		}
	}
	if len(points) < 40 {
		t.Errorf("only %d points", len(points))
	}
	big := new(Hist)
	for v := int64(0); v < MaxValue; v += 1 + v/2000 {
		big.RecordN(v, 1+int64(1e12/float64(1+v)))
	}
	if n := len(big.Curve(big.Count())); n > 215 {
		t.Errorf("%d points for %d values", n, big.Count())
	}
}
