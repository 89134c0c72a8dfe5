package check

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// kind is what a column holds.
type kind uint8

const (
	other kind = iota
	sent
	received
	lost
	unsent // expected deliveries that were impossible, as the message never left
	expected
	drained // received after the window that rates are of
	duration
	lossRatio
	offeredRate
	sentRate
	receivedRate
	publishers
	subscribers
	samples  // of a family
	quantile // of a family, as all below
	minimum
	maximum
	mean
	deviation
)

// column is what is known of a column by its name.
type column struct {
	index  int
	name   string
	kind   kind
	family string  // what a statistic is of: the name without the statistic and the unit
	q      float64 // of a quantile
	unit   float64 // of times: in seconds; of ratios: 0.01 for percent; 1 = none is named
	named  bool    // the unit is
}

var (
	quantileName = regexp.MustCompile(`^(?:p|q|pct)(\d{1,2}(?:\.\d+)?|\d{3,6})$|^(\d{1,2}(?:\.\d+)?)(?:th|st|nd|rd|%|pct)$`)
	notWord      = regexp.MustCompile(`[^a-z0-9.%µ/]+|\.(?:[^0-9]|$)|/(?:[^s]|$)`)
	camel        = regexp.MustCompile(`([a-z0-9])([A-Z])`)
)

var units = map[string]float64{
	"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1, "sec": 1, "secs": 1, "seconds": 1, "min": 60,
	"%": 0.01, "pct": 0.01, "percent": 0.01, "ratio": 1, "fraction": 1,
}

var words = map[string]kind{
	"sent": sent, "published": sent, "produced": sent, "pub": sent,
	"received": received, "recv": received, "rcvd": received, "delivered": received, "consumed": received, "sub": received,
	"lost": lost, "missing": lost, "undelivered": unsent, "expected": expected, "drained": drained,
	"duration": duration, "elapsed": duration, "measured": duration,
	"publishers": publishers, "pubs": publishers, "producers": publishers,
	"subscribers": subscribers, "subs": subscribers, "consumers": subscribers,
}

var statistics = map[string]kind{
	"min": minimum, "minimum": minimum, "max": maximum, "maximum": maximum, "peak": maximum, "mean": mean, "avg": mean, "average": mean,
	"stddev": deviation, "std": deviation, "stdev": deviation, "sd": deviation, "sigma": deviation,
}

// wordsOf cuts a name into lower-case words: lat_p99.9(ms) and latP999Ms alike.
func wordsOf(name string) []string {
	name = strings.ToLower(camel.ReplaceAllString(name, "${1}_${2}"))
	for _, unit := range []string{"msgs/s", "msg/s", "messages/s", "/sec", "/s"} {
		name = strings.ReplaceAll(name, unit, "_per_s")
	}
	name = strings.ReplaceAll(name, "%", "_%_")
	var list []string
	for w := range strings.SplitSeq(notWord.ReplaceAllStringFunc(name, func(s string) string { return " " + strings.Trim(s, "./ ") }), " ") {
		if w = strings.Trim(w, "./"); w != "" {
			list = append(list, strings.Trim(w, "_()[]-"))
		}
	}
	return slices.DeleteFunc(list, func(w string) bool { return w == "" })
}

// columnOf tells what a column holds.
func columnOf(index int, name string) column {
	c := column{index: index, name: name, unit: 1}
	list := wordsOf(name)
	if n := len(list); n > 1 {
		if u, ok := units[list[n-1]]; ok && (list[n-1] != "min" || n > 2 && list[n-2] == "in") {
			c.unit, c.named, list = u, true, list[:n-1]
		}
	}
	if slices.Contains(list, "quantile") || slices.Contains(list, "known") {
		return c
	}
	var rest []string
	for _, w := range list {
		if q, ok := quantileOf(w); ok && c.kind == other {
			c.kind, c.q = quantile, q
		} else if k, ok := statistics[w]; ok && c.kind == other {
			c.kind = k
		} else {
			rest = append(rest, w)
		}
	}
	if c.kind != other {
		c.family = strings.Join(rest, " ")
		return c
	}
	c.kind, c.family = countOf(rest, c)
	return c
}

// quantileOf reads p50, p99.9, p999 (99.9), 95th and median.
func quantileOf(word string) (q float64, ok bool) {
	if word == "median" {
		return 0.5, true
	}
	m := quantileName.FindStringSubmatch(word)
	if m == nil {
		return 0, false
	}
	digits := m[1] + m[2]
	if digits == "100" {
		return 1, true
	}
	if len(digits) > 2 && !strings.Contains(digits, ".") {
		digits = digits[:2] + "." + digits[2:]
	}
	q, err := strconv.ParseFloat(digits, 64)
	return q / 100, err == nil
}

// fillers are words that do not change what a count is of.
var fillers = []string{"counts", "count", "total", "messages", "msgs", "msg", "num", "params", "test", "unsent", "sec", "s", "time"}

// countOf tells which count, rate or ratio the words of a name are.
func countOf(list []string, c column) (k kind, family string) {
	has := func(w ...string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return slices.Contains(w, s) })
	}
	of := other
	for _, w := range list {
		if k, ok := words[w]; ok {
			of = k
			break
		}
	}
	rate := has("rate", "throughput", "tps", "qps", "per", "mps")
	strange := slices.ContainsFunc(list, func(w string) bool { return words[w] == other && !slices.Contains(fillers, w) })
	switch {
	case has("loss") && (!rate || len(list) == 2), of == lost && c.named && len(list) == 1:
		return lossRatio, ""
	case rate && has("offered", "target"):
		return offeredRate, ""
	case rate && of == sent:
		return sentRate, ""
	case rate && of == received, has("throughput") && len(list) == 1:
		return receivedRate, ""
	case of == other && has("count", "samples"):
		return samples, strings.Join(slices.DeleteFunc(slices.Clone(list), func(w string) bool {
			return w == "count" || w == "samples" || w == "sample"
		}), " ")
	case rate, strange: // connections.lost, response_expected: of something else
		return other, ""
	}
	return of, ""
}

// number reads a figure: 1,234.5, 41.6ms, 0.5 %; ok is false for text, n/a and nothing.
func (t *Table) number(cell string) (v float64, ok bool) {
	s := strings.TrimRightFunc(strings.TrimSpace(cell), func(r rune) bool { return strings.ContainsRune(" %msµnu", r) })
	if t.comma {
		s = strings.Replace(strings.ReplaceAll(s, ".", ""), ",", ".", 1)
		if !strings.Contains(cell, ",") {
			s = strings.TrimRight(strings.TrimSpace(cell), " %msµnu")
		}
	} else {
		s = strings.ReplaceAll(s, ",", "")
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
}

// grain is how far a figure may be off by having been rounded: half a unit of its last digit.
func grain(cell string) float64 {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(cell), "e")
	_, decimals, _ := strings.Cut(strings.TrimRight(mantissa, " %msµnu"), ".")
	scale, err := strconv.Atoi(exponent)
	if err != nil {
		scale = 0
	}
	return 0.5 * math.Pow(10, float64(scale-len(decimals)))
}

// nameOf is what tells a row from others: its first cells that are no figures, at most three.
func (t *Table) nameOf(cells []string) string {
	var list []string
	for i, cell := range cells {
		if i >= len(t.Columns) || len(list) == 3 {
			break
		}
		if _, is := t.number(cell); is || cell == "" || len(cell) > 40 || slices.Contains(list, cell) {
			continue
		}
		list = append(list, cell)
	}
	return strings.Join(list, " ")
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
