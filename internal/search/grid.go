package search

import "math"

// Grid is what is searched: values from From to To, each Step larger than the one before, as a part of it.
type Grid struct {
	From, To float64
	Step     float64 // 0.05 = 5 %
	Unit     float64 // every value is a whole number of these; 0 = 1
}

// maxValues bounds the length of a grid.
const maxValues = 10_000

// Values are the values of the grid, ascending, rounded to three digits where that keeps them apart. The last one is To.
func (g Grid) Values() []float64 {
	unit := g.Unit
	if unit <= 0 {
		unit = 1
	}
	last := math.Floor(g.To/unit) * unit
	v := max(math.Ceil(g.From/unit), 1) * unit
	if v > last {
		return []float64{v}
	}
	var values []float64
	for v < last && len(values) < maxValues {
		values = append(values, v)
		next := v * (1 + g.Step)
		rounded := math.Round(threeDigits(next)/unit) * unit
		if rounded <= v {
			rounded = v + unit
		}
		v = rounded
	}
	return append(values, last)
}

// threeDigits rounds v to three significant digits.
func threeDigits(v float64) float64 {
	scale := math.Pow(10, math.Floor(math.Log10(v))-2)
	return math.Round(v/scale) * scale
}
