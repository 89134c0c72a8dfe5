package show

import (
	"fmt"
	"slices"

	"github.com/mqlab/mqlab/internal/clients"
	"github.com/mqlab/mqlab/internal/summary"
)

// payloadWords explain the tables of library × payload.
const (
	workWords  = "Work per message: what the library does, with no wake-up and no sender in it."
	loneWords  = "A lone message: median from the begin of the broker's write to the callback."
	addedWords = "Added to a lone message, beyond the floor of C: paired, message by message."
	jitterWord = "Jitter of lone messages: the 90th percentile less the median."
	cpuWords   = "CPU per message, of all threads, while messages are queued."
	tieWords   = "A letter in common: these cannot be told apart. A floor is a socket and no library, and not ranked."
)

// byPayload shows library × payload by each metric, floors first among those of their language.
func (p *page) byPayload() {
	p.Section("By payload")
	for qos := range 3 {
		at := p.ofQoS(qos)
		if len(at) == 0 {
			continue
		}
		title := ""
		if slices.ContainsFunc(p.points, func(x clients.Point) bool { return x.QoS != qos }) {
			title = fmt.Sprintf(" (QoS %d)", qos)
		}
		p.payloadTable(workWords+title, at, true, func(x clients.Point, name string) string { return p.ranked(clients.Drain, x, name) })
		p.payloadCharts(at, clients.Drain, "Work per message"+title)
		p.payloadTable(loneWords+title, at, true, p.lone)
		p.payloadTable(addedWords+title, at, false, func(x clients.Point, name string) string { return p.ranked(clients.Excess, x, name) })
		p.payloadCharts(at, clients.Excess, "Lone message"+title)
		p.payloadTable(jitterWord+title, at, true, func(x clients.Point, name string) string { return p.ranked(clients.Jitter, x, name) })
		p.payloadTable(cpuWords+title, at, true, func(x clients.Point, name string) string { return p.ranked(clients.CPU, x, name) })
	}
	p.Say("%s", tieWords)
}

func (p *page) ofQoS(qos int) (at []clients.Point) {
	for _, x := range p.points {
		if x.QoS == qos {
			at = append(at, x)
		}
	}
	return at
}

// abreast is how many payloads text shows side by side.
const abreast = 4

func (p *page) payloadTable(words string, at []clients.Point, floors bool, cell func(clients.Point, string) string) {
	parts := 1
	if !p.html {
		parts = (len(at) + abreast - 1) / abreast
	}
	for part := range slices.Chunk(at, (len(at)+parts-1)/parts) {
		head, rows := []string{"client"}, [][]string{}
		for _, x := range part {
			head = append(head, clients.Size(x.Payload))
		}
		for _, k := range p.r.Clients {
			if row, known := p.payloadRow(k.Name, part, cell); known && (floors || !k.Floor) {
				rows = append(rows, row)
			}
		}
		if len(rows) > 0 && words != "" {
			p.Say("%s", words)
			words = ""
		}
		p.Table(1, head, rows)
	}
}

func (p *page) payloadRow(name string, at []clients.Point, cell func(clients.Point, string) string) (row []string, known bool) {
	row = []string{name}
	for _, x := range at {
		text := cell(x, name)
		known = known || text != unknown
		row = append(row, text)
	}
	return row, known
}

// ranked is a median with its marks.
func (p *page) ranked(m clients.Metric, x clients.Point, name string) string {
	f := p.r.Figure(m, x, name)
	if f == nil {
		return p.missing(x, name)
	}
	if f.Marks == "" {
		return duration(f.Median)
	}
	return duration(f.Median) + " " + marks(f)
}

func (p *page) lone(x clients.Point, name string) string {
	if c := p.r.Cell(name, x.Payload, x.QoS); c != nil && c.Invalid == "" && c.Lone != nil {
		return duration(c.Lone.P50)
	}
	return p.missing(x, name)
}

// missing stands where there is no figure.
func (p *page) missing(x clients.Point, name string) string {
	if c := p.r.Cell(name, x.Payload, x.QoS); c != nil && c.Invalid != "" {
		return "invalid"
	}
	return unknown
}

// matrix is what speaks for and against each library.
func (p *page) matrix() {
	intro := []string{
		"Msg/s: what one client takes with nothing else to do. Latency: added to a lone message, beyond the floor of C. MiB: memory of the process, its language included. Lines and traps: the effort. * not told apart from the best, as others are (memory: within 10 % of the least).",
	}
	p.each("Decision matrix", intro, func(x clients.Point) {
		i := slices.IndexFunc(p.d.Matrix, func(m clients.Matrix) bool { return m.Point == x })
		lines := p.d.Choices[len(p.d.Choices)-1].Best
		var rows [][]string
		for _, t := range p.d.Matrix[i].Rows {
			perSecond := unknown
			if t.PerSecond != nil {
				perSecond = starred(summary.Number(t.PerSecond.Median), t.PerSecond.Best)
			}
			memory := unknown
			if t.Memory > 0 {
				memory = starred(fmt.Sprintf("%.1f", float64(t.Memory)/(1<<20)), t.LeastMem)
			}
			rows = append(rows, []string{
				t.Client, perSecond, bestOf(t.Added), bestOf(t.Jitter), bestOf(t.CPU), memory,
				starred(fmt.Sprint(t.Lines), slices.Contains(lines, t.Client)), fmt.Sprint(t.Traps),
			})
		}
		p.Table(1, []string{"client", "msg/s", "latency", "jitter", "CPU", "MiB", "lines", "traps"}, rows)
	})
}

func bestOf(f *clients.Figure) string {
	if f == nil {
		return unknown
	}
	return starred(duration(f.Median), f.Best)
}

// ranks are the orders by each metric, with intervals.
func (p *page) ranks() {
	intro := []string{"Medians of the rounds with their 95 % intervals, the best first. A letter in common: these cannot be told apart."}
	p.each("Ranks", intro, func(x clients.Point) {
		if p.html {
			p.bars(x)
		}
		p.Beside(func() {
			for _, m := range clients.Metrics {
				p.ranking(m, x)
			}
		})
	})
}

func (p *page) ranking(m clients.Metric, x clients.Point) {
	k := p.r.Ranking(m, x)
	if k == nil {
		return
	}
	var rows [][]string
	for _, row := range k.Rows {
		f := p.r.Figure(m, x, row.Client)
		rows = append(rows, []string{row.Client, library(p.r, row.Client), median(f), interval(f, summary.Nanoseconds), marks(f)})
	}
	p.Table(2, []string{"client", "library", metricWords[m], "95 %", "tie"}, rows)
}

// costs are the rest of what a message costs.
func (p *page) costs() {
	intro := []string{
		"P50, p90: of lone messages, from the begin of the write to the callback. Calls: system calls per message, of a lone one and of queued ones. In callback: by a clock inside the callback, as a program measures itself; that is not a latency: nothing of the library is in it.",
	}
	p.each("What a message costs", intro, func(x clients.Point) {
		var rows [][]string
		for _, k := range p.r.Clients {
			c := p.r.Cell(k.Name, x.Payload, x.QoS)
			if c == nil || c.Invalid != "" || c.Lone == nil {
				continue
			}
			rows = append(rows, []string{
				k.Name, duration(c.Lone.P50), duration(c.Lone.P90), orUnknown(c.InCallback), perhapsNumber(c.Syscalls), perhapsNumber(c.SyscallsDrain),
				perhapsNumber(c.Allocations), fmt.Sprint(c.Threads),
			})
		}
		p.Table(1, []string{"client", "p50", "p90", "in callback", "calls", "queued", "allocs", "threads"}, rows)
	})
}

// effort shows what a library asks of those who write a program.
func (p *page) effort() {
	p.Section("Effort and traps")
	if len(p.d.Efforts) == 0 {
		return
	}
	p.Say("Lines that connect, subscribe and receive, counted in the programs that were measured here (comments and braces left out). Traps are documented by others: the source is named.")
	var rows [][]string
	var texts []string
	for _, e := range p.d.Efforts {
		rows = append(rows, []string{e.Client, library(p.r, e.Client), fmt.Sprint(e.Lines), fmt.Sprint(len(e.Traps))})
		for _, t := range e.Traps {
			text := t.Text
			if p.o.Chinese {
				text = t.Chinese
			}
			texts = append(texts, fmt.Sprintf("%s: %s [%s]", e.Client, text, t.Source))
		}
	}
	p.Table(2, []string{"client", "library", "lines", "traps"}, rows)
	p.Points(texts...)
}
