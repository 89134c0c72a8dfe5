package chart

import (
	"math"
	"slices"
)

// Load is what one load led to.
type Load struct {
	At        float64 // along the horizontal axis: offered messages per second, or what else was varied
	Delivered float64 // messages per second; of expected deliveries one per message
	P99       float64 // nanoseconds; no number: not known, or among lost messages
}

// Path is one subject under growing load. What is no number was not found.
type Path struct {
	Name        string
	Loads       []Load  // ascending in At
	Sustainable float64 // the largest load that keeps all limits
	Knee        float64 // the load from which on latency grows much faster than before
	Peak        Point   // the load with the highest rate of deliveries, and that rate
}

// Saturation is a chart of two plots: what was delivered and the 99th percentile of latency, by load.
type Saturation struct {
	Labels
	Latency string // name of the axis of P99
	// Load is the horizontal axis. Without a name it is what was offered per second, and a dashed diagonal is where all of it is
	// delivered; with a name it is logarithmic, and there is no diagonal.
	Load  Axis
	Paths []Path
}

// SVG draws the chart. A solid vertical line marks what is sustained, a dotted one a knee, a ring the peak of deliveries.
func (s *Saturation) SVG() string {
	low, high, most, lo, hi := math.Inf(1), 0.0, 0.0, math.Inf(1), math.Inf(-1)
	for _, p := range s.Paths {
		_, most = span(0, most, p.Peak.Y)
		for _, l := range p.Loads {
			low, high = span(low, high, l.At)
			_, most = span(0, most, l.Delivered)
			if l.P99 > 0 {
				lo, hi = span(lo, hi, l.P99)
			}
		}
	}
	if high == 0 {
		return ""
	}
	load, xs, xTicks := s.loads(low, high)
	rate, p99 := Axis{Name: "delivered per second"}, Axis{Name: s.Latency, Ticks: Duration}
	evenScale, evenTicks := Plain.even(0, max(most, xs.diagonal), 5)
	logScale, logTicks := logarithmic(lo, hi)
	rateWords, timeWords := Plain.words(evenTicks), Duration.words(logTicks)
	c := new(canvas)
	upper := newFrame(c, topLine, 170, append(append([]string{}, rateWords...), timeWords...))
	upper.ys, upper.xs = evenScale, xs.scale
	upper.vertical(rate.Name, upper.y, evenTicks, rateWords)
	if xs.diagonal > 0 {
		diagonal := min(xs.hi, evenScale.hi)
		c.line(upper.px(0), upper.py(0), upper.px(diagonal), upper.py(diagonal), "ideal")
	}
	y := upper.horizontal(load.Name, xTicks)
	lower := &frame{c: c, x: upper.x, y: y + topLine + 6, w: upper.w, h: 130, xs: xs.scale, ys: logScale}
	lower.vertical(p99.Name, lower.y, logTicks, timeWords)
	y = lower.horizontal(load.Name, xTicks)
	var names []string
	for i := range s.Paths {
		p := &s.Paths[i]
		names = append(names, p.Name)
		upper.path(i, p, &load, &rate, func(l Load) float64 { return l.Delivered })
		lower.path(i, p, &load, &p99, func(l Load) float64 { return l.P99 })
		name := shorten(p.Name, 0.3*upper.w)
		upper.upright(i, p.Sustainable, "sustained", name+": sustainable "+load.write(p.Sustainable))
		lower.upright(i, p.Sustainable, "sustained", "")
		upper.upright(i, p.Knee, "knee", name+": knee "+load.write(p.Knee))
		lower.upright(i, p.Knee, "knee", "")
		upper.peak(i, p.Peak)
	}
	y = c.key(y, names)
	return c.finish(s.Labels, "saturation", c.marked(y, s.Paths)+edge)
}

// reach is a horizontal scale, and how far a diagonal goes on it; 0 = there is none.
type reach struct {
	scale
	diagonal float64
}

// loads is the horizontal axis.
func (s *Saturation) loads(low, high float64) (load Axis, xs reach, at []tick) {
	load = s.Load
	var ticks []float64
	if load.Name == "" {
		load = Axis{Name: "offered per second", Value: func(v float64) string { return grouped(v) + "/s" }}
		xs.diagonal = high
		xs.scale, ticks = Plain.even(0, high, 5)
	} else {
		xs.scale, ticks = logarithmic(low, high)
	}
	for i, w := range load.Ticks.words(ticks) {
		at = append(at, tick{ticks[i], w})
	}
	return load, xs, at
}

// marked says what the marks stand for, of those that are there.
func (c *canvas) marked(y float64, paths []Path) float64 {
	has := func(of func(*Path) float64) bool {
		return slices.ContainsFunc(paths, func(p Path) bool { return finite(of(&p)) && of(&p) > 0 })
	}
	var words, classes []string
	for _, m := range []struct {
		words, class string
		of           func(*Path) float64
	}{
		{"sustainable", "sustained", func(p *Path) float64 { return p.Sustainable }},
		{"knee of p99", "knee", func(p *Path) float64 { return p.Knee }},
		{"peak", "peak", func(p *Path) float64 { return p.Peak.Y }},
	} {
		if has(m.of) {
			words, classes = append(words, m.words), append(classes, m.class)
		}
	}
	if len(words) == 0 {
		return y
	}
	return c.names(y, words, func(i int, x, y, _ float64, _, _ string) {
		c.raw(`<g>`)
		if classes[i] == "peak" {
			c.ring(x+12, y-0.33*em)
			return
		}
		c.line(x+12, y-em, x+12, y+2, classes[i])
	})
}

func (c *canvas) ring(x, y float64) {
	c.raw(`<circle class="peak" cx="%s" cy="%s" r="6.5"/>`, num(x), num(y))
}

// peak draws a ring around the highest rate of deliveries.
func (f *frame) peak(n int, p Point) {
	if !finite(p.X) || !finite(p.Y) || p.X <= 0 || p.Y <= 0 {
		return
	}
	f.c.raw(`<g class="s s%d" data-s="%d">`, n%styles, n)
	f.c.ring(f.px(p.X), f.py(p.Y))
	f.c.raw(`</g>`)
}

func (f *frame) path(n int, p *Path, x, y *Axis, of func(Load) float64) {
	var spots []spot
	gap := false
	for _, l := range p.Loads {
		v := of(l)
		if !finite(l.At) || l.At < 0 || !finite(v) || v < 0 {
			gap = true
			continue
		}
		spots = append(spots, spot{f.px(l.At), f.py(v), x.write(l.At) + ": " + y.write(v), gap})
		gap = false
	}
	if len(spots) > 0 {
		f.c.series(n, p.Name, spots)
	}
}

// upright marks a load by a vertical line of a class, and says words beside it where there is room.
func (f *frame) upright(n int, at float64, class, words string) {
	if !finite(at) || at <= 0 || at > f.xs.hi {
		return
	}
	x := f.px(at)
	f.c.raw(`<g class="s s%d" data-s="%d">`, n%styles, n)
	f.c.line(x, f.y, x, f.bottom(), class)
	f.beside(x, words)
	f.c.raw(`</g>`)
}
