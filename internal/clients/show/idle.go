package show

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/clients/idle"
	"github.com/mqlab/mqlab/internal/report"
	"github.com/mqlab/mqlab/internal/summary"
)

// WriteIdle writes what waiting costs client libraries, in one of Formats.
func WriteIdle(w io.Writer, format string, r *idle.Result, o Options) error {
	switch format {
	case "json":
		return report.WriteJSON(w, r)
	case "csv":
		return writeIdleCSV(w, r)
	}
	p := report.NewPage("What client libraries cost while they have nothing to say")
	p.Say("%s clients, each with a connection to %s, waited for %v at the same time. Link: %s.", r.Protocol, r.Broker, time.Duration(r.Span).Round(time.Second), r.Link)
	if r.KeepAlive > 0 {
		p.Say("Keep-alive: %v.", time.Duration(r.KeepAlive))
	} else {
		p.Say("Keep-alive: as each library and the broker have it.")
	}
	if r.Cut {
		p.Warn("Ended early: they were to wait for %v.", time.Duration(r.Planned))
	}
	p.Section("Per minute")
	var rows [][]string
	for _, c := range r.Clients {
		if c.Invalid != "" {
			rows = append(rows, []string{c.Name, "–", "–", "–", "–", "–"})
			continue
		}
		rows = append(rows, []string{
			c.Name, known(c.CPU, cpu), known(c.Wakeups, summary.Number),
			known(c.Bytes, summary.Number), known(c.Packets, summary.Number), memory(c.Memory),
		})
	}
	p.Table(1, []string{"client", "CPU/min", "wake-ups/min", "link B/min", "packets/min", "memory"}, rows)
	p.Say("CPU time and wake-ups compare libraries; bytes and packets, with their headers and both ways, compare protocols and the timers that libraries have.")
	for _, c := range r.Clients {
		if c.Invalid != "" {
			p.Warn("%s gave no figures: %s.", c.Name, c.Invalid)
		}
	}
	sayShort(p, r)
	var left []string
	for _, s := range r.Skipped {
		left = append(left, s.Name+" is left out: "+s.Why)
	}
	p.Points(left...)
	if len(o.Command) > 0 && format != "text" {
		p.Section("How to repeat it")
		p.Command(strings.Join(o.Command, " "))
	}
	return p.Write(w, format, o.Color, explained(o.Explain))
}

// asleep is written where a process did not run at all, so that no time is not taken for one too short to be seen.
const asleep = "none"

// cpu writes CPU time per minute; the kernel counts it to the nanosecond.
func cpu(v float64) string {
	if v == 0 {
		return asleep
	}
	return summary.Duration(int64(v))
}

// sayShort tells what figures of a short wait do not hold.
func sayShort(p *report.Page, r *idle.Result) {
	var never []string
	for _, c := range r.Clients {
		if c.CPU != nil && *c.CPU == 0 {
			never = append(never, c.Name)
		}
	}
	if len(never) > 0 {
		p.Say("CPU %s: not woken once in that time (%s).", asleep, strings.Join(never, ", "))
	}
	if 0 < r.Span && r.Span < r.KeepAlive {
		p.Warn("They waited for less than the keep-alive of %v, so that what a client does to stay connected is not in these figures: --for %v has it.",
			time.Duration(r.KeepAlive), 3*time.Duration(r.KeepAlive))
	}
}

func memory(bytes uint64) string {
	if bytes == 0 {
		return unknown
	}
	return summary.Bytes(bytes)
}

// writeIdleCSV writes a row for each client; an empty cell is not known.
func writeIdleCSV(w io.Writer, r *idle.Result) error {
	out := csv.NewWriter(w)
	head := []string{"client", "language", "library", "version", "protocol", "broker", "keep_alive_ns", "span_ns", "cut", "invalid"}
	for _, m := range idle.Metrics {
		head = append(head, m.Name)
	}
	_ = out.Write(head) // the writer keeps the error
	keepAlive := ""
	if r.KeepAlive > 0 {
		keepAlive = strconv.FormatInt(r.KeepAlive, 10)
	}
	for i := range r.Clients {
		c := &r.Clients[i]
		row := []string{
			c.Name, c.Language, c.Library, c.Version, r.Protocol, r.Broker, keepAlive, strconv.FormatInt(r.Span, 10), strconv.FormatBool(r.Cut), c.Invalid,
		}
		for _, m := range idle.Metrics {
			row = append(row, perhaps(m.Of(c)))
		}
		_ = out.Write(row)
	}
	out.Flush()
	return out.Error()
}

// WriteIdleChanges writes two runs, A and B, side by side, as text, JSON or Markdown.
func WriteIdleChanges(w io.Writer, format, a, b string, c *idle.Changes, color bool) error {
	if format == "json" {
		return report.WriteJSON(w, c)
	}
	p := report.NewPage(fmt.Sprintf("mqlab compare: clients that wait %s (A), %s (B)", a, b))
	p.Say("They waited for %v in A and %v in B. Each figure is one measurement: whether a difference is more than chance is not known; repeat the runs before you build on it.",
		time.Duration(c.Spans[0]).Round(time.Second), time.Duration(c.Spans[1]).Round(time.Second))
	for _, v := range c.Versions {
		p.Warn("%s is %s in A and %s in B.", v.Client, orNothing(v.A), orNothing(v.B))
	}
	writers := []struct {
		heading string
		write   func(float64) string
	}{
		{"CPU time per minute", cpu},
		{"Wake-ups per minute", summary.Number},
		{"Bytes on the link per minute", summary.Number},
		{"Packets per minute", summary.Number},
		{"Memory", func(v float64) string { return summary.Bytes(uint64(v)) }},
	}
	for i, m := range idle.Metrics {
		p.Section(writers[i].heading)
		var rows [][]string
		for _, x := range c.Changes {
			if x.Metric == m.Name {
				rows = append(rows, []string{x.Client, writers[i].write(x.A), writers[i].write(x.B), known(x.Ratio, func(v float64) string { return fmt.Sprintf("%.2f×", v) })})
			}
		}
		p.Table(1, []string{"client", "A", "B", "B / A"}, rows)
	}
	p.Section("Not compared")
	if len(c.OnlyA) > 0 {
		p.Say("No figures in both: %s.", strings.Join(c.OnlyA, ", "))
	}
	if len(c.OnlyB) > 0 {
		p.Say("In B only: %s.", strings.Join(c.OnlyB, ", "))
	}
	return p.Write(w, format, color, nil)
}

// known writes a figure, or that it is not known.
func known(v *float64, write func(float64) string) string {
	if v == nil {
		return "–"
	}
	return write(*v)
}
