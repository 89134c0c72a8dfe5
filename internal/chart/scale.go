package chart

import (
	"math"
	"strconv"
	"strings"
)

// scale maps values to 0 … 1.
type scale struct {
	lo, hi float64
	by     func(float64) float64 // what is even along the axis
}

func linear(v float64) float64 { return v }

// at is the place of v. What a logarithmic axis does not reach, zero and below, is at its start.
func (s scale) at(v float64) float64 {
	from, to := s.by(s.lo), s.by(s.hi)
	p := (s.by(v) - from) / (to - from)
	if math.IsInf(p, -1) || math.IsNaN(p) {
		return 0
	}
	return p
}

// Ticks says which values of an axis get a label, and which.
type Ticks uint8

// The kinds of axes.
const (
	Plain    Ticks = iota // 1, 2, 5 times a power of ten, without a unit
	Duration              // nanoseconds: 10 µs, 1 ms
	Bytes                 // 512 KiB, 4 MiB
)

// label writes the value of a tick.
func (t Ticks) label(v float64) string {
	switch t {
	case Duration:
		return inUnits(v, 1000, "ns", "µs", "ms", "s")
	case Bytes:
		return inUnits(v, 1024, "B", "KiB", "MiB", "GiB", "TiB")
	}
	return grouped(v)
}

// inUnits writes v in the largest unit in which it is at least 1; each is size times the one before.
func inUnits(v, size float64, units ...string) string {
	i := 0
	for ; i < len(units)-1 && math.Abs(v) >= size*(1-1e-9); i++ {
		v /= size
	}
	if v == 0 {
		return "0"
	}
	return grouped(v) + " " + units[i]
}

// grouped writes v with six significant digits at most and thousands separators.
func grouped(v float64) string {
	s := strconv.FormatFloat(roundTo(v, 6), 'f', -1, 64)
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "−", s[1:]
	}
	whole, fraction, dot := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if dot {
		whole += "." + fraction
	}
	return sign + whole
}

func roundTo(v float64, digits int) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
	if err != nil {
		return v
	}
	return r
}

// step is the smallest nice distance at which at most n ticks fit into width.
func (t Ticks) step(width float64, n int) float64 {
	base := 1.0
	if t == Bytes { // powers of two within a unit
		for ; width/float64(n) > base*512; base *= 1024 {
		}
		for s := base; ; s *= 2 {
			if width/s <= float64(n) {
				return s
			}
		}
	}
	power := math.Pow(10, math.Floor(math.Log10(width/float64(n))))
	for _, f := range []float64{1, 2, 5} {
		if width/(f*power) <= float64(n)*(1+1e-9) {
			return f * power
		}
	}
	return 10 * power
}

// even makes a linear axis from lo to at least hi, its end on a tick, and its ticks.
func (t Ticks) even(lo, hi float64, n int) (s scale, ticks []float64) {
	lo, hi = max(lo, -farthest), min(hi, farthest)
	if !(hi-lo > 1e-9*math.Abs(hi)) {
		hi = lo + 1
	}
	step := t.step(hi-lo, n)
	first := math.Floor(lo/step + 1e-9)
	last := math.Ceil(hi/step - 1e-9)
	for i := first; i <= last; i++ {
		ticks = append(ticks, i*step)
	}
	return scale{first * step, last * step, linear}, ticks
}

// farthest is the largest value, and the longest time, that an axis shows; larger ones are taken as no numbers.
const farthest = 1e15

// overTime is the scale of a time axis; a span that cannot be drawn becomes one second.
func overTime(from, to float64) scale {
	if !(math.Abs(from) < farthest) {
		from = 0
	}
	if !(to > from) || to > farthest {
		to = from + 1
	}
	return scale{from, to, linear}
}

// logarithmic makes an axis of whole decades, or of 1-2-5 steps where there are few, from at most lo to at least hi.
func logarithmic(lo, hi float64) (s scale, ticks []float64) {
	if !(lo > 0) || !(hi >= lo) {
		lo, hi = 1, 10
	}
	from, to := math.Floor(math.Log10(lo)+1e-9), math.Ceil(math.Log10(hi)-1e-9)
	if to-from <= 2 {
		return oneTwoFive(lo, hi, from)
	}
	every := math.Ceil((to - from) / 7)
	for e := from; e <= to; e += every {
		ticks = append(ticks, math.Pow(10, e))
	}
	return scale{math.Pow(10, from), math.Pow(10, to), math.Log10}, ticks
}

// oneTwoFive is an axis for at most two decades from 10^from on.
func oneTwoFive(lo, hi, from float64) (s scale, ticks []float64) {
	for e := from; ; e++ {
		for _, f := range []float64{1, 2, 5} {
			v := f * math.Pow(10, e)
			if len(ticks) > 0 && v <= lo*(1+1e-9) {
				ticks = ticks[:0]
			}
			ticks = append(ticks, v)
			if v >= hi*(1-1e-9) && len(ticks) > 1 {
				return scale{ticks[0], v, math.Log10}, ticks
			}
		}
	}
}
