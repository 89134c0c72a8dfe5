package summary

import (
	"math"
	"strconv"
	"strings"
)

// Every figure that people read is written by the functions of this file, in verdicts as in reports.

// Duration writes nanoseconds with three significant digits and a unit: 1.23 µs, 45.6 ms, 7.00 s.
func Duration(ns int64) string {
	number, unit := scaled(float64(ns), durationUnits)
	return number + " " + unit
}

// Bytes writes a size with three significant digits and a binary unit.
func Bytes(n uint64) string {
	number, unit := scaled(float64(n), byteUnits)
	return number + " " + unit
}

// Rate writes messages per second.
func Rate(perSecond float64) string { return Number(perSecond) + "/s" }

// Number writes a quantity: whole from 10,000 on, below with four significant digits, without closing zeros.
func Number(v float64) string {
	if math.Abs(v) >= 9999.5 {
		return grouped(strconv.FormatFloat(v, 'f', 0, 64))
	}
	s := strconv.FormatFloat(v, 'f', max(0, 3-exponent(v, 4)), 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return grouped(s)
}

// Count writes a number of messages with thousands separators.
func Count(n uint64) string { return grouped(strconv.FormatUint(n, 10)) }

// Percent writes num/den in percent with as many decimals as it takes not to call a part everything or nothing: 999,999 of
// a million are 99.9999 %. It is n/a where den is 0.
func Percent(num, den uint64) string {
	if den == 0 {
		return "n/a"
	}
	return Ratio(float64(num) / float64(den))
}

// Ratio writes a ratio in percent under the rule of Percent.
func Ratio(r float64) string {
	p := 100 * r
	decimals := max(0, 2-max(0, exponent(p, 3)))
	if r == 0 || r == 1 {
		decimals = 0
	}
	for ; decimals < 17; decimals++ {
		s := strconv.FormatFloat(p, 'f', decimals, 64)
		v, _ := strconv.ParseFloat(s, 64)
		if (v == 0) == (r == 0) && (v >= 100) == (r >= 1) {
			return s + " %"
		}
	}
	return strconv.FormatFloat(p, 'g', -1, 64) + " %"
}

// Factor writes how many times as much with three significant digits, and with more where it would seem to be 1: 2.31×.
func Factor(f float64) string {
	for digits := 3; ; digits++ {
		s := strconv.FormatFloat(f, 'f', max(0, digits-1-exponent(f, digits)), 64)
		if v, _ := strconv.ParseFloat(s, 64); v != 1 || f == 1 || digits == 9 {
			return grouped(s) + "×"
		}
	}
}

// Range writes an interval of two figures written alike; a unit that both have stands once, behind.
func Range(low, high string) string {
	if l, ok := strings.CutSuffix(low, "×"); ok {
		return l + "–" + high
	}
	l, unit, ok := strings.Cut(low, " ")
	if ok && strings.HasSuffix(high, " "+unit) {
		return l + "–" + high
	}
	return low + "–" + high
}

type unit struct {
	name string
	size float64
}

var (
	durationUnits = []unit{{"ns", 1}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}}
	byteUnits     = []unit{{"B", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}}
)

// scaled writes v with three significant digits in the largest unit in which it is at least 1.
func scaled(v float64, units []unit) (number, name string) {
	for i, u := range units {
		x := v / u.size
		last := i == len(units)-1
		if !last && math.Abs(x) >= units[i+1].size/u.size*0.9995 {
			continue
		}
		return inUnit(x, u), u.name
	}
	return "", ""
}

func inUnit(x float64, u unit) string {
	if u.size == 1 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'f', max(0, 2-max(0, exponent(x, 3))), 64)
}

// exponent is the power of ten of the first digit of v when it is rounded to that many significant digits.
func exponent(v float64, digits int) int {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0
	}
	_, e, _ := strings.Cut(strconv.FormatFloat(v, 'e', digits-1, 64), "e")
	n, _ := strconv.Atoi(e)
	return n
}

// grouped puts commas between the thousands of a decimal number.
func grouped(s string) string {
	whole, fraction, dot := strings.Cut(s, ".")
	digits := strings.TrimPrefix(whole, "-")
	var b strings.Builder
	b.WriteString(whole[:len(whole)-len(digits)])
	for i, c := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	if dot {
		b.WriteString("." + fraction)
	}
	return b.String()
}
