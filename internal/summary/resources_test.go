package summary

import (
	"testing"

	"github.com/mqlab/mqlab/internal/monitor"
)

// TestCounterWithinAWindow: a counter that grew by 8 in the first ten seconds, by 2 in the next, and not at all after.
func TestCounterWithinAWindow(t *testing.T) {
	const s = int64(1e9)
	samples := []monitor.Sample{{T: 10 * s, CPUSeconds: 1}, {T: 20 * s, CPUSeconds: 9}, {T: 30 * s, CPUSeconds: 11}, {T: 40 * s, CPUSeconds: 11}}
	for _, c := range []struct {
		from, to   float64
		used, most float64 // below 0 = not known
	}{
		{10, 40, 10, 80},
		{10, 20, 8, 80},
		{15, 25, 5, 80},
		{20, 25, 1, 20},
		{28, 35, 0.4, 20},
		{30, 40, 0, 0},
		{9, 20, -1, 80},
		{30, 41, -1, 0},
		{9.9, 40.1, 10 * 30.2 / 30, 80}, // as much of the little that no sample saw
		{50, 60, -1, -1},
	} {
		w := window{int64(c.from * 1e9), int64(c.to * 1e9)}
		used := w.perSecond(samples, cpuSeconds)
		if used != nil {
			used = new(*used * w.seconds())
		}
		if (used == nil) != (c.used < 0) || used != nil && (*used < c.used-1e-9 || *used > c.used+1e-9) {
			t.Errorf("%v–%v: used %v, want %v", c.from, c.to, used, c.used)
		}
		if most := w.busiest(samples); (most == nil) != (c.most < 0) || most != nil && *most != c.most {
			t.Errorf("%v–%v: busiest %v, want %v", c.from, c.to, most, c.most)
		}
	}
	for _, few := range [][]monitor.Sample{nil, samples[:1]} {
		if v := (window{10 * s, 10*s + 1}).perSecond(few, cpuSeconds); v != nil {
			t.Errorf("load %v from %d samples", *v, len(few))
		}
	}
	short := []monitor.Sample{{T: 0}, {T: s / 100, CPUSeconds: 0.01}} // one tick
	if v := (window{0, s}).busiest(short); v != nil {
		t.Errorf("%v %% from one tick", *v)
	}
}
