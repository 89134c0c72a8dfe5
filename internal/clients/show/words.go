package show

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mqlab/mqlab/internal/clients"
	"github.com/mqlab/mqlab/internal/summary"
)

const unknown = "–"

// useWords are what a library may be chosen for.
var useWords = map[clients.Use]string{
	clients.ForLatency:    "Lowest latency of a lone message",
	clients.ForJitter:     "Steadiest latency of lone messages (p90 less p50)",
	clients.ForThroughput: "Most messages a second",
	clients.ForCPU:        "Least CPU",
	clients.ForMemory:     "Least memory",
	clients.ForEffort:     "Least effort (lines)",
}

// metricWords are the headings of what is ranked.
var metricWords = map[clients.Metric]string{
	clients.Drain: "work", clients.Excess: "added", clients.Jitter: "jitter", clients.CPU: "CPU",
}

func duration(ns float64) string { return summary.Nanoseconds.Format(ns) }

func orUnknown(v float64) string {
	if v <= 0 {
		return unknown
	}
	return duration(v)
}

// among names a point by what sets it apart from the others.
func among(p clients.Point, points []clients.Point) string {
	if !slices.ContainsFunc(points, func(x clients.Point) bool { return x.QoS != p.QoS }) {
		return clients.Size(p.Payload)
	}
	return p.String()
}

func median(f *clients.Figure) string {
	if f == nil {
		return unknown
	}
	return duration(f.Median)
}

// interval is that of a figure.
func interval(f *clients.Figure, unit summary.Unit) string {
	if f == nil || f.Low == 0 && f.High == 0 {
		return unknown
	}
	return summary.Range(unit.Format(f.Low), unit.Format(f.High))
}

// marks are those of a figure; three or more in a row are written by the first and the last.
func marks(f *clients.Figure) string {
	if f == nil {
		return ""
	}
	var b strings.Builder
	all := []rune(f.Marks)
	for i := 0; i < len(all); {
		n := 1
		for i+n < len(all) && all[i+n] == all[i]+rune(n) {
			n++
		}
		if n > 2 {
			b.WriteString(string(all[i]) + "–" + string(all[i+n-1]))
		} else {
			b.WriteString(string(all[i : i+n]))
		}
		i += n
	}
	return b.String()
}

// starred marks what cannot be told apart from the best.
func starred(text string, best bool) string {
	if best {
		return text + "*"
	}
	return text
}

// choices are the sentences of a use: points at which the answer is the same are told together.
func choices(d *clients.Decision, use clients.Use, points []clients.Point) string {
	var answers []string
	at := map[string][]string{}
	for _, c := range d.Choices {
		if c.Use != use {
			continue
		}
		text := answer(&c)
		if _, known := at[text]; !known {
			answers = append(answers, text)
		}
		if c.Point != nil {
			at[text] = append(at[text], among(*c.Point, points))
		} else {
			at[text] = nil
		}
	}
	for i, text := range answers {
		switch where := at[text]; {
		case len(points) < 2 || len(where) == 0:
		case len(where) == len(points):
			answers[i] += " (at every payload)"
		default:
			answers[i] += " (" + strings.Join(where, "; ") + ")"
		}
	}
	return useWords[use] + ": " + strings.Join(answers, " · ") + "."
}

// answer is what is said about a choice.
func answer(c *clients.Choice) string {
	text := strings.Join(c.Best, " or ")
	if len(c.Best) == 0 {
		return "not measured in this run"
	}
	switch {
	case !c.Decided && len(c.Best) == 1:
		text += " (" + c.Why + ")"
	case !c.Decided:
		text = "the data do not decide: " + c.Why
	case len(c.Best) > 1 && c.Use == clients.ForMemory:
		text += ", within 10 % of each other"
	case len(c.Best) > 1 && c.Use != clients.ForEffort:
		text += ", not told apart"
	}
	if len(c.Unknown) > 0 {
		text += "; not known of " + strings.Join(c.Unknown, ", ")
	}
	return text
}

// countWords writes a number of things.
func countWords(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if strings.HasSuffix(what, "y") {
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(what, "y"))
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func isolation(i *clients.Isolation) string {
	switch {
	case i.RealTime:
		return "Clients on a core of their own, in real-time priority."
	case i.Pinned:
		return "Clients on a core of their own, but " + i.Why + "."
	}
	return "Clients are not kept apart from other programs: " + i.Why + "."
}

func library(r *clients.Result, name string) string {
	i := slices.IndexFunc(r.Clients, func(k clients.Client) bool { return k.Name == name })
	if i < 0 {
		return ""
	}
	k := r.Clients[i]
	version := strings.TrimPrefix(k.Version, "v")
	words := strings.Fields(k.Library)
	if last := words[len(words)-1]; len(words) > 1 && strings.HasPrefix(version, last) {
		words = words[:len(words)-1] // "paho-mqtt 1.6" is told by its version
	}
	return strings.TrimSpace(strings.Join(words, " ") + " " + version)
}
