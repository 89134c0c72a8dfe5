// Package chart draws the charts that latency needs as SVG: percentiles, heat maps, timelines, bars with intervals and
// saturation curves.
//
// Every function is pure: the same data give the same text. The text holds no script, reaches for nothing outside
// itself and is readable without colour: series differ in dash and marker, too. Colours are variables of Style, so that one
// drawing serves light and dark. Each chart has a title and a description for those who do not see it. What a script may
// show on hovering is in data-h attributes, formatted already.
//
// Values that are no numbers are gaps. Where there is nothing to draw, the text is empty.
package chart

import (
	_ "embed"
	"math"
)

// Style is the style sheet that all charts share. A page needs it once.
//
//go:embed style.css
var Style string

// Width is that of every chart, in units of its own; it is meant to be shown 300 to 700 pixels wide.
const Width = 460.0

// Format writes a value for people.
type Format func(v float64) string

// Labels say what a chart shows.
type Labels struct {
	Title string // one line
	Desc  string // what a reader who does not see the chart should know
}

// Axis says what the values along an axis are.
type Axis struct {
	Name  string // with its unit where ticks have none: "messages per second"
	Ticks Ticks
	Value Format // for hovering; nil = as ticks
}

// Point is a pair of values. A Y that is no number is a gap.
type Point struct{ X, Y float64 }

// Series is a named line.
type Series struct {
	Name   string
	Points []Point // ascending in X
}

// Phase is a named span of time.
type Phase struct {
	Name     string
	From, To float64 // seconds
	Main     bool    // what the chart is about: not shaded
}

// Mark is something that happened at a time, or, with To behind From, during it. Marks of the same kind share a symbol
// and an entry in the key.
type Mark struct {
	Kind     string // "paused", "disconnect", …
	From, To float64
}

// finite reports whether v can be drawn.
func finite(v float64) bool { return math.Abs(v) <= farthest }

// span widens lo and hi to hold v.
func span(lo, hi, v float64) (low, high float64) {
	if !finite(v) {
		return lo, hi
	}
	return math.Min(lo, v), math.Max(hi, v)
}
