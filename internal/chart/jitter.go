package chart

import (
	"math"
	"strings"
)

// Reach is what was seen during a stretch of time: the lowest, the middle and the highest value. Values that are no numbers: nothing was.
type Reach struct {
	From, To       float64 // seconds
	Low, Mid, High float64
	Lost           bool // something that should have been seen was not
}

// Bin is how many values were from From to To.
type Bin struct{ From, To, Count float64 }

// Level is a value that stands out, with what is said of it.
type Level struct {
	At   float64
	Name string
}

// Jitter is a chart of values over time with their histogram beside, on one vertical axis, which is logarithmic.
type Jitter struct {
	Labels
	Y       Axis
	Reaches []Reach // ascending
	Bins    []Bin   // ascending
	Levels  []Level
	Marks   []Mark
}

// besideWidth is that of the histogram, with the gap before it.
const besideWidth = 104.0

// SVG draws the chart: a band from the lowest to the highest value and a line of the middle ones; crosses where something was lost; the
// histogram to the right; a line through both at each level.
func (j *Jitter) SVG() string {
	lo, hi, from, to := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, r := range j.Reaches {
		if r.Low > 0 && finite(r.Low) && finite(r.High) {
			lo, hi = span(lo, hi, r.Low)
			lo, hi = span(lo, hi, r.High)
		}
		from, to = span(from, to, r.From)
		from, to = span(from, to, r.To)
	}
	if math.IsInf(lo, 1) {
		return ""
	}
	c := new(canvas)
	ys, ticks := logarithmic(lo, hi)
	words := j.Y.Ticks.words(ticks)
	strip := stripHeight(nil, j.Marks)
	f := newFrame(c, topLine+strip, 220, words)
	f.ys, f.xs = ys, overTime(from, to)
	f.vertical(j.Y.Name, topLine, ticks, words) // its grid goes through the histogram, too
	f.w -= besideWidth
	f.marks(j.Marks, f.y-markRow/2)
	end := f.horizontal("seconds", seconds(f.xs.lo, f.xs.hi))
	middle := j.middle(f)
	c.raw(`<g class="s s0" data-s="0" data-name="%s" data-h="%s">`, escape(j.Y.Name), escape(hover(middle)))
	j.reaches(f)
	c.raw(`<path class="thin" d="%s"/>`, steps(middle))
	j.histogram(f)
	c.raw(`</g>`)
	j.levels(f)
	c.text(f.right()+besideWidth, f.bottom()+lineHeight, "end", "name", "how many")
	return c.finish(j.Labels, "jitter", c.markKey(end-8, j.Marks)+8+edge)
}

// known tells whether anything was seen.
func (r *Reach) known() bool { return r.Low > 0 && finite(r.Low) && finite(r.Mid) && finite(r.High) }

// middle is the line of the middle values.
func (j *Jitter) middle(f *frame) (spots []spot) {
	gap := false
	for _, r := range j.Reaches {
		if !r.known() {
			gap = true
			continue
		}
		say := tenths(r.From) + " s: " + j.Y.write(r.Low) + " – " + j.Y.write(r.Mid) + " – " + j.Y.write(r.High)
		spots = append(spots, spot{(f.clip(r.From) + f.clip(r.To)) / 2, f.py(r.Mid), say, gap})
		gap = false
	}
	return spots
}

func hover(spots []spot) string {
	var all []string
	for _, s := range spots {
		all = append(all, num(s.x)+" "+s.say)
	}
	return strings.Join(all, "|")
}

// steps is a path through spots; one that is alone is a dot.
func steps(spots []spot) string {
	var path strings.Builder
	for i, s := range spots {
		if i == 0 || s.gap {
			path.WriteString("M" + num(s.x) + " " + num(s.y) + "h0")
			continue
		}
		path.WriteString("L" + num(s.x) + " " + num(s.y))
	}
	return path.String()
}

// reaches draws from the lowest to the highest value over time, and what was lost.
func (j *Jitter) reaches(f *frame) {
	for _, r := range j.Reaches {
		x, to := f.clip(r.From), f.clip(r.To)
		if r.Lost {
			f.c.raw(`<path class="x" d="M%s %sl5 5m0-5l-5 5"/>`, num((x+to)/2-2.5), num(f.y+1))
		}
		if r.known() {
			top, bottom := f.py(r.High), f.py(r.Low)
			f.c.rect(x, top, max(to-x, 0.6), max(bottom-top, 0.6), "reach")
		}
	}
}

// histogram draws bars to the right of the plot, the longest as long as there is room.
func (j *Jitter) histogram(f *frame) {
	most := 0.0
	for _, b := range j.Bins {
		if finite(b.Count) {
			most = max(most, b.Count)
		}
	}
	x := f.right() + 12
	f.c.line(x, f.y, x, f.bottom(), "axis")
	for _, b := range j.Bins {
		if !(b.Count > 0) || !finite(b.Count) || !(b.From > 0) || !finite(b.To) || b.To <= b.From {
			continue
		}
		top, bottom := max(f.y, min(f.bottom(), f.py(b.To))), max(f.y, min(f.bottom(), f.py(b.From)))
		f.c.raw(`<rect class="bar" x="%s" y="%s" width="%s" height="%s"><title>%s – %s: %s</title></rect>`, num(x), num(top),
			num(max(0.8, b.Count/most*(besideWidth-14))), num(max(0.6, bottom-top-0.5)), escape(j.Y.write(b.From)), escape(j.Y.write(b.To)), grouped(b.Count))
	}
}

// levels draws the values that stand out, and names those that there is room for.
func (j *Jitter) levels(f *frame) {
	bounds := box{f.x, f.y - em, f.w + besideWidth, f.h + em}
	for _, l := range j.Levels {
		if !(l.At > 0) || !finite(l.At) || l.At < f.ys.lo || l.At > f.ys.hi {
			continue
		}
		y := f.py(l.At)
		f.c.line(f.x, y, f.right()+besideWidth, y, "level")
		for _, at := range []float64{y - 4, y + em} {
			words := shorten(l.Name, besideWidth+60)
			if f.placed.place(label(f.right()+besideWidth, at, "end", words), bounds) {
				f.c.text(f.right()+besideWidth, at, "end", "tag", words)
				break
			}
		}
	}
}
