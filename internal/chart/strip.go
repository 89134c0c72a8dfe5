package chart

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A strip above the plot of a chart over time holds the names of phases and, below them, the symbols of what happened.
const (
	phaseRow = 18.0
	markRow  = 14.0
)

// symbols are drawn around 0,0, one for each kind of mark in the order of their first appearance.
var symbols = []string{
	"M-4-4h3v8h-3zM1-4h3v8h-3z",
	"M0 4L-4-3.5h8z",
	"M0-4L4 3.5h-8z",
	"M-4-3L-3-4L0-1L3-4L4-3L1 0L4 3L3 4L0 1L-3 4L-4 3L-1 0z",
	"M0-4.5L4.5 0L0 4.5L-4.5 0z",
	"M-4-1.2h8v2.4h-8z",
}

// stripHeight is the room that phases and marks take.
func stripHeight(phases []Phase, marks []Mark) float64 {
	h := 0.0
	if len(phases) > 0 {
		h += phaseRow
	}
	if len(marks) > 0 {
		h += markRow
	}
	return h
}

// phases shades all but the main phases over the plot and names each in the strip, the widest first, as far as there is room
// and the name stands by its phase.
func (f *frame) phases(phases []Phase, top float64) {
	bounds, y := box{f.x, top, f.w, phaseRow}, top+0.95*em
	var row labels
	order := make([]int, len(phases))
	for i, p := range phases {
		order[i] = i
		x, to := f.clip(p.From), f.clip(p.To)
		if !(to > x) {
			continue
		}
		if !p.Main {
			f.c.rect(x, top, to-x, f.bottom()-top, "phase")
		}
		f.c.line(x, top, x, f.bottom(), "edge")
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(phases[b].To-phases[b].From, phases[a].To-phases[a].From)
	})
	for _, i := range order {
		p := phases[i]
		x, to := f.clip(p.From), f.clip(p.To)
		if !(to > x) {
			continue
		}
		w := textWidth(p.Name)
		if to-x < w/2 {
			continue
		}
		at := max(f.x+w/2+1, min(f.right()-w/2-1, (x+to)/2))
		if row.place(label(at, y, "middle", p.Name), bounds) {
			f.c.text(at, y, "middle", "note", p.Name)
		}
	}
}

// clip is the place of a time, within the plot.
func (f *frame) clip(t float64) float64 { return max(f.x, min(f.right(), f.px(t))) }

// marks draws what happened: a band or a line through the plot, a symbol in the strip.
func (f *frame) marks(marks []Mark, y float64) {
	kinds := kindsOf(marks)
	far := make([]float64, len(kinds))
	for i := range far {
		far[i] = math.Inf(-1)
	}
	for _, m := range marks {
		if !finite(m.From) || m.From > f.xs.hi || max(m.From, m.To) < f.xs.lo {
			continue
		}
		k := slices.Index(kinds, m.Kind)
		x, to := f.clip(m.From), f.clip(m.To)
		if m.To > m.From && to > x {
			f.c.rect(x, f.y, to-x, f.h, "band")
			x = (x + to) / 2
		} else {
			f.c.line(x, f.y, x, f.bottom(), "moment")
		}
		if x-far[k] >= 9 { // nearer ones would cover each other
			f.c.symbol(k, x, y)
			far[k] = x
		}
	}
}

func (c *canvas) symbol(kind int, x, y float64) {
	c.raw(`<path class="sym" transform="translate(%s %s)" d="%s"/>`, num(x), num(y), symbols[kind%len(symbols)])
}

func kindsOf(marks []Mark) (kinds []string) {
	for _, m := range marks {
		if !slices.Contains(kinds, m.Kind) {
			kinds = append(kinds, m.Kind)
		}
	}
	return kinds
}

// markKey explains the symbols: kind, and when, or how often where that would be too much. It returns where it ends.
func (c *canvas) markKey(y float64, marks []Mark) float64 {
	const sample, gap = 16.0, 14.0
	x := edge
	for i, kind := range kindsOf(marks) {
		if i == 0 {
			y += lineHeight
		}
		words := shorten(kind+" "+moments(marks, kind), Width-2*edge-sample)
		w := sample + textWidth(words)
		if x > edge && x+w > Width-edge {
			x, y = edge, y+lineHeight
		}
		c.symbol(i, x+6, y-0.33*em)
		c.text(x+sample, y, "start", "note", words)
		x += w + gap
	}
	if len(marks) > 0 {
		y += 6
	}
	return y
}

// moments says when a kind of mark happened.
func moments(marks []Mark, kind string) string {
	var at []string
	for _, m := range marks {
		if m.Kind != kind {
			continue
		}
		s := tenths(m.From)
		if to := tenths(m.To); m.To > m.From && to != s {
			s += "–" + to
		}
		at = append(at, s)
	}
	if len(at) > 3 {
		return "× " + strconv.Itoa(len(at)) + ", first at " + at[0] + " s"
	}
	return "at " + strings.Join(at, ", ") + " s"
}

func tenths(v float64) string {
	return strings.Replace(strconv.FormatFloat(v, 'f', 1, 64), "-", "−", 1)
}
