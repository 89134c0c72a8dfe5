package show

import (
	"fmt"

	"github.com/mqlab/mqlab/internal/summary"
)

// experiments show what was tried besides the modes.
func (p *page) experiments() {
	p.options()
	p.connections()
	p.leaks()
	p.reconnects()
	p.keepAlives()
}

// options are those that the clients were run with.
func (p *page) options() {
	v := p.r.Variant
	if v == nil {
		return
	}
	p.Section("Options of the clients")
	var rows [][]string
	add := func(name, value string) {
		if value != "" && value != "0" && value != "false" {
			rows = append(rows, []string{name, value})
		}
	}
	add("callback", v.Callback)
	if v.WorkNS > 0 {
		add("work per message", duration(float64(v.WorkNS)))
	}
	add("loop", v.Loop)
	add("garbage collection", v.GC)
	add("containers kept", fmt.Sprint(v.Retain))
	add("TCP_NODELAY", fmt.Sprint(v.NoDelay))
	add("log", fmt.Sprint(v.Log))
	add("TLS", fmt.Sprint(v.TLS))
	add("allocator", v.Allocator)
	add("not pinned", fmt.Sprint(v.Unpinned))
	p.Table(2, []string{"option", "value"}, rows)
}

func (p *page) connections() {
	var rows [][]string
	for i := range p.r.Scaled {
		s := &p.r.Scaled[i]
		if s.Invalid != "" {
			p.invalid = append(p.invalid, []string{s.Client, fmt.Sprintf("%d connections by %s", s.Connections, s.By), "invalid", s.Invalid})
			continue
		}
		row := []string{
			s.Client, fmt.Sprintf("%d %s", s.Connections, s.By), unknown, unknown, orUnknown(s.CPU), unknown, unknown, fmt.Sprint(s.Threads),
		}
		if s.PerSecond > 0 {
			row[2] = summary.Number(s.PerSecond)
		}
		if s.Lone != nil {
			row[3] = duration(s.Lone.P50)
		}
		if s.Memory > 0 {
			row[5] = fmt.Sprintf("%.1f", float64(s.Memory)/(1<<20))
		}
		if s.PerConn != nil {
			row[6] = fmt.Sprintf("%.1f", *s.PerConn/(1<<10))
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return
	}
	p.Section("Several connections")
	p.Say("Msg/s: of a burst over all connections. P50: of lone messages. MiB: memory of all processes; KiB: what every further connection takes.")
	p.Table(2, []string{"client", "by", "msg/s", "p50", "CPU", "MiB", "KiB", "threads"}, rows)
}

func (p *page) leaks() {
	var rows [][]string
	for i := range p.r.Leaks {
		l := &p.r.Leaks[i]
		if l.Invalid != "" {
			p.invalid = append(p.invalid, []string{l.Client, "leak watch", "invalid", l.Invalid})
			continue
		}
		verdict := "no growth shown"
		if l.Grows {
			verdict = "grows"
		}
		rows = append(rows, []string{
			l.Client, summary.Count(uint64(max(0, l.Messages))), summary.Bytes(l.First), summary.Bytes(l.Last), summary.Number(l.Slope),
			summary.Range(summary.Number(l.Low), summary.Number(l.High)), verdict,
		})
	}
	if len(rows) == 0 {
		return
	}
	p.Section("Memory over time")
	p.Say("What memory grew by, in bytes per message under steady load, with its 95 %% interval: it grows only where the interval is above nothing.")
	p.Table(1, []string{"client", "messages", "first", "last", "B/message", "95 %", "verdict"}, rows)
}

func (p *page) reconnects() {
	var rows [][]string
	for i := range p.r.Reconnects {
		c := &p.r.Reconnects[i]
		if c.Invalid != "" {
			p.invalid = append(p.invalid, []string{c.Client, "reconnect, " + c.How, "invalid", c.Invalid})
			continue
		}
		rows = append(rows, []string{
			c.Client, c.How, fmt.Sprint(c.Messages), fmt.Sprint(c.Received), fmt.Sprint(c.Cut), fmt.Sprint(c.Away), fmt.Sprint(c.Deaf),
			orUnknown(float64(c.Reconnected)), orUnknown(float64(c.Subscribed)),
		})
	}
	if len(rows) == 0 {
		return
	}
	p.Section("A cut connection")
	p.Say("Messages lost in the connection that was cut, while there was none (away), and while connected but not subscribed (deaf); times from the cut.")
	p.Table(2, []string{"client", "how", "due", "received", "cut", "away", "deaf", "back after", "subscribed"}, rows)
}

func (p *page) keepAlives() {
	var rows [][]string
	for i := range p.r.KeepAlives {
		k := &p.r.KeepAlives[i]
		if k.Invalid != "" {
			p.invalid = append(p.invalid, []string{k.Client, "keep-alive", "invalid", k.Invalid})
			continue
		}
		rows = append(rows, []string{
			k.Client, duration(float64(k.KeepAlive)), duration(float64(k.Blocked)), fmt.Sprint(k.Pings), yes(k.Disconnected), orUnknown(float64(k.After)),
		})
	}
	if len(rows) == 0 {
		return
	}
	p.Section("A callback longer than the keep-alive")
	p.Table(1, []string{"client", "keep-alive", "blocked", "pings", "disconnected", "after"}, rows)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
