package stat

import (
	"math/rand/v2"
	"testing"
)

// TestSlope: the interval holds the true slope about as often as it says, and outliers do not lead it.
func TestSlope(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const trials = 400
	held, wrong := 0, 0
	for range trials {
		var x, y, flat []float64
		for i := range 30 {
			x, y, flat = append(x, float64(i)), append(y, 3*float64(i)+10*random.NormFloat64()), append(flat, random.NormFloat64())
		}
		y[random.IntN(30)] += 1e6
		if s, ok := Slope(x, y); ok && s.Low <= 3 && 3 <= s.High && s.Low < s.Value && s.Value < s.High {
			held++
		}
		if s, ok := Slope(x, flat); !ok || s.Low > 0 {
			wrong++
		}
	}
	if held < trials*92/100 || wrong > trials*5/100 {
		t.Errorf("held %d of %d, growth seen in %d without any", held, trials, wrong)
	}
	same := make([]float64, 20)
	if s, ok := Slope([]float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}, same); !ok || s != (trend{}) {
		t.Errorf("a constant: %+v %v", s, ok)
	}
	for _, x := range [][]float64{nil, {1, 2}, same} {
		if _, ok := Slope(x, x); ok {
			t.Errorf("a slope over %v", x)
		}
	}
}
