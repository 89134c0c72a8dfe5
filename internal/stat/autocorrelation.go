package stat

import (
	"cmp"
	"math"
	"slices"
)

// Autocorrelation tells how alike values are to those a number of steps before them.
type Autocorrelation struct {
	Lags  []float64 // of lag 1, 2, …
	Bound float64   // what chance alone exceeds at any of these lags in one case of twenty
	Peaks []int     // lags above Bound and above all their neighbours, the strongest first
}

const (
	mostPeaks = 5
	// fewestPairs is how many pairs of values a lag needs.
	fewestPairs = 50
)

// Autocorrelate computes the autocorrelation of values at lags 1 to most, or to a quarter of the values if that is less. A value that is
// no number is missing, and so are its pairs. Values that do not vary have none, and neither have too few. The bound is that of white
// noise, z/√n (Box, Jenkins), for all the lags together (Bonferroni).
func Autocorrelate(values []float64, most int) *Autocorrelation {
	n, mean := 0, 0.0
	for _, v := range values {
		if !math.IsNaN(v) {
			n++
			mean += (v - mean) / float64(n)
		}
	}
	variance := 0.0
	deviations := make([]float64, len(values))
	for i, v := range values {
		if deviations[i] = v - mean; !math.IsNaN(v) {
			variance += deviations[i] * deviations[i] / float64(n)
		}
	}
	if most = min(most, len(values)/4); n < fewestPairs || most < 1 || !(variance > 1e-12*mean*mean) {
		return nil
	}
	a := &Autocorrelation{Lags: make([]float64, most), Bound: normalQuantile(1-0.025/float64(most)) / math.Sqrt(float64(n))}
	for lag := 1; lag <= most; lag++ {
		sum, pairs := 0.0, 0
		for i := lag; i < len(deviations); i++ {
			if p := deviations[i] * deviations[i-lag]; !math.IsNaN(p) {
				sum += p
				pairs++
			}
		}
		if pairs >= fewestPairs {
			a.Lags[lag-1] = sum / float64(pairs) / variance
		}
	}
	a.peaks()
	return a
}

// peaks finds lags above the bound that are higher than both neighbours: a rhythm. Values that only change slowly have no such lag.
func (a *Autocorrelation) peaks() {
	for i := 1; i < len(a.Lags)-1; i++ {
		if r := a.Lags[i]; r > a.Bound && r > a.Lags[i-1] && r >= a.Lags[i+1] && r-min(a.Lags[i-1], a.Lags[i+1]) > a.Bound {
			a.Peaks = append(a.Peaks, i+1)
		}
	}
	slices.SortStableFunc(a.Peaks, func(x, y int) int { return cmp.Compare(a.Lags[y-1], a.Lags[x-1]) })
	a.Peaks = a.Peaks[:min(len(a.Peaks), mostPeaks)]
}

// normalQuantile is the quantile of the standard normal distribution.
func normalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }
