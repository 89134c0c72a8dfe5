package stat_test

import (
	"math"
	"testing"

	"github.com/mqlab/mqlab/internal/stat"
)

// TestKnee: the knee of the waiting time of M/M/1, 1/(1-x) on 0…0.99, is where its slope is that of the diagonal.
func TestKnee(t *testing.T) {
	var x, y []float64
	for i := range 100 {
		x = append(x, float64(i)/100)
		y = append(y, 1/(1-x[i]))
	}
	want := 1 - 1/math.Sqrt((y[99]-y[0])/x[99]) // y' = 1/(1-x)² equals the slope of the diagonal
	if at, ok := stat.Knee(x, y); !ok || math.Abs(x[at]-want) > 0.01 {
		t.Errorf("knee at %v %v, want %.3f", x[at], ok, want)
	}
}

func TestKneeOfAnOverload(t *testing.T) {
	x := []float64{1000, 2000, 4000, 8000, 9000, 10000, 16000}
	y := []float64{2e5, 2e5, 2.1e5, 2.5e5, 3e5, 9e6, 2e9}
	if at, ok := stat.Knee(x, y); !ok || x[at] != 10000 {
		t.Errorf("%d %v: latency takes off behind 10000", at, ok)
	}
}

func TestNoKnee(t *testing.T) {
	for name, y := range map[string][]float64{
		"line": {1, 2, 3, 4, 5}, "flat": {1, 1, 1, 1, 1}, "falling": {5, 4, 3, 2, 1}, "concave": {0, 5, 8, 9, 9.5}, "short": {1, 1, 9},
	} {
		if at, ok := stat.Knee([]float64{1, 2, 3, 4, 5}[:len(y)], y); ok {
			t.Errorf("%s has a knee at %d", name, at)
		}
	}
}
