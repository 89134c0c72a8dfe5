package summary_test

import (
	"testing"

	"github.com/mqlab/mqlab/internal/run/runtest"
	"github.com/mqlab/mqlab/internal/summary"
)

// TestPooled: a percentile for which each repetition has too few messages is that of all of them together, with an interval, and not
// ranked; where all together have too few there is none.
func TestPooled(t *testing.T) {
	for repetitions, known := range map[int]bool{3: false, 4: true} { // of 3,000 messages each; p99.9 needs 10,000
		s := summary.Of(runtest.Write(t, "pooled", runtest.Repeated([]string{"mochi"}, repetitions, 1, runtest.Params(), nil)))
		if s.Trials[0].Latency.Response.P999 != nil {
			t.Fatal("one trial has a p99.9")
		}
		found := false
		for i := range s.Comparisons {
			c := &s.Comparisons[i]
			if c.Metric != "response_p999" {
				continue
			}
			found = true
			one := standing(t, c, "mochi")
			if one.Median == nil || one.Pooled != 12_000 || one.Repetitions != 4 || one.Unranked == "" || len(one.Excluded) > 0 || len(c.Groups) > 0 {
				t.Errorf("%d repetitions: %+v", repetitions, one)
			}
			if one.CILow != nil && (*one.CILow > *one.Median || *one.CIHigh < *one.Median) {
				t.Errorf("interval %v–%v around %v", *one.CILow, *one.CIHigh, *one.Median)
			}
		}
		if found != known {
			t.Errorf("%d repetitions: compared %v, want %v", repetitions, found, known)
		}
	}
}
