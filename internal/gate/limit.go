// Package gate decides whether a run kept its limits. It is pure: it reads figures of a summary, the same that reports print, and
// computes none but the intervals of comparisons with a baseline.
//
// A limit is one line of text:
//
//	p99 < 5ms                                 a figure of every cell against a number
//	mosquitto: lost = 0                       of one subject's cells only
//	achieved >= 98 %
//	p99 <= baseline * 1.1                     against the same cell of another run, by interval
//	p99 not worse than baseline               missed only where the two are told apart and this run is the worse
//
// See Limit for what each form means, and Result for what may come of it.
package gate

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mqlab/mqlab/internal/scenario"
	"github.com/mqlab/mqlab/internal/summary"
)

// Limit is a limit as written, and what it says.
//
// A number is compared with the figure that reports print: of times and rates the median of a cell's valid repetitions, of
// messages their sum.
//
// "<= baseline * F" (with any of < <= > >=) is decided by the bootstrap interval of the ratio of the medians, this run by the
// baseline: it passes if the whole interval keeps the limit, it is missed if the whole interval breaks it, and undecidable
// otherwise. "p99 <= baseline" asks for proof that the run is not slower; equal runs cannot give it.
//
// "not worse than baseline", with or without "* F", asks for proof of the opposite: it is missed only where both the interval of the
// ratio lies on the worse side and a one-sided rank test finds p <= 0.05, adjusted by Holm for all such checks of a gate; otherwise
// it passes. Where the repetitions are so few that no difference whatever could be shown it is undecidable: five on each side are
// enough for 12 checks, six for 46. With five repetitions on each side and a spread of 3 % between repetitions it catches a p99 that is
// 10 % worse in more than 90 of 100 runs, and calls fewer than 5 of 100 equal runs worse.
type Limit struct {
	Text     string
	Subject  string // "" = every cell
	Metric   summary.Metric
	Op       Op
	Value    float64 // in the metric's unit; where Baseline is set, the factor
	Baseline bool
}

// Op relates a figure to its limit.
type Op string

// The relations.
const (
	Less     Op = "<"
	AtMost   Op = "<="
	More     Op = ">"
	AtLeast  Op = ">="
	Equal    Op = "="
	NotWorse Op = "not worse than" // a baseline only
)

var form = regexp.MustCompile(`^\s*([\pL\pN_. ]*?)\s*(<=|>=|==|≤|≥|<|>|=|not\s+worse\s+than)\s*(.*?)\s*$`)

const usage = "write for example p99 < 5ms, lost = 0, achieved >= 98 %, p99 not worse than baseline"

// Parse reads a limit. The error says what would be right.
func Parse(text string) (l Limit, err error) {
	l.Text = strings.TrimSpace(text)
	rest := l.Text
	if i := strings.LastIndex(rest, ": "); i >= 0 {
		l.Subject, rest = strings.TrimSpace(rest[:i]), rest[i+2:]
		if l.Subject == "" {
			return l, fmt.Errorf("%q names no subject before the colon", l.Text)
		}
	}
	parts := form.FindStringSubmatch(rest)
	if parts == nil {
		return l, fmt.Errorf("%q is no limit: %s", l.Text, usage)
	}
	name, op, bound := parts[1], parts[2], parts[3]
	var ok bool
	if l.Metric, ok = summary.FindFigure(strings.Join(strings.Fields(name), "_")); !ok {
		return l, unknownFigure(name)
	}
	switch {
	case op == "==":
		l.Op = Equal
	case op == "≤":
		l.Op = AtMost
	case op == "≥":
		l.Op = AtLeast
	case strings.HasPrefix(op, "not"):
		l.Op = NotWorse
	default:
		l.Op = Op(op)
	}
	return l, l.bound(bound)
}

func unknownFigure(name string) error {
	if name == "" {
		return errors.New("names no figure: " + usage)
	}
	names := summary.FigureNames()
	text := scenario.Suggest(strings.ToLower(name), names)
	if strings.HasPrefix(text, "known: ") {
		text = "known: p50, p99, lost, lost_ratio, delivered_per_s, achieved and all other counts, rates and times of the JSON report"
	}
	return fmt.Errorf("there is no figure %q; %s", name, text)
}

// bound reads what stands behind the relation.
func (l *Limit) bound(text string) (err error) {
	if factor, ok := strings.CutPrefix(text, "baseline"); ok {
		l.Baseline = true
		if l.Op == Equal {
			return errors.New("no two runs are equal: write not worse than baseline, or <= baseline * 1.1")
		}
		l.Value, err = factorOf(factor)
		return err
	}
	switch {
	case l.Op == NotWorse:
		return fmt.Errorf("%q is no baseline: write not worse than baseline, or %s < %[1]s", text, l.Metric.Name)
	case l.Op == Equal && l.Metric.Unit != summary.Messages:
		return fmt.Errorf("%s is measured, not counted: use < <= > or >=", l.Metric.Name)
	}
	l.Value, err = quantity(text, &l.Metric)
	return err
}

// factorOf reads "" or "* 1.1".
func factorOf(text string) (float64, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return 1, nil
	}
	number, ok := strings.CutPrefix(text, "*")
	f, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if !ok || err != nil || !(f > 0 && f <= 1000) {
		return 0, fmt.Errorf("baseline %s is not understood: write baseline, or baseline * 1.1", text)
	}
	return f, nil
}

// units are what a number may be followed by, and what it is then multiplied with.
var units = map[summary.Unit][]struct {
	name string
	size float64
}{
	summary.Nanoseconds: {{"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}},
	summary.PerSecond:   {{"/s", 1}, {"/m", 1.0 / 60}, {"", 1}},
	summary.Part:        {{"%", 0.01}, {"", 1}},
	summary.Size:        {{"B", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}},
	summary.Messages:    {{"", 1}},
}

// dimension says what a figure is, and how a limit of it is written.
var dimension = map[summary.Unit]string{
	summary.Nanoseconds: "a time: write a number with ns, us, ms or s",
	summary.PerSecond:   "a rate: write a number, or one with /s",
	summary.Part:        "a part of the whole: write 98 % or 0.98",
	summary.Size:        "a size: write a number with B, KiB, MiB or GiB",
	summary.Messages:    "a number of messages: write a whole number",
}

// quantity reads a number in the unit of the metric.
func quantity(text string, m *summary.Metric) (float64, error) {
	end := strings.LastIndexAny(text, "0123456789.") + 1
	v, err := strconv.ParseFloat(text[:end], 64)
	unit := strings.TrimSpace(text[end:])
	known := units[m.Unit]
	i := slices.IndexFunc(known, func(u struct {
		name string
		size float64
	},
	) bool {
		return u.name == unit
	})
	switch {
	case err != nil || v < 0 || v > 1e18:
		return 0, fmt.Errorf("%q is no limit: %s is %s", text, m.Name, dimension[m.Unit])
	case i < 0 && v == 0 && unit == "":
		return 0, nil
	case i < 0 && m.Name == "lost" && unit == "%":
		return 0, fmt.Errorf("%q is a part, but lost is a number of messages: use lost_ratio", text)
	case i < 0:
		return 0, fmt.Errorf("%q has the wrong unit: %s is %s", text, m.Name, dimension[m.Unit])
	case m.Unit == summary.Part && unit == "" && v > 1:
		return 0, fmt.Errorf("%q is more than all: write %[1]s %%", text)
	case m.Unit == summary.Messages && v != float64(int64(v)):
		return 0, fmt.Errorf("%q is no whole number of messages", text)
	}
	return v * known[i].size, nil
}

// NeedsBaseline reports whether any of the limits refers to another run.
func NeedsBaseline(limits []Limit) bool {
	return slices.ContainsFunc(limits, func(l Limit) bool { return l.Baseline })
}
