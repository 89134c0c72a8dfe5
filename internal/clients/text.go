package clients

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Text writes a result for people.
func Text(w io.Writer, r *Result) error {
	p := &printer{w: w}
	p.isolation(&r.Host)
	for _, ranking := range r.Rank {
		p.ranking(r, &ranking)
	}
	p.floors(r)
	p.parts(r)
	p.costs(r)
	p.flows(r)
	p.experiments(r)
	p.rest(r)
	return p.err
}

type printer struct {
	w   io.Writer
	err error
}

func (p *printer) say(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// table prints rows with their cells under each other.
func (p *printer) table(rows [][]string) {
	if p.err != nil || len(rows) == 0 {
		return
	}
	t := tabwriter.NewWriter(p.w, 0, 0, 1, ' ', 0)
	for _, row := range rows {
		_, _ = fmt.Fprintln(t, strings.TrimRight(strings.Join(row, "\t"), "\t"))
	}
	p.err = t.Flush()
}

func (p *printer) isolation(i *Isolation) {
	switch {
	case i.RealTime:
		p.say("Clients on a core of their own, in real-time priority.\n")
	case i.Pinned:
		p.say("Clients on a core of their own, but %s.\n", i.Why)
	default:
		p.say("Clients are not kept apart from other programs: %s.\n", i.Why)
	}
}

var titles = map[Metric]string{
	Drain:  "Work per message",
	Excess: "What a client adds to a single message, beyond the floor of C",
}

func (p *printer) ranking(r *Result, k *Ranking) {
	p.say("\n%s (%s)\n", titles[k.Metric], point(k.Payload, k.QoS))
	rows := [][]string{{"  client", "median", "95 %", "", "library"}}
	for _, row := range k.Rows {
		rows = append(rows, []string{"  " + row.Client, micros(row.Median), micros(row.Low) + " – " + micros(row.High), row.Marks, r.libraryOf(row.Client)})
	}
	p.table(rows)
	if len(k.Rows) > 1 {
		p.say("  Medians of the rounds. A letter in common: these cannot be told apart.\n")
	}
}

func point(payload, qos int) string { return fmt.Sprintf("%s, QoS %d", bytes(payload), qos) }

func (r *Result) libraryOf(client string) string {
	i := slices.IndexFunc(r.Clients, func(c Client) bool { return c.Name == client })
	return strings.TrimSpace(r.Clients[i].Library + " " + strings.TrimPrefix(r.Clients[i].Version, "v"))
}

// floors are the latencies of sockets without a library, by language.
func (p *printer) floors(r *Result) {
	rows := [][]string{{"  floor", "payload", "QoS", "work", "single p50", "p90"}}
	for _, k := range r.Clients {
		for i := range r.Cells {
			if c := &r.Cells[i]; k.Floor && c.Client == k.Name && c.Invalid == "" {
				rows = append(rows, append([]string{"  " + c.Client, bytes(c.Payload), fmt.Sprint(c.QoS)}, c.times()...))
			}
		}
	}
	if len(rows) > 1 {
		p.say("\nFloors: a socket and no library\n")
		p.table(rows)
	}
}

// times are work and latency, – where there is none.
func (c *Cell) times() []string {
	list := []string{"–", "–", "–"}
	if len(c.Drain) > 0 {
		list[0] = micros(quantile(sorted(c.Drain), 0.5))
	}
	if c.Lone != nil {
		list[1], list[2] = micros(c.Lone.P50), micros(c.Lone.P90)
	}
	return list
}

func (p *printer) costs(r *Result) {
	last := ""
	rows := [][]string{}
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Invalid != "" || c.Lone == nil && len(c.Drain) == 0 {
			continue
		}
		if at := point(c.Payload, c.QoS); at != last {
			p.table(rows)
			p.say("\nWhat a message costs, and where its time goes (%s)\n", at)
			rows, last = [][]string{{"  client", "single", "work", "inside*", "CPU", "calls", "allocs", "memory", "threads"}}, at
		}
		rows = append(rows, c.cost())
	}
	p.table(rows)
	if len(rows) == 0 {
		return
	}
	p.say("  single: median time from write to callback. work, CPU: per message. calls:\n" +
		"  system calls that read or write. * by a clock inside the callback: that is no\n" +
		"  latency, nothing of the library is in it.\n")
}

func (c *Cell) cost() []string {
	t := c.times()
	allocations, cpu, calls := "–", "–", "–"
	if c.CPU > 0 {
		cpu, calls = micros(c.CPU), fmt.Sprintf("%.1f", c.Calls)
	}
	if c.Allocations != nil {
		allocations = fmt.Sprintf("%.1f", *c.Allocations)
	}
	return []string{
		"  " + c.Client, t[1], t[0], micros(c.InCallback), cpu, calls, allocations,
		fmt.Sprintf("%.1f MiB", float64(c.Resident)/(1<<20)), fmt.Sprint(c.Threads),
	}
}

func (p *printer) rest(r *Result) {
	for i := range r.Cells {
		if c := &r.Cells[i]; c.Invalid != "" {
			p.say("\nNot valid: %s (%s): %s\n", c.Client, point(c.Payload, c.QoS), c.Invalid)
		}
	}
	for _, s := range r.Skipped {
		p.say("\nNot compared: %s: %s\n", s.Name, s.Why)
	}
}

func micros(ns float64) string {
	switch {
	case ns < 1e3:
		return fmt.Sprintf("%.2f µs", ns/1e3)
	case ns < 1e4:
		return fmt.Sprintf("%.1f µs", ns/1e3)
	case ns < 1e6:
		return fmt.Sprintf("%.0f µs", ns/1e3)
	}
	return fmt.Sprintf("%.1f ms", ns/1e6)
}

func bytes(n int) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}
