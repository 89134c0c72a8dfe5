package clients

import (
	"fmt"

	"github.com/mqlab/mqlab/internal/stat"
)

// perPoint prints a table for each payload and QoS, of the clients that have a row.
func (p *printer) perPoint(r *Result, title string, head []string, row func(c *Cell) []string, foot string) {
	last, any := "", false
	rows := [][]string{}
	flush := func() {
		if len(rows) > 1 {
			p.say("\n%s (%s)\n", title, last)
			p.table(rows)
			any = true
		}
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		if at := point(c.Payload, c.QoS); at != last {
			flush()
			rows, last = [][]string{head}, at
		}
		if cells := row(c); cells != nil && c.Invalid == "" {
			rows = append(rows, append([]string{"  " + c.Client}, cells...))
		}
	}
	flush()
	if any {
		p.say("%s", foot)
	}
}

// parts shows where the time of single messages goes.
func (p *printer) parts(r *Result) {
	head := []string{"  client", "total", "network", "wake-up", "dispatch", "callback", "calls", "drained"}
	p.perPoint(r, "Where the time of a single message goes", head, (*Cell).partsRow,
		"  network: kernel, until a thread of the client is woken. wake-up: until it runs\n"+
			"  again. dispatch: reading, parsing, other threads. Means of the middle half of\n"+
			"  the messages. calls, drained: system calls a message, alone and from a queue.\n")
	for i := range r.Cells {
		if b := r.Cells[i].Breakdown; b != nil && b.Why != "" {
			p.say("  Not told apart: %s: %s.\n", r.Cells[i].Client, b.Why)
		}
	}
	if r.Untraced != "" {
		p.say("  Parts and system calls are not known: %s.\n", r.Untraced)
	}
}

func (c *Cell) partsRow() []string {
	b := c.Breakdown
	if b == nil {
		return nil
	}
	return []string{
		micros(b.Total), microsOf(b.Network), microsOf(b.Wake), microsOf(b.Dispatch), micros(b.Callback), number(c.Syscalls), number(c.SyscallsDrain),
	}
}

func microsOf(ns *float64) string {
	if ns == nil {
		return "–"
	}
	return micros(*ns)
}

func number(n *float64) string {
	if n == nil {
		return "–"
	}
	return fmt.Sprintf("%.1f", *n)
}

// flows shows the modes that are not ranked.
func (p *printer) flows(r *Result) {
	head := []string{"  client", "paced p50", "p90", "burst", "queue p50", "p90"}
	p.perPoint(r, "On a schedule, and as fast as the client takes them", head, (*Cell).flowsRow,
		"  paced: write to callback, one client alone. burst: messages a second. queue:\n"+
			"  their time in the burst, mostly behind others: no latency of the library.\n")
}

func (c *Cell) flowsRow() []string {
	row := []string{"–", "–", "–", "–", "–"}
	if c.Paced == nil && c.Burst == nil {
		return nil
	}
	if b := c.Paced; b != nil {
		row[0], row[1] = micros(b.Latency.P50), micros(b.Latency.P90)
	}
	if b := c.Burst; b != nil {
		row[2], row[3], row[4] = rate(stat.Median(b.PerSecond)), micros(b.Queueing.P50), micros(b.Queueing.P90)
	}
	return row
}

// rate is messages a second.
func rate(n float64) string {
	switch {
	case n >= 1e5:
		return fmt.Sprintf("%.0fk/s", n/1e3)
	case n >= 1e3:
		return fmt.Sprintf("%.1fk/s", n/1e3)
	}
	return fmt.Sprintf("%.0f/s", n)
}
