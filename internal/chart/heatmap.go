package chart

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// HeatMap is a chart of how a distribution changes over time: one column for each span of time, one row for each bucket
// of values, darker where there is more.
type HeatMap struct {
	Labels
	Y       Axis
	Columns []Column // ascending, not overlapping
	Phases  []Phase
	Marks   []Mark
	// From and To are the span of time shown; both 0 = that of the columns.
	From, To float64
	// Low and High are values that the vertical axis must hold, so that several charts can share a scale; 0 = none.
	Low, High float64
}

// Column is what happened in one span of time.
type Column struct {
	From, To float64 // seconds
	Buckets  []Bucket
}

// Bucket counts values at most Value and above those of the bucket before.
type Bucket struct {
	Value float64
	Count int64
}

const (
	rowsPerDecade = 8
	shades        = 8
	maxColumns    = 150
)

// grid is a heat map sorted into rows.
type grid struct {
	first int // rows from 10^(first/rowsPerDecade) on
	rows  int
	cols  []gridColumn
	most  int64
}

type gridColumn struct {
	from, to float64
	counts   []int64
}

// SVG draws the chart. The vertical axis is logarithmic, and so is the scale of shades.
func (h *HeatMap) SVG() string {
	g := h.grid()
	if g == nil {
		return ""
	}
	c := new(canvas)
	ticks, words := h.decades(g)
	strip := stripHeight(h.Phases, h.Marks)
	f := newFrame(c, topLine+strip, min(230, max(120, float64(g.rows)*9)), words)
	f.ys = scale{rowStart(g.first), rowStart(g.first + g.rows), math.Log10}
	f.xs = overTime(h.From, h.To)
	if h.From == 0 && h.To == 0 {
		f.xs = overTime(g.cols[0].from, g.cols[len(g.cols)-1].to)
	}
	f.phases(h.Phases, topLine)
	f.vertical(h.Y.Name, topLine, ticks, words)
	f.cells(g, &h.Y)
	f.marks(h.Marks, f.y-markRow/2)
	y := f.horizontal(secondsName, seconds(f.xs.lo, f.xs.hi))
	y = c.shadeKey(y, g.most)
	return c.finish(h.Labels, "heat", c.markKey(y-8, h.Marks)+8+edge)
}

// Rows are the values at which the rows of every heat map end, from the one that holds lo to the one that holds hi.
// Buckets that end there are drawn exactly.
func Rows(lo, hi float64) (ends []float64) {
	if !(lo >= 1e-9) || !(hi <= 1e18) {
		return nil
	}
	for i := row(lo); i <= row(hi); i++ {
		ends = append(ends, rowStart(i+1))
	}
	return ends
}

// row is the row of a value: the i-th starts above 10^((i-1)/rowsPerDecade).
func row(v float64) int { return int(math.Ceil(math.Log10(v)*rowsPerDecade - 1e-9)) }

// rowStart is the lower end of a row.
func rowStart(i int) float64 { return math.Pow(10, float64(i-1)/rowsPerDecade) }

// grid sorts the buckets; nil if there are none.
func (h *HeatMap) grid() *grid {
	low, high := math.MaxInt, math.MinInt
	reach := func(v float64) {
		if v >= 1e-9 && v <= 1e18 {
			low, high = min(low, row(v)), max(high, row(v))
		}
	}
	columns := slices.DeleteFunc(slices.Clone(h.Columns), func(c Column) bool { return !finite(c.From) || !finite(c.To) })
	for _, c := range columns {
		for _, b := range c.Buckets {
			if b.Count > 0 {
				reach(b.Value)
			}
		}
	}
	if low > high {
		return nil
	}
	reach(h.Low)
	reach(h.High)
	for high-low < rowsPerDecade { // at least a decade, so that an axis has two labels
		low, high = low-1, high+1
	}
	g := &grid{first: low, rows: high - low + 1}
	merge := (len(columns) + maxColumns - 1) / maxColumns
	for i, c := range columns {
		if i%merge == 0 {
			g.cols = append(g.cols, gridColumn{c.From, c.To, make([]int64, g.rows)})
		}
		col := &g.cols[len(g.cols)-1]
		col.to = max(col.to, c.To)
		for _, b := range c.Buckets {
			if b.Count > 0 && b.Value >= 1e-9 && b.Value <= 1e18 {
				n := &col.counts[row(b.Value)-low]
				*n += b.Count
				g.most = max(g.most, *n)
			}
		}
	}
	return g
}

// decades are the ticks of the vertical axis.
func (h *HeatMap) decades(g *grid) (ticks []float64, words []string) {
	lo, hi := rowStart(g.first), rowStart(g.first+g.rows)
	for e := math.Ceil(math.Log10(lo) - 1e-9); e <= math.Log10(hi)+1e-9; e++ {
		ticks = append(ticks, math.Pow(10, e))
	}
	return ticks, h.Y.Ticks.words(ticks)
}

// shade is 1 for a single message and shades for the most there are.
func shade(n, most int64) int {
	if most <= 1 {
		return shades
	}
	return 1 + int(math.Round((shades-1)*math.Log(float64(n))/math.Log(float64(most))))
}

// cells draws all cells of a shade as one path, and notes the counts for hovering.
func (f *frame) cells(g *grid, y *Axis) {
	var paths [shades + 1]strings.Builder
	var hover strings.Builder
	height := f.h / float64(g.rows)
	for _, c := range g.cols {
		x, to := f.clip(c.from), f.clip(c.to)
		if !(to > x) {
			continue
		}
		w := max(0.8, to-x-0.4)
		start := true
		for i, n := range c.counts {
			if n == 0 {
				continue
			}
			top := f.bottom() - float64(i+1)*height
			p := &paths[shade(n, g.most)]
			p.WriteString("M" + num(x) + " " + num(top) + "h" + num(w) + "v" + num(height-0.3) + "h-" + num(w) + "z")
			if start {
				hover.WriteString(num(x) + " " + num(to) + " " + tenths(c.from) + "–" + tenths(c.to) + " s:")
				start = false
			}
			hover.WriteString(" " + strconv.Itoa(i) + "=" + strconv.FormatInt(n, 10))
		}
		if !start {
			hover.WriteByte('|')
		}
	}
	rows := make([]string, g.rows)
	for i := range rows {
		rows[i] = y.write(rowStart(g.first+i)) + " – " + y.write(rowStart(g.first+i+1))
	}
	f.c.raw(`<g class="cells" data-y="%s" data-r="%.3f" data-rows="%s" data-cells="%s">`,
		num(f.bottom()), height, escape(strings.Join(rows, "|")), escape(strings.TrimSuffix(hover.String(), "|")))
	for s := range paths {
		if paths[s].Len() > 0 {
			f.c.raw(`<path class="h%d" d="%s"/>`, s, paths[s].String())
		}
	}
	f.c.raw(`</g>`)
}

// shadeKey explains the shades and returns where it ends.
func (c *canvas) shadeKey(y float64, most int64) float64 {
	y += lineHeight
	x := edge
	say := func(s string) {
		c.text(x, y, "start", "note", s)
		x += textWidth(s) + 6
	}
	say("messages in a cell:")
	if most > 1 {
		say("1")
		for s := 1; s <= shades; s++ {
			c.rect(x, y-em+2, 14, em, "h"+strconv.Itoa(s))
			x += 14
		}
	} else {
		c.rect(x, y-em+2, 14, em, "h"+strconv.Itoa(shades))
		x += 14
	}
	x += 6
	say(grouped(float64(most)))
	return y + 8
}
