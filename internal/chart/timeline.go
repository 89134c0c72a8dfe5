package chart

import "math"

// Timeline is a chart of several series over time.
type Timeline struct {
	Labels
	Y      Axis
	Series []Series // X in seconds
	Phases []Phase
	Marks  []Mark
	// From and To are the span of time shown; both 0 = that of the series.
	From, To float64
	// Most is the least value that the vertical axis must reach, so that several charts can share a scale.
	Most float64
}

// SVG draws the chart. The vertical axis starts at zero.
func (t *Timeline) SVG() string {
	from, to, low, high, any := t.From, t.To, 0.0, t.Most, false
	if from == 0 && to == 0 {
		from, to = math.Inf(1), math.Inf(-1)
	}
	for _, s := range t.Series {
		for _, p := range s.Points {
			if !finite(p.X) || !finite(p.Y) {
				continue
			}
			low, high = span(low, high, p.Y)
			any = true
			if t.From == 0 && t.To == 0 {
				from, to = span(from, to, p.X)
			}
		}
	}
	if !any {
		return ""
	}
	c := new(canvas)
	ys, ticks := t.Y.Ticks.even(low, headroom*high, 5)
	words := t.Y.Ticks.words(ticks)
	strip := stripHeight(t.Phases, t.Marks)
	f := newFrame(c, topLine+strip, 150, words)
	f.xs, f.ys = overTime(from, to), ys
	f.phases(t.Phases, topLine)
	f.vertical(t.Y.Name, topLine, ticks, words)
	f.marks(t.Marks, f.y-markRow/2)
	y := f.horizontal(secondsName, seconds(f.xs.lo, f.xs.hi))
	var names []string
	for i, s := range t.Series {
		f.timeline(i, &s, &t.Y)
		names = append(names, s.Name)
	}
	y = c.key(y, names)
	return c.finish(t.Labels, "timeline", c.markKey(y-8, t.Marks)+8+edge)
}

// headroom keeps lines off the upper edge.
const headroom = 1.04

const secondsName = "seconds since measuring began"

func (f *frame) timeline(n int, s *Series, y *Axis) {
	var spots []spot
	gap := false
	for _, p := range s.Points {
		if !finite(p.X) || !finite(p.Y) || p.X < f.xs.lo || p.X > f.xs.hi {
			gap = true
			continue
		}
		spots = append(spots, spot{f.px(p.X), f.py(p.Y), tenths(p.X) + " s: " + y.write(p.Y), gap})
		gap = false
	}
	if len(spots) > 0 {
		f.c.series(n, s.Name, thin(spots, 2.5))
	}
}
