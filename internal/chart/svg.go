package chart

import (
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// canvas collects the elements of one drawing.
type canvas struct{ b strings.Builder }

// finish wraps what was drawn into an SVG of the given height.
func (c *canvas) finish(l Labels, kind string, height float64) string {
	return fmt.Sprintf(
		`<svg xmlns="http://www.w3.org/2000/svg" class="chart %s" viewBox="0 0 %s %s" role="img"><title>%s</title><desc>%s</desc>%s</svg>`,
		kind, num(Width), num(height), escape(l.Title), escape(l.Desc), c.b.String())
}

// raw writes text that is SVG already.
func (c *canvas) raw(format string, args ...any) { fmt.Fprintf(&c.b, format, args...) }

// text writes s with its baseline at y. Anchor is start, middle or end.
func (c *canvas) text(x, y float64, anchor, class, s string) {
	if class != "" {
		class = ` class="` + class + `"`
	}
	if anchor != "start" {
		class += ` text-anchor="` + anchor + `"`
	}
	c.raw(`<text x="%s" y="%s"%s>%s</text>`, num(x), num(y), class, escape(s))
}

func (c *canvas) line(x1, y1, x2, y2 float64, class string) {
	c.raw(`<path class="%s" d="M%s %sL%s %s"/>`, class, num(x1), num(y1), num(x2), num(y2))
}

func (c *canvas) rect(x, y, w, h float64, class string) {
	c.raw(`<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`, class, num(x), num(y), num(w), num(h))
}

// num writes a coordinate with one decimal at most.
func num(v float64) string {
	s := strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
	if s == "-0" {
		return "0"
	}
	return s
}

// escape makes s stand for itself, in text and in attributes. Characters that XML does not know become U+FFFD.
func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a builder does not fail
	return b.String()
}

const (
	em         = 13.5 // size of the text that everything is laid out for; it may be shown smaller
	lineHeight = 17.0
)

// textWidth estimates how wide s is at most in a common sans-serif face.
func textWidth(s string) float64 {
	w := 0.0
	for _, r := range s {
		switch {
		case strings.ContainsRune("iIjl.,:;|!'`()[] ", r):
			w += narrowest / em
		case strings.ContainsRune("frt-/\"", r):
			w += 0.44
		case strings.ContainsRune("mwMW@%—…", r):
			w += 0.98
		case r >= 0x2e80: // the scripts of East Asia, and symbols
			w += 1.1
		case r >= 'A' && r <= 'Z':
			w += 0.74
		default:
			w += 0.61
		}
	}
	return w * em
}

// narrowest is the width of the narrowest rune.
const narrowest = 0.36 * em

// shorten cuts out the middle of s where it is wider than room.
func shorten(s string, room float64) string {
	if textWidth(s) <= room {
		return s
	}
	r := []rune(s)
	for keep := min(len(r)-1, int(room/narrowest)); keep > 1; keep-- {
		s = string(r[:(keep+1)/2]) + "…" + string(r[len(r)-keep/2:])
		if textWidth(s) <= room {
			return s
		}
	}
	return "…"
}

// box is the room that a label takes.
type box struct{ x, y, w, h float64 }

func (a box) meets(b box) bool {
	return a.x < b.x+b.w && b.x < a.x+a.w && a.y < b.y+b.h && b.y < a.y+a.h
}

// label is the box of a text at a baseline.
func label(x, y float64, anchor, s string) box {
	w := textWidth(s)
	switch anchor {
	case "middle":
		x -= w / 2
	case "end":
		x -= w
	}
	return box{x, y - 0.8*em, w, em}
}

// labels are those placed so far.
type labels []box

// place takes the room of b if it is free and within bounds, and reports whether it was.
func (l *labels) place(b, bounds box) bool {
	if b.x < bounds.x || b.y < bounds.y || b.x+b.w > bounds.x+bounds.w || b.y+b.h > bounds.y+bounds.h {
		return false
	}
	for _, o := range *l {
		if b.meets(o) {
			return false
		}
	}
	*l = append(*l, b)
	return true
}
