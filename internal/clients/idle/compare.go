package idle

import (
	"errors"
	"fmt"
	"time"
)

// Metric is a figure of a client.
type Metric struct {
	Name string // as its JSON field is called
	Of   func(*Client) *float64
}

// Metrics are the figures of a client.
var Metrics = []Metric{
	{"cpu_ns_per_minute", func(c *Client) *float64 { return c.CPU }},
	{"wakeups_per_minute", func(c *Client) *float64 { return c.Wakeups }},
	{"bytes_per_minute", func(c *Client) *float64 { return c.Bytes }},
	{"packets_per_minute", func(c *Client) *float64 { return c.Packets }},
	{"memory_bytes", func(c *Client) *float64 {
		if c.Memory == 0 {
			return nil
		}
		return new(float64(c.Memory))
	}},
}

// Changes are the figures of two runs, A and B, side by side. Each is one measurement: whether a difference is more than chance is not known.
type Changes struct {
	Schema   int       `json:"schema"`
	Spans    [2]int64  `json:"spans_ns"` // that clients waited
	Changes  []Change  `json:"changes"`
	Versions []Version `json:"versions,omitempty"`
	OnlyA    []string  `json:"only_a,omitempty"` // clients without figures in B
	OnlyB    []string  `json:"only_b,omitempty"`
}

// Change is one figure of a client in both runs.
type Change struct {
	Client string   `json:"client"`
	Metric string   `json:"metric"`
	A      float64  `json:"a"`
	B      float64  `json:"b"`
	Ratio  *float64 `json:"ratio,omitempty"` // B / A; absent where A is 0
}

// Version is a library, or the broker, that is not the same in both.
type Version struct {
	Client string `json:"client"`
	A      string `json:"a"`
	B      string `json:"b"`
}

// Compare puts two runs side by side. The error says why they cannot be.
func Compare(a, b *Result) (*Changes, error) {
	switch {
	case a.Protocol != b.Protocol:
		return nil, fmt.Errorf("run A is of %s, run B of %s", a.Protocol, b.Protocol)
	case a.KeepAlive != b.KeepAlive:
		return nil, fmt.Errorf("keep-alive is %v in A and %v in B", time.Duration(a.KeepAlive), time.Duration(b.KeepAlive))
	}
	c := &Changes{Schema: 1, Spans: [2]int64{a.Span, b.Span}}
	if a.Broker != b.Broker {
		c.Versions = append(c.Versions, Version{"broker", a.Broker, b.Broker})
	}
	for i := range a.Clients {
		x, y := &a.Clients[i], b.client(a.Clients[i].Name)
		if x.Invalid != "" || y == nil || y.Invalid != "" {
			c.OnlyA = append(c.OnlyA, x.Name)
			continue
		}
		c.add(x, y)
	}
	for _, y := range b.Clients {
		if a.client(y.Name) == nil {
			c.OnlyB = append(c.OnlyB, y.Name)
		}
	}
	if len(c.Changes) == 0 {
		return nil, errors.New("no client has figures in both")
	}
	return c, nil
}

func (r *Result) client(name string) *Client {
	for i := range r.Clients {
		if r.Clients[i].Name == name {
			return &r.Clients[i]
		}
	}
	return nil
}

// add puts the figures of a client beside each other.
func (c *Changes) add(x, y *Client) {
	if x.Version != y.Version {
		c.Versions = append(c.Versions, Version{x.Name, x.Version, y.Version})
	}
	for _, m := range Metrics {
		a, b := m.Of(x), m.Of(y)
		if a == nil || b == nil {
			continue
		}
		d := Change{Client: x.Name, Metric: m.Name, A: *a, B: *b}
		if *a != 0 {
			d.Ratio = new(*b / *a)
		}
		c.Changes = append(c.Changes, d)
	}
}
