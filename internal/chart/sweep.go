package chart

import (
	"math"
	"slices"
)

// Sweep is a chart of what grows with a parameter, such as the size of a payload: both axes are logarithmic.
type Sweep struct {
	Labels
	X, Y      Axis
	Lines     []Series
	Low, High float64 // what the vertical axis must hold at least, so that several charts compare; 0 = the lines decide
}

// SVG draws the chart. The horizontal axis has a tick for every value that occurs, as far as there is room.
func (s *Sweep) SVG() string {
	lo, hi := math.Inf(1), math.Inf(-1)
	left, right := math.Inf(1), math.Inf(-1)
	var values []float64
	for _, l := range s.Lines {
		for _, p := range l.Points {
			if !(p.X > 0) || !(p.Y > 0) || !finite(p.X) || !finite(p.Y) {
				continue
			}
			lo, hi = span(lo, hi, p.Y)
			left, right = span(left, right, p.X)
			values = append(values, p.X)
		}
	}
	if len(values) == 0 {
		return ""
	}
	for _, v := range []float64{s.Low, s.High} {
		if v > 0 {
			lo, hi = span(lo, hi, v)
		}
	}
	if right == left {
		left, right = left/2, right*2
	}
	room := math.Pow(right/left, 0.06) // for half of a label beyond the first and the last value
	left, right = left/room, right*room
	c := new(canvas)
	ys, ticks := logarithmic(lo, hi)
	words := s.Y.Ticks.words(ticks)
	f := newFrame(c, topLine, 230, words)
	f.ys, f.xs = ys, scale{left, right, math.Log10}
	f.vertical(s.Y.Name, topLine, ticks, words)
	var at []tick
	slices.Sort(values)
	for _, v := range slices.Compact(values) {
		at = append(at, tick{v, s.X.Ticks.label(v)})
	}
	y := f.horizontal(s.X.Name, at)
	var names []string
	for i := range s.Lines {
		s.line(f, i)
		names = append(names, s.Lines[i].Name)
	}
	return c.finish(s.Labels, "sweep", c.key(y, names)+edge)
}

func (s *Sweep) line(f *frame, n int) {
	var spots []spot
	gap := false
	for _, p := range s.Lines[n].Points {
		if !(p.X > 0) || !(p.Y > 0) || !finite(p.X) || !finite(p.Y) {
			gap = true
			continue
		}
		spots = append(spots, spot{f.px(p.X), f.py(p.Y), s.X.write(p.X) + ": " + s.Y.write(p.Y), gap && len(spots) > 0})
		gap = false
	}
	if len(spots) > 0 {
		f.c.series(n, s.Lines[n].Name, spots)
	}
}
