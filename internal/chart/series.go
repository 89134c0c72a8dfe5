package chart

import (
	"math"
	"strings"
)

// styles is how many series a chart can tell apart; more share a style.
const styles = 8

// markers are drawn around 0,0; one for each style.
var markers = [styles]string{
	"M-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0z",                // circle
	"M-2.8-2.8h5.6v5.6h-5.6z",                           // square
	"M0-3.8L3.5 2.6h-7z",                                // triangle
	"M0-4L4 0L0 4L-4 0z",                                // diamond
	"M-1-3.5h2v2.5h2.5v2h-2.5v2.5h-2v-2.5h-2.5v-2h2.5z", // plus
	"M0 3.8L3.5-2.6h-7z",                                // triangle, point down
	"M-3.5-1.5h7v3h-7z",                                 // bar
	"M-3.4-2.2L-2.2-3.4L0-1.2L2.2-3.4L3.4-2.2L1.2 0L3.4 2.2L2.2 3.4L0 1.2L-2.2 3.4L-3.4 2.2L-1.2 0z", // cross
}

func (c *canvas) marker(style int, x, y float64) {
	c.raw(`<path class="mk" transform="translate(%s %s)" d="%s"/>`, num(x), num(y), markers[style%styles])
}

// spot is a drawn point and what is said of it on hovering.
type spot struct {
	x, y float64
	say  string
	gap  bool // nothing leads here from the point before
}

// series draws a line through spots, with markers at some of them.
func (c *canvas) series(n int, name string, spots []spot) {
	var path, hover strings.Builder
	for i, s := range spots {
		if i > 0 {
			hover.WriteByte('|')
		}
		hover.WriteString(num(s.x) + " " + s.say)
		if i == 0 || s.gap {
			path.WriteString("M" + num(s.x) + " " + num(s.y))
			if i+1 == len(spots) || spots[i+1].gap { // alone: a dot
				path.WriteString("h0")
			}
			continue
		}
		path.WriteString("L" + num(s.x) + " " + num(s.y))
	}
	c.raw(`<g class="s s%d" data-s="%d" data-name="%s" data-h="%s">`, n%styles, n, escape(name), escape(hover.String()))
	c.raw(`<path class="ln" d="%s"/>`, path.String())
	far := math.Inf(-1)
	for i, s := range spots {
		if s.x-far >= 60 || i == len(spots)-1 && s.x-far >= 12 {
			c.marker(n, s.x, s.y)
			far = s.x
		}
	}
	c.raw(`</g>`)
}

// keySample is the width of what stands before a name in a key.
const keySample = 30.0

// key draws the names of series below each other where they do not fit beside each other, and returns where it ends.
func (c *canvas) key(y float64, names []string) float64 {
	return c.names(y, names, func(i int, x, y, w float64, name, shown string) {
		c.raw(`<g class="key s%d" data-s="%d"><path class="hit" d="M%s %sh%sv%sh-%sz"/>`,
			i%styles, i, num(x-2), num(y-lineHeight+4), num(w+4), num(lineHeight), num(w+4))
		if shown != name {
			c.raw(`<title>%s</title>`, escape(name))
		}
		c.raw(`<path class="ln" d="M%s %sh24"/>`, num(x), num(y-0.33*em))
		c.marker(i, x+12, y-0.33*em)
	})
}

// names sets names beside each other, and below where they do not fit, and returns where they end. sample opens the group of a name,
// of which w is the width and shown as much as there is room for, and draws what stands before it.
func (c *canvas) names(y float64, names []string, sample func(i int, x, y, w float64, name, shown string)) float64 {
	const gap = 14.0
	x := edge
	y += lineHeight
	for i, name := range names {
		shown := shorten(name, Width-2*edge-keySample)
		w := keySample + textWidth(shown)
		if x > edge && x+w > Width-edge {
			x, y = edge, y+lineHeight+2
		}
		sample(i, x, y, w, name, shown)
		c.text(x+keySample, y, "start", "", shown)
		c.raw(`</g>`)
		x += w + gap
	}
	return y + 8
}

// thin keeps of spots that lie closer than distance together the first, the lowest, the highest and the last, so that no
// peak is lost.
func thin(spots []spot, distance float64) []spot {
	var out []spot
	for from := 0; from < len(spots); {
		to, low, high := from, from, from
		for ; to < len(spots) && (to == from || spots[to].x-spots[from].x < distance && !spots[to].gap); to++ {
			if spots[to].y > spots[low].y {
				low = to
			}
			if spots[to].y < spots[high].y {
				high = to
			}
		}
		last := -1
		for _, i := range []int{from, min(low, high), max(low, high), to - 1} {
			if i > last {
				out, last = append(out, spots[i]), i
			}
		}
		from = to
	}
	return out
}
