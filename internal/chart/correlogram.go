package chart

import "math"

// Correlogram is a chart of how alike values are to those some time before.
type Correlogram struct {
	Labels
	Step   float64   // seconds from one value to the next
	Values []float64 // at a distance of one step, two, …
	Bound  float64   // what chance alone does not exceed
	Peaks  []Level   // distances that stand out, in seconds
}

// SVG draws the chart: a stem for each distance, the bound on both sides of zero.
func (r *Correlogram) SVG() string {
	low, high := min(0, -r.Bound), max(r.Bound, 0.1)
	for _, v := range r.Values {
		if finite(v) {
			low, high = math.Min(low, v), math.Max(high, v)
		}
	}
	if len(r.Values) == 0 || !(r.Step > 0) || !finite(r.Step) || !finite(low) || !finite(high) {
		return ""
	}
	c := new(canvas)
	ys, ticks := Plain.even(max(low, -1), min(high*headroom, 1.05), 5)
	words := Plain.words(ticks)
	f := newFrame(c, topLine, 110, words)
	f.xs, f.ys = overTime(0, r.Step*float64(len(r.Values)+1)), ys
	f.vertical("likeness (autocorrelation)", topLine, ticks, words)
	end := f.horizontal("seconds between two messages", seconds(f.xs.lo, f.xs.hi))
	zero := f.py(0)
	var stems string
	for i, v := range r.Values {
		if finite(v) {
			stems += "M" + num(f.px(r.Step*float64(i+1))) + " " + num(zero) + "V" + num(f.py(max(-1, min(1, v))))
		}
	}
	c.raw(`<g class="s s0" data-s="0"><path class="thin" d="%s"/></g>`, stems)
	for _, b := range []float64{r.Bound, -r.Bound} {
		if finite(b) && b >= f.ys.lo && b <= f.ys.hi {
			c.line(f.x, f.py(b), f.right(), f.py(b), "level")
		}
	}
	for _, p := range r.Peaks {
		if p.At >= f.xs.lo && p.At <= f.xs.hi {
			c.line(f.px(p.At), f.y, f.px(p.At), f.bottom(), "edge")
			f.beside(f.px(p.At), p.Name)
		}
	}
	return c.finish(r.Labels, "correlogram", end+edge)
}
