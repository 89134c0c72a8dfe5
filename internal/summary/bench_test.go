package summary_test

import (
	"fmt"
	"testing"

	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run/runtest"
	"github.com/mqlab/mqlab/internal/summary"
)

func BenchmarkComparison(b *testing.B) {
	r := runtest.Comparison(b)
	for b.Loop() {
		summary.Of(r)
	}
}

// BenchmarkMatrix is 20 points of three subjects, 300 trials.
func BenchmarkMatrix(b *testing.B) {
	var trials []runtest.Trial
	for point := range 20 {
		p := runtest.Params()
		p.Set = []plan.Assignment{{Key: "load.payload", Value: fmt.Sprintf("%dB", 64<<point)}}
		trials = append(trials, runtest.Repeated([]string{"mochi", "mosquitto", "nats"}, 5, point+1, p, nil)...)
	}
	r := runtest.Write(b, "matrix", trials)
	for b.Loop() {
		summary.Of(r)
	}
}
