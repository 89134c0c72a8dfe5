package hist

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"
)

// TestHGRMIsWhatHdrHistogramPrints compares with the text of HdrHistogram's own Go package.
func TestHGRMIsWhatHdrHistogramPrints(t *testing.T) {
	for name, draw := range map[string]func(*rand.Rand) int64{
		"lognormal": func(r *rand.Rand) int64 { return int64(60_000 * math.Exp(0.5*r.NormFloat64())) },
		"one value": func(*rand.Rand) int64 { return 1500 },
		"uniform":   func(r *rand.Rand) int64 { return 1 + r.Int64N(2_000_000_000) },
		"small":     func(r *rand.Rand) int64 { return 1 + r.Int64N(3) },
	} {
		for _, n := range []int{1, 2, 10, 1000, 50_000} {
			rng := rand.New(rand.NewPCG(1, uint64(n)))
			ours, theirs := New(), hdr.New(1, MaxValue, 3)
			for range n {
				v := draw(rng)
				ours.Record(v)
				if err := theirs.RecordValue(v); err != nil {
					t.Fatal(err)
				}
			}
			var got, want bytes.Buffer
			if err := ours.WriteHGRM(&got, int64(n)); err != nil {
				t.Fatal(err)
			}
			if _, err := theirs.PercentilesPrint(&want, ticksPerHalving, 1000); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.String(), got.String()); diff != "" {
				t.Errorf("%s, %d values (-theirs +ours):\n%s", name, n, diff)
			}
		}
	}
}

func TestHGRMOfLostMessagesEndsEarly(t *testing.T) {
	h := New()
	h.RecordN(1000, 90)
	var b bytes.Buffer
	if err := h.WriteHGRM(&b, 100); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	if !strings.Contains(text, "     0.900000           90") || strings.Contains(text, "inf") || strings.Contains(text, "Mean") || strings.Contains(text, "Max ") || !strings.Contains(text, "#[Lost    =           10, Total count    =           90]") {
		t.Error(text)
	}
	if err := h.WriteHGRM(&b, 80); err == nil {
		t.Error("more values than expected were written")
	}
}

func TestCountAtMost(t *testing.T) {
	h := New()
	for v := range int64(1000) {
		h.Record(v)
	}
	for v, want := range map[int64]int64{-1: 0, 0: 1, 499: 500, 5000: 1000} {
		if got := h.CountAtMost(v); got != want {
			t.Errorf("%d values are at most %d, want %d", got, v, want)
		}
	}
	if s := h.Sum(); math.Abs(s-499_500) > 1 {
		t.Errorf("sum %v", s)
	}
}
