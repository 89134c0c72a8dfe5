package hist

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// values returns n values of a shape that differs from seed to seed, spread over all magnitudes.
func values(seed uint64, n int) []int64 {
	rng := rand.New(rand.NewPCG(seed, 1))
	low, high := rng.Float64()*10, 10+rng.Float64()*18
	vs := make([]int64, n)
	for i := range vs {
		vs[i] = min(int64(math.Exp(low+rng.Float64()*(high-low))), MaxValue)
		if rng.IntN(50) == 0 {
			vs[i] = rng.Int64N(3)
		}
	}
	return vs
}

func record(h *Hist, vs []int64) *Hist {
	for _, v := range vs {
		h.Record(v)
	}
	return h
}

func oracle(vs []int64) *hdrhistogram.Histogram {
	o := hdrhistogram.New(1, MaxValue, significantDigits)
	for _, v := range vs {
		if err := o.RecordValue(v); err != nil {
			panic(err)
		}
	}
	return o
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-11*math.Abs(b) }

func TestAgreesWithHdrHistogram(t *testing.T) {
	for seed := range uint64(60) {
		n := 1 + int(seed*seed)
		vs := values(seed, n)
		h, o := record(New(), vs), oracle(vs)
		if h.Count() != o.TotalCount() || h.Min() != o.Min() || h.Max() != o.Max() {
			t.Fatalf("seed %d: count %d min %d max %d, want %d %d %d", seed, h.Count(), h.Min(), h.Max(), o.TotalCount(), o.Min(), o.Max())
		}
		if !near(h.Mean(), o.Mean()) || !near(h.StdDev(), o.StdDev()) {
			t.Fatalf("seed %d: mean %v ± %v, want %v ± %v", seed, h.Mean(), h.StdDev(), o.Mean(), o.StdDev())
		}
		// HdrHistogram for Go rounds the rank where we take the next one up: ask in the middle between two roundings.
		for r := 1; r <= n; r += 1 + n/300 {
			q := (float64(r) - 0.25) / float64(n)
			if got, want := h.Quantile(q), o.ValueAtPercentile(100*q); got != want {
				t.Fatalf("seed %d: quantile %v of %d = %d, want %d", seed, q, n, got, want)
			}
		}
	}
}

func TestQuantileIsTheValueOfThatRank(t *testing.T) {
	for seed := range uint64(30) {
		vs := values(seed, 997)
		h := record(new(Hist), vs)
		slices.Sort(vs)
		for r := 1; r <= len(vs); r++ {
			want := highest(int(slotOf(vs[r-1])))
			if got := h.Quantile(float64(r) / float64(len(vs))); got != want {
				t.Fatalf("seed %d: rank %d = %d, want %d", seed, r, got, want)
			}
		}
	}
}

func TestEveryValueFallsIntoItsSlot(t *testing.T) {
	check := func(v int64) {
		t.Helper()
		slot := int(slotOf(v))
		low, width := lowest(slot)
		if v < low || v >= low+width {
			t.Fatalf("%d in slot %d of [%d, %d)", v, slot, low, low+width)
		}
		if v >= 1000 && float64(width-1)/float64(v) > 0.001 {
			t.Fatalf("slot of %d is %d wide: less than three digits", v, width)
		}
	}
	for v := range int64(100_000) {
		check(v)
	}
	for shift := 11; shift < 42; shift++ {
		for d := int64(-3); d <= 3; d++ {
			if v := int64(1)<<shift + d; v <= MaxValue {
				check(v)
			}
		}
	}
	check(MaxValue)
	end := int64(0)
	for slot := range slots {
		low, width := lowest(slot)
		if low != end {
			t.Fatalf("slot %d starts at %d, the one before ends at %d", slot, low, end)
		}
		end = low + width
	}
	if o := oracle([]int64{MaxValue}); highest(int(slotOf(MaxValue))) != o.Max() {
		t.Fatalf("slot of one hour ends at %d, want %d", highest(int(slotOf(MaxValue))), o.Max())
	}
}

func TestOutOfRange(t *testing.T) {
	for name, h := range map[string]*Hist{"grown": new(Hist), "preallocated": New()} {
		if h.Record(-1) || h.RecordN(-5, 3) || h.RecordN(5, -3) || h.Count() != 0 {
			t.Errorf("%s: a negative value or count was recorded", name)
		}
		if !h.Record(0) || h.Min() != 0 || h.Max() != 0 || h.Quantile(1) != 0 || h.Count() != 1 {
			t.Errorf("%s: 0 ns is not counted as 0", name)
		}
		if !h.Record(MaxValue) || h.Overflow() != 0 {
			t.Errorf("%s: one hour is in range", name)
		}
		if !h.Record(MaxValue+1) || !h.RecordN(math.MaxInt64, 2) || h.Overflow() != 3 || h.Count() != 5 {
			t.Errorf("%s: overflow %d of %d, want 3 of 5", name, h.Overflow(), h.Count())
		}
		if h.Max() <= MaxValue || h.Quantile(0.6) <= MaxValue || h.Quantile(0.4) < MaxValue {
			t.Errorf("%s: values above one hour must rank above it", name)
		}
	}
}

func TestEmpty(t *testing.T) {
	h := new(Hist)
	if h.Count() != 0 || h.Min() != 0 || h.Max() != 0 || h.Mean() != 0 || h.StdDev() != 0 || h.Quantile(0.5) != 0 || h.Overflow() != 0 || h.Curve(10) != nil {
		t.Error("an empty histogram must read as zero")
	}
	if _, ok := h.QuantileOf(0, 10); ok {
		t.Error("no message arrived, and yet there is a quantile")
	}
}

func TestMergeResetClone(t *testing.T) {
	for seed := range uint64(20) {
		a, b := values(seed, 500), values(seed+1000, 700)
		both := record(New(), append(slices.Clone(a), b...))
		for name, h := range map[string]*Hist{"grown": new(Hist), "preallocated": New()} {
			record(h, values(seed+7, 100))
			h.Reset()
			if h.Count() != 0 || h.Max() != 0 || h.Quantile(1) != 0 || !same(h, new(Hist)) {
				t.Fatalf("%s: not empty after reset", name)
			}
			record(h, a)
			c := h.Clone()
			h.Merge(record(new(Hist), b))
			if !same(h, both) {
				t.Fatalf("%s: merged histogram differs from one that recorded all", name)
			}
			if !same(c, record(New(), a)) {
				t.Fatalf("%s: a clone changed with its original", name)
			}
		}
	}
}

// same compares every slot.
func same(a, b *Hist) bool {
	type slotCount struct {
		slot  int
		count int64
	}
	list := func(h *Hist) (l []slotCount) {
		h.each(func(slot int, n int64) bool {
			l = append(l, slotCount{slot, n})
			return true
		})
		return l
	}
	return a.Count() == b.Count() && slices.Equal(list(a), list(b))
}

func TestRecordDoesNotAllocate(t *testing.T) {
	h, vs := New(), values(3, 1000)
	if n := testing.AllocsPerRun(100, func() { record(h, vs) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	used := record(new(Hist), vs)
	if n := testing.AllocsPerRun(100, func() { used.Reset(); record(used, vs); h.Merge(used) }); n != 0 {
		t.Errorf("%v allocations after the range is known", n)
	}
}

func BenchmarkRecord(b *testing.B) {
	h, vs := New(), values(5, 4096)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		h.Record(vs[i%len(vs)])
	}
}

func BenchmarkMerge(b *testing.B) {
	h, o := New(), record(new(Hist), values(5, 4096))
	b.ReportAllocs()
	for b.Loop() {
		h.Merge(o)
	}
}

func BenchmarkMarshalText(b *testing.B) {
	h := record(New(), values(5, 10_000))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := h.MarshalText(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUnmarshalText(b *testing.B) {
	text, err := record(New(), values(5, 10_000)).MarshalText()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := new(Hist).UnmarshalText(text); err != nil {
			b.Fatal(err)
		}
	}
}
