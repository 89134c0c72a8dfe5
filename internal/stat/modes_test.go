package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// gathered makes n values around each of some places, each spread by a part of its place.
func gathered(rng *rand.Rand, spread float64, n int, places ...float64) (values []float64) {
	for _, p := range places {
		for range n {
			values = append(values, p*math.Exp(spread*rng.NormFloat64()))
		}
	}
	return values
}

func TestModes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	uniform := make([]float64, 2000)
	tail := make([]float64, 2000)
	for i := range uniform {
		uniform[i] = 1e6 * (1 + 9*rng.Float64())
		tail[i] = 1e5 * math.Exp(math.Abs(rng.NormFloat64()))
	}
	for name, c := range map[string]struct {
		values []float64
		want   []float64 // places
	}{
		"none":          {nil, nil},
		"constant":      {[]float64{7, 7, 7, 7}, []float64{7}},
		"one":           {gathered(rng, 0.3, 1000, 1e6), []float64{1e6}},
		"two":           {gathered(rng, 0.02, 500, 1e6, 42e6), []float64{1e6, 42e6}},
		"rare second":   {append(gathered(rng, 0.1, 1960, 3e5), gathered(rng, 0.01, 40, 41e6)...), []float64{3e5, 41e6}},
		"multiples":     {gathered(rng, 0.005, 250, 10e6, 20e6, 30e6, 40e6, 50e6), []float64{10e6, 20e6, 30e6, 40e6, 50e6}},
		"uniform":       {uniform, []float64{5.5e6}},
		"a long tail":   {tail, []float64{1.95e5}},
		"an outlier":    {append(gathered(rng, 0.1, 999, 1e6), 9e8), []float64{1e6}},
		"49 samples":    {gathered(rng, 0.05, 49, 1e6), []float64{1e6}},
		"none positive": {[]float64{-3, -2, -1}, []float64{-2}},
		"zeros too":     {append(gathered(rng, 0.01, 100, 50), make([]float64, 100)...), []float64{50}},
	} {
		t.Run(name, func(t *testing.T) {
			modes := Modes(c.values)
			total := 0
			for i, m := range modes {
				if total += m.Count; i < len(c.want) && len(modes) == len(c.want) && name != "zeros too" && math.Abs(m.At/c.want[i]-1) > 0.15 {
					t.Errorf("mode %d at %g, want %g", i, m.At, c.want[i])
				}
				if m.Low > m.At || m.At > m.High || i > 0 && m.Low < modes[i-1].High {
					t.Errorf("mode %+v is out of order", m)
				}
			}
			if len(modes) != len(c.want) || total != len(c.values) {
				t.Errorf("%d modes of %d values: %+v, want %v", len(modes), total, modes, c.want)
			}
		})
	}
}

// TestModesOfNoise: what has one mode is divided in hardly any case, however few values there are.
func TestModesOfNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	divided := 0
	for range 300 {
		n := 49 + rng.IntN(2000)
		values := make([]float64, n)
		for i := range values {
			values[i] = 1e6 * (1 + 3*rng.Float64())
		}
		if len(Modes(values)) > 1 {
			divided++
		}
	}
	if divided > 3 {
		t.Errorf("%d of 300 uniform samples are divided", divided)
	}
}

func TestAutocorrelate(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	noise := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = rng.NormFloat64()
		}
		return v
	}
	spikes := noise(3000)
	for i := 10; i < len(spikes); i += 60 {
		spikes[i] += 50
	}
	drift := noise(1000)
	for i := range drift {
		drift[i] += float64(i)
	}
	a := Autocorrelate(spikes, 1300)
	if len(a.Peaks) == 0 || a.Peaks[0]%60 != 0 || len(a.Lags) != 750 {
		t.Errorf("spikes every 60: peaks %v of %d lags", a.Peaks, len(a.Lags))
	}
	a = Autocorrelate(drift, 100)
	if len(a.Peaks) != 0 || a.Lags[0] < 0.9 {
		t.Errorf("drift: peaks %v, lag 1 %v", a.Peaks, a.Lags[0])
	}
	missing := noise(1000)
	for i := range missing {
		if missing[i] += 3 * math.Cos(2*math.Pi*float64(i)/8); i%7 == 3 {
			missing[i] = math.NaN()
		}
	}
	if a = Autocorrelate(missing, 100); len(a.Peaks) == 0 || a.Peaks[0]%8 != 0 || math.IsNaN(a.Lags[6]) {
		t.Errorf("period 8 with gaps: %v", a.Peaks)
	}
	false_ := 0
	for range 200 {
		a := Autocorrelate(noise(1000), 250)
		if len(a.Peaks) > 0 {
			false_++
		}
	}
	if false_ > 20 { // one in twenty by the bound
		t.Errorf("%d of 200 samples of noise have a rhythm", false_)
	}
	for name, v := range map[string][]float64{"few": noise(49), "none": nil, "constant": make([]float64, 100)} {
		if Autocorrelate(v, 10) != nil {
			t.Errorf("%s: there is an autocorrelation", name)
		}
	}
}
