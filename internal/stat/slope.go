package stat

import (
	"math"
	"slices"
)

// trend is how much y grows when x grows by one: its estimate, and an interval that holds it with 95 % confidence.
type trend struct {
	Value, Low, High float64
}

// Slope returns the median of the slopes between all pairs of points, with the interval of Sen ("Estimates of the regression coefficient
// based on Kendall's tau", 1968): from the ranks of the slopes at ± 1.96 standard deviations of Kendall's statistic. Unlike a least-squares
// line it is not led by a few outliers or steps. ok is false with less than ten points or where x does not grow.
func Slope(x, y []float64) (t trend, ok bool) {
	n := len(x)
	if n < 10 || len(y) != n {
		return trend{}, false
	}
	var slopes []float64
	for i := range n {
		for j := range i {
			if x[i] != x[j] {
				slopes = append(slopes, (y[i]-y[j])/(x[i]-x[j]))
			}
		}
	}
	if len(slopes) == 0 {
		return trend{}, false
	}
	slices.Sort(slopes)
	half := 1.96 * math.Sqrt(float64(n*(n-1)*(2*n+5))/18)
	at := func(rank float64) float64 {
		return slopes[min(max(int(math.Round(rank)), 0), len(slopes)-1)]
	}
	pairs := float64(len(slopes))
	return trend{Value: Median(slopes), Low: at((pairs-half)/2 - 1), High: at((pairs + half) / 2)}, true
}
