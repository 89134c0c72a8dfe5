package chart

// frame is the plot area of a chart and its two axes.
type frame struct {
	c          *canvas
	x, y, w, h float64
	xs, ys     scale
	placed     labels
}

const (
	edge    = 4.0  // kept free on all sides
	tickGap = 6.0  // between a tick label and the plot
	topLine = 26.0 // for the name of the vertical axis
)

// newFrame makes the plot area as wide as the labels of the vertical axis leave room.
func newFrame(c *canvas, top, height float64, yLabels []string) *frame {
	left := 0.0
	for _, s := range yLabels {
		left = max(left, textWidth(s))
	}
	x := edge + left + tickGap
	return &frame{c: c, x: x, y: top, w: Width - x - 12, h: height}
}

func (f *frame) px(v float64) float64 { return f.x + f.w*f.xs.at(v) }
func (f *frame) py(v float64) float64 { return f.y + f.h*(1-f.ys.at(v)) }

func (f *frame) bottom() float64 { return f.y + f.h }
func (f *frame) right() float64  { return f.x + f.w }

// bounds is the plot area as a box for labels.
func (f *frame) bounds() box { return box{f.x, f.y, f.w, f.h} }

// vertical draws the grid and labels of the vertical axis, and its name on the line that ends at top.
func (f *frame) vertical(name string, top float64, ticks []float64, words []string) {
	f.c.text(edge, top-9, "start", "name", name)
	last := f.bottom() + 2*em
	for i, v := range ticks {
		y := f.py(v)
		f.c.line(f.x, y, f.right(), y, "grid")
		if last-y >= em {
			f.c.text(f.x-tickGap, y+0.33*em, "end", "", words[i])
			last = y
		}
	}
}

// tick is a labelled place of the horizontal axis.
type tick struct {
	value float64
	words string
}

// horizontal draws the grid and the labels of the horizontal axis, those first that come first, as far as there is room,
// and its name below. It returns where the next thing can be drawn.
func (f *frame) horizontal(name string, ticks []tick) float64 {
	var row labels
	y := f.bottom() + lineHeight
	bounds := box{0, f.bottom(), Width, 2 * lineHeight}
	for _, t := range ticks {
		x := f.px(t.value)
		f.c.line(x, f.y, x, f.bottom(), "grid")
		b := label(x, y, "middle", t.words)
		b.x, b.w = b.x-3, b.w+6
		if row.place(b, bounds) {
			f.c.text(x, y, "middle", "", t.words)
		}
	}
	f.c.line(f.x, f.bottom(), f.right(), f.bottom(), "axis")
	f.c.text(f.right(), y+lineHeight, "end", "name", name)
	return y + lineHeight + 6
}

// beside writes words beside a vertical line at x, as high as there is room; nowhere if there is none.
func (f *frame) beside(x float64, words string) {
	for _, at := range []struct {
		dx     float64
		anchor string
	}{{5, "start"}, {-5, "end"}} {
		for y := f.y + em; words != "" && y < f.bottom(); y += lineHeight {
			if f.placed.place(label(x+at.dx, y, at.anchor, words), f.bounds()) {
				f.c.text(x+at.dx, y, at.anchor, "own", words)
				return
			}
		}
	}
}

// seconds makes the ticks of a time axis.
func seconds(lo, hi float64) []tick {
	var out []tick
	_, at := Plain.even(lo, hi, 8)
	for _, v := range at {
		if v >= lo-1e-9 && v <= hi+1e-9 {
			out = append(out, tick{v, Plain.label(v)})
		}
	}
	return out
}

// words are the labels of ticks.
func (t Ticks) words(ticks []float64) []string {
	out := make([]string, len(ticks))
	for i, v := range ticks {
		out[i] = t.label(v)
	}
	return out
}
