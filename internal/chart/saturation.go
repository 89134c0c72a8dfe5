package chart

import "math"

// Load is what one offered rate led to.
type Load struct {
	Offered   float64 // messages per second
	Delivered float64 // likewise; of expected deliveries one per message
	P99       float64 // nanoseconds; no number: not known, or among lost messages
}

// Path is one subject under growing load.
type Path struct {
	Name  string
	Loads []Load  // ascending in Offered
	Knee  float64 // offered rate from which on it no longer keeps up; no number: none was found
}

// Saturation is a chart of two plots: what was delivered and the 99th percentile of latency, by what was offered.
type Saturation struct {
	Labels
	Latency string // name of the axis of P99
	Paths   []Path
}

// SVG draws the chart. A dashed diagonal is where everything offered is delivered; a vertical line marks a knee.
func (s *Saturation) SVG() string {
	high, most, lo, hi := 0.0, 0.0, math.Inf(1), math.Inf(-1)
	for _, p := range s.Paths {
		for _, l := range p.Loads {
			_, high = span(0, high, l.Offered)
			_, most = span(0, most, l.Delivered)
			if l.P99 > 0 {
				lo, hi = span(lo, hi, l.P99)
			}
		}
	}
	if high == 0 {
		return ""
	}
	rate, p99 := Axis{Name: "delivered per second"}, Axis{Name: s.Latency, Ticks: Duration}
	evenScale, evenTicks := Plain.even(0, max(most, high), 5)
	logScale, logTicks := logarithmic(lo, hi)
	rateWords, timeWords := Plain.words(evenTicks), Duration.words(logTicks)
	c := new(canvas)
	upper := newFrame(c, topLine, 170, append(append([]string{}, rateWords...), timeWords...))
	upper.ys = evenScale
	xs, xTicks := Plain.even(0, high, 5)
	upper.xs = xs
	upper.vertical(rate.Name, upper.y, evenTicks, rateWords)
	diagonal := min(xs.hi, evenScale.hi)
	c.line(upper.px(0), upper.py(0), upper.px(diagonal), upper.py(diagonal), "ideal")
	var at []tick
	for i, w := range Plain.words(xTicks) {
		at = append(at, tick{xTicks[i], w})
	}
	y := upper.horizontal("offered per second", at)
	lower := &frame{c: c, x: upper.x, y: y + topLine + 6, w: upper.w, h: 130, xs: xs, ys: logScale}
	lower.vertical(p99.Name, lower.y, logTicks, timeWords)
	y = lower.horizontal("offered per second", at)
	var names []string
	for i := range s.Paths {
		p := &s.Paths[i]
		names = append(names, p.Name)
		upper.path(i, p, &rate, func(l Load) float64 { return l.Delivered })
		lower.path(i, p, &p99, func(l Load) float64 { return l.P99 })
		upper.knee(i, p, shorten(p.Name, 0.4*upper.w)+": knee "+grouped(p.Knee)+"/s")
		lower.knee(i, p, "")
	}
	return c.finish(s.Labels, "saturation", c.key(y, names)+edge)
}

func (f *frame) path(n int, p *Path, y *Axis, of func(Load) float64) {
	var spots []spot
	gap := false
	for _, l := range p.Loads {
		v := of(l)
		if !finite(l.Offered) || l.Offered < 0 || !finite(v) || v < 0 {
			gap = true
			continue
		}
		spots = append(spots, spot{f.px(l.Offered), f.py(v), grouped(l.Offered) + "/s: " + y.write(v), gap})
		gap = false
	}
	if len(spots) > 0 {
		f.c.series(n, p.Name, spots)
	}
}

// knee marks where a subject no longer keeps up, and says words beside it where there is room.
func (f *frame) knee(n int, p *Path, words string) {
	if !finite(p.Knee) || p.Knee <= 0 || p.Knee > f.xs.hi {
		return
	}
	x := f.px(p.Knee)
	f.c.raw(`<g class="s s%d" data-s="%d">`, n%styles, n)
	f.c.line(x, f.y, x, f.bottom(), "knee")
	f.beside(x, words)
	f.c.raw(`</g>`)
}
