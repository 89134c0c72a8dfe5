package jitter

import (
	"fmt"
	"math"
)

func share(n int, of uint64) string {
	if n == 0 {
		return ""
	}
	return percent(float64(n) / float64(of))
}

// percent never says 100 % of what is less, nor 0 % of what is there.
func percent(r float64) string {
	switch {
	case r < 1 && r >= 0.995:
		return ">99 %"
	case r > 0 && r < 0.01:
		return fmt.Sprintf("%.2g %%", r*100)
	}
	return fmt.Sprintf("%.0f %%", r*100)
}

// Duration writes ns with three digits.
func Duration(ns float64) string {
	for _, u := range []struct {
		name string
		size float64
	}{{"s", 1e9}, {"ms", 1e6}, {"µs", 1e3}} {
		if v := ns / u.size; math.Abs(v) >= 0.9995 {
			return fmt.Sprintf("%.*f %s", max(0, 2-int(math.Floor(math.Log10(math.Abs(v)*1.0005)))), v, u.name)
		}
	}
	return fmt.Sprintf("%.0f ns", ns)
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%s %ss", thousands(n), word)
}

func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// nameRoom is how much of a case's name a table has room for.
const nameRoom = 16

func shorten(name string) string {
	if r := []rune(name); len(r) > nameRoom {
		return string(r[:nameRoom/2]) + "…" + string(r[len(r)-nameRoom/2+1:])
	}
	return name
}
