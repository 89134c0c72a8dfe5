package chart

import (
	"math"
	"strconv"
	"strings"
)

// Curve is the latency of one subject by percentile.
type Curve struct {
	Name string
	// Points say that the fraction X of all messages took at most Y, ascending in both.
	Points []Point
	// Expected is how many messages X is a fraction of. The last of them is drawn half a message short of 1, which a
	// logarithmic axis never reaches.
	Expected int64
	// Lost says that the messages beyond the last point never arrived: later than every other.
	Lost bool
}

// Percentiles is a chart of latency by percentile.
type Percentiles struct {
	Labels
	Y      Axis
	Curves []Curve
}

// nines is the place of a fraction on an axis on which 0.9, 0.99 and 0.999 are equally far apart.
func nines(q float64) float64 { return -math.Log10(1 - q) }

// mostNines ends the axis; histograms resolve no more.
const mostNines = 9

// SVG draws the chart. The horizontal axis is in nines, the vertical one logarithmic. A curve of which messages were lost
// ends at the highest quantile that is known, with a cross, and a dotted line to the word "lost" and its name.
func (p *Percentiles) SVG() string {
	lo, hi, n := math.Inf(1), math.Inf(-1), int64(10)
	for _, c := range p.Curves {
		for _, pt := range c.Points {
			if pt.Y > 0 {
				lo, hi = span(lo, hi, pt.Y)
			}
		}
		n = max(n, c.Expected)
	}
	if math.IsInf(lo, 1) {
		return ""
	}
	c := new(canvas)
	ys, ticks := logarithmic(lo, hi)
	words := p.Y.Ticks.words(ticks)
	f := newFrame(c, topLine, 230, words)
	f.ys, f.xs = ys, scale{0, lastFraction(n), nines}
	f.vertical(p.Y.Name, topLine, ticks, words)
	y := f.horizontal("percentile of all messages expected", percentTicks(f.xs.hi))
	var names []string
	for i := range p.Curves {
		f.curve(i, &p.Curves[i], &p.Y)
		names = append(names, p.Curves[i].Name)
	}
	return c.finish(p.Labels, "percentiles", c.key(y, names)+edge)
}

// lastFraction is the place of the last of n messages.
func lastFraction(n int64) float64 {
	return min(1-0.5/float64(n), 1-math.Pow(10, -mostNines))
}

// percentTicks are 90 %, 99 % and so on; then, where there is room, 50 % and 0.
func percentTicks(hi float64) []tick {
	var out []tick
	words := "9"
	for k := 1; k <= mostNines; k++ {
		if q := 1 - math.Pow(10, -float64(k)); q <= hi {
			digits := words
			if k == 1 {
				digits = "90"
			} else if k > 2 {
				digits = words[:2] + "." + words[2:]
			}
			out = append(out, tick{q, digits + " %"})
		}
		words += "9"
	}
	return append(out, tick{0.5, "50 %"}, tick{0, "0"})
}

func (f *frame) curve(n int, c *Curve, y *Axis) {
	var spots []spot
	limit := min(f.xs.hi, lastFraction(max(1, c.Expected)))
	for _, p := range c.Points {
		if !finite(p.Y) || !(p.X >= 0 && p.X <= 1) {
			continue
		}
		spots = append(spots, spot{f.px(min(p.X, limit)), f.py(p.Y), fraction(p.X) + ": " + y.write(p.Y), false})
	}
	if len(spots) == 0 {
		return
	}
	spots = thin(spots, 2.5)
	f.c.series(n, c.Name, spots)
	if c.Lost {
		f.lost(n, spots[len(spots)-1], "lost: "+shorten(c.Name, 0.3*f.w))
	}
}

// lost marks the end of a curve.
func (f *frame) lost(n int, end spot, words string) {
	f.c.raw(`<g class="s s%d" data-s="%d"><path class="dots" d="M%s %sV%s"/>`, n%styles, n, num(end.x), num(end.y), num(f.y))
	f.c.raw(`<path class="x" transform="translate(%s %s)" d="M-5-5L5 5M-5 5L5-5"/>`, num(end.x), num(end.y))
	f.beside(end.x, words)
	f.c.raw(`</g>`)
}

// fraction writes q in percent with as many digits as tell it from 1.
func fraction(q float64) string {
	digits := 0
	if q > 0.9 && q < 1 {
		digits = int(nines(q))
	}
	for ; digits < 15; digits++ {
		s := strconv.FormatFloat(100*q, 'f', digits, 64)
		if v, _ := strconv.ParseFloat(s, 64); v < 100 || q == 1 {
			if digits > 0 {
				s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
			}
			return s + " %"
		}
	}
	return "below 100 %"
}

// write formats a value for hovering.
func (a *Axis) write(v float64) string {
	if a.Value != nil {
		return a.Value(v)
	}
	return a.Ticks.label(v)
}
