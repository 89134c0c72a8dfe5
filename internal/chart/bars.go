package chart

import (
	"cmp"
	"slices"
)

// Bar is the median of one subject and its interval.
type Bar struct {
	Name      string
	Value     float64 // no number: there is none
	Low, High float64 // the interval; no numbers: there is none
	Text      string  // value and interval for people; or why there is no value
}

// Bars is a chart that compares subjects.
type Bars struct {
	Labels
	X      Axis
	Higher bool // more is better
	Given  bool // keep the order given
	Bars   []Bar
}

// SVG draws the chart: unless Given, the best first and those without a value last. The axis starts at zero; a whisker is an interval.
func (b *Bars) SVG() string {
	bars := slices.Clone(b.Bars)
	if !b.Given {
		slices.SortStableFunc(bars, b.before)
	}
	high, drawn := 0.0, false
	for _, x := range bars {
		drawn = drawn || finite(x.Value)
		for _, v := range []float64{x.Value, x.High} {
			_, high = span(0, high, v)
		}
	}
	if !drawn {
		return ""
	}
	const pitch, thick = 42.0, 14.0
	c := new(canvas)
	f := &frame{c: c, x: edge + 6, y: edge, w: Width - 2*edge - 32, h: float64(len(bars))*pitch + 2}
	var ticks []float64
	f.xs, ticks = b.X.Ticks.even(0, high, 4)
	var at []tick
	for i, words := range b.X.Ticks.words(ticks) {
		at = append(at, tick{ticks[i], words})
	}
	better := "lower is better"
	if b.Higher {
		better = "higher is better"
	}
	end := f.horizontal(b.X.Name+", "+better, at)
	for i, x := range bars {
		y := f.y + float64(i)*pitch
		text := shorten(x.Text, f.w/2)
		c.raw(`<g class="s s%d" data-name="%s" data-t="%s">`, 0, escape(x.Name), escape(x.Text))
		c.text(f.x, y+em, "start", "own", shorten(x.Name, Width-2*edge-textWidth(text)-14))
		c.text(Width-edge, y+em, "end", "", text)
		if finite(x.Value) && x.Value >= 0 {
			c.rect(f.x, y+em+6, f.px(x.Value)-f.x, thick, "bar")
		}
		if finite(x.Low) && finite(x.High) && x.Low >= 0 {
			f.whisker(f.px(x.Low), f.px(x.High), y+em+6+thick/2)
		}
		c.raw(`</g>`)
	}
	return c.finish(b.Labels, "bars", end+edge)
}

func (f *frame) whisker(x1, x2, y float64) {
	d := "M" + num(x1) + " " + num(y-5) + "v10M" + num(x2) + " " + num(y-5) + "v10M" + num(x1) + " " + num(y) + "H" + num(x2)
	f.c.raw(`<path class="halo" d="%s"/><path class="whisker" d="%s"/>`, d, d)
}

// before orders bars, the best first.
func (b *Bars) before(x, y Bar) int {
	switch {
	case finite(x.Value) && finite(y.Value) && b.Higher:
		return cmp.Compare(y.Value, x.Value)
	case finite(x.Value) && finite(y.Value):
		return cmp.Compare(x.Value, y.Value)
	case finite(x.Value):
		return -1
	case finite(y.Value):
		return 1
	}
	return 0
}
