package show

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"github.com/mqlab/mqlab/agents"
	"github.com/mqlab/mqlab/internal/clients"
)

// column is one of the CSV; an empty cell is not known.
type column struct {
	name string
	of   func(*clients.Result, *clients.Client, *clients.Cell) string
}

func exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func perhaps(v *float64) string {
	if v == nil {
		return ""
	}
	return exact(*v)
}

func ofLone(get func(*clients.Lone) float64) func(*clients.Result, *clients.Client, *clients.Cell) string {
	return func(_ *clients.Result, _ *clients.Client, c *clients.Cell) string {
		if c.Lone == nil || get(c.Lone) == 0 {
			return ""
		}
		return exact(get(c.Lone))
	}
}

// ofCell is a column of a valid cell; 0 stands where nothing is known.
func ofCell(get func(*clients.Cell) float64) func(*clients.Result, *clients.Client, *clients.Cell) string {
	return func(_ *clients.Result, _ *clients.Client, c *clients.Cell) string {
		if c.Invalid != "" || get(c) == 0 {
			return ""
		}
		return exact(get(c))
	}
}

func ofBreakdown(get func(*clients.Breakdown) *float64) func(*clients.Result, *clients.Client, *clients.Cell) string {
	return func(_ *clients.Result, _ *clients.Client, c *clients.Cell) string {
		if c.Breakdown == nil {
			return ""
		}
		return perhaps(get(c.Breakdown))
	}
}

// columns are those of the CSV: figures as in JSON, medians and intervals of rounds computed from it.
func columns() []column {
	list := []column{
		{"client", func(_ *clients.Result, k *clients.Client, _ *clients.Cell) string { return k.Name }},
		{"language", func(_ *clients.Result, k *clients.Client, _ *clients.Cell) string { return k.Language }},
		{"library", func(_ *clients.Result, k *clients.Client, _ *clients.Cell) string { return k.Library }},
		{"version", func(_ *clients.Result, k *clients.Client, _ *clients.Cell) string { return k.Version }},
		{"floor", func(_ *clients.Result, k *clients.Client, _ *clients.Cell) string { return strconv.FormatBool(k.Floor) }},
		{"payload_bytes", func(_ *clients.Result, _ *clients.Client, c *clients.Cell) string { return fmt.Sprint(c.Payload) }},
		{"qos", func(_ *clients.Result, _ *clients.Client, c *clients.Cell) string { return fmt.Sprint(c.QoS) }},
		{"invalid", func(_ *clients.Result, _ *clients.Client, c *clients.Cell) string { return c.Invalid }},
		{"messages", func(_ *clients.Result, _ *clients.Client, c *clients.Cell) string { return fmt.Sprint(c.Messages) }},
		{"received", func(_ *clients.Result, _ *clients.Client, c *clients.Cell) string { return fmt.Sprint(c.Received) }},
	}
	for _, m := range clients.Metrics {
		list = append(list, metricColumns(m)...)
	}
	return append(list, []column{
		{"lone_count", ofLone(func(l *clients.Lone) float64 { return float64(l.Count) })},
		{"lone_min_ns", ofLone(func(l *clients.Lone) float64 { return l.Min })},
		{"lone_p50_ns", ofLone(func(l *clients.Lone) float64 { return l.P50 })},
		{"lone_p90_ns", ofLone(func(l *clients.Lone) float64 { return l.P90 })},
		{"lone_p99_ns", ofLone(func(l *clients.Lone) float64 { return l.P99 })},
		{"in_callback_p50_ns", ofCell(func(c *clients.Cell) float64 { return c.InCallback })},
		{"cpu_per_message_ns", ofCell(func(c *clients.Cell) float64 { return c.CPU })},
		{"breakdown_total_ns", ofBreakdown(func(b *clients.Breakdown) *float64 { return &b.Total })},
		{"breakdown_network_ns", ofBreakdown(func(b *clients.Breakdown) *float64 { return b.Network })},
		{"breakdown_wake_ns", ofBreakdown(func(b *clients.Breakdown) *float64 { return b.Wake })},
		{"breakdown_dispatch_ns", ofBreakdown(func(b *clients.Breakdown) *float64 { return b.Dispatch })},
		{"breakdown_callback_ns", ofBreakdown(func(b *clients.Breakdown) *float64 { return &b.Callback })},
		{"breakdown_rest_ns", ofBreakdown(func(b *clients.Breakdown) *float64 { return b.Rest })},
		{"syscalls_per_message", func(_ *clients.Result, _ *clients.Client, c *clients.Cell) string { return perhaps(c.Syscalls) }},
		{"syscalls_per_message_drain", func(_ *clients.Result, _ *clients.Client, c *clients.Cell) string { return perhaps(c.SyscallsDrain) }},
		{"io_calls_per_message", ofCell(func(c *clients.Cell) float64 { return c.Calls })},
		{"allocations_per_message", func(_ *clients.Result, _ *clients.Client, c *clients.Cell) string { return perhaps(c.Allocations) }},
		{"allocated_per_message_bytes", func(_ *clients.Result, _ *clients.Client, c *clients.Cell) string { return perhaps(c.Allocated) }},
		{"rss_bytes", ofCell(func(c *clients.Cell) float64 { return float64(c.Resident) })},
		{"threads", ofCell(func(c *clients.Cell) float64 { return float64(c.Threads) })},
		{"lines", func(_ *clients.Result, k *clients.Client, _ *clients.Cell) string {
			if k.Floor {
				return ""
			}
			return fmt.Sprint(agents.Lines(k.Name))
		}},
		{"traps", func(_ *clients.Result, k *clients.Client, _ *clients.Cell) string {
			if k.Floor {
				return ""
			}
			return fmt.Sprint(len(clients.Traps(k.Name)))
		}},
	}...)
}

// bound is an end of an interval; one round has none.
func bound(f *clients.Figure, v float64) string {
	if f.Low == 0 && f.High == 0 {
		return ""
	}
	return exact(v)
}

// metricColumns are median, interval and marks of a metric.
func metricColumns(m clients.Metric) (list []column) {
	parts := []struct {
		suffix string
		of     func(*clients.Figure) string
	}{
		{"_ns", func(f *clients.Figure) string { return exact(f.Median) }},
		{"_ci_low_ns", func(f *clients.Figure) string { return bound(f, f.Low) }},
		{"_ci_high_ns", func(f *clients.Figure) string { return bound(f, f.High) }},
		{"_marks", func(f *clients.Figure) string { return f.Marks }},
	}
	for _, part := range parts {
		list = append(list, column{string(m) + part.suffix, func(r *clients.Result, k *clients.Client, c *clients.Cell) string {
			f := r.Figure(m, clients.Point{Payload: c.Payload, QoS: c.QoS}, k.Name)
			if f == nil {
				return ""
			}
			return part.of(f)
		}})
	}
	return list
}

func writeCSV(w io.Writer, r *clients.Result) error {
	out := csv.NewWriter(w)
	all := columns()
	head := make([]string, len(all))
	for i, c := range all {
		head[i] = c.name
	}
	_ = out.Write(head) // the writer keeps the error
	for i := range r.Cells {
		c := &r.Cells[i]
		for k := range r.Clients {
			if r.Clients[k].Name != c.Client {
				continue
			}
			row := make([]string, len(all))
			for n, col := range all {
				row[n] = col.of(r, &r.Clients[k], c)
			}
			_ = out.Write(row)
		}
	}
	out.Flush()
	return out.Error()
}
