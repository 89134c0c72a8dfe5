package clients

import (
	"errors"
	"slices"

	"github.com/mqlab/mqlab/internal/stat"
)

// Change is how a client differs between two comparisons, A and B, by one metric at one point.
type Change struct {
	Client string `json:"client"`
	Floor  bool   `json:"floor,omitempty"`
	Point
	Metric    Metric         `json:"metric"`
	A         *Figure        `json:"a"`
	B         *Figure        `json:"b"`
	Ratio     *stat.Interval `json:"ratio_ci,omitempty"` // of B / A; absent where values are not all positive
	P         float64        `json:"p"`
	AdjustedP float64        `json:"adjusted_p"` // for the number of changes that were looked at
	Different bool           `json:"different"`
}

// Changes are those of all clients that two comparisons share.
type Changes struct {
	Changes  []Change  `json:"changes"`
	Versions []Version `json:"versions,omitempty"`
	Isolated bool      `json:"isolation_differs,omitempty"`
	OnlyA    []string  `json:"only_a,omitempty"` // client, payload and QoS without a valid result in B
	OnlyB    []string  `json:"only_b,omitempty"`
}

// Version is a library that is not the same in both.
type Version struct {
	Client string `json:"client"`
	A      string `json:"a"`
	B      string `json:"b"`
}

// Compare pairs two comparisons by client, payload and QoS. A change is one only where the bootstrap interval of the ratio excludes 1 and
// the rank test, adjusted by Holm for all that is looked at, finds it. The error says that they share nothing.
func Compare(a, b *Result) (*Changes, error) {
	c := &Changes{Isolated: a.Host.Pinned != b.Host.Pinned || a.Host.RealTime != b.Host.RealTime}
	for _, k := range a.Clients {
		for _, o := range b.Clients {
			if o.Name == k.Name && o.Version != k.Version {
				c.Versions = append(c.Versions, Version{k.Name, k.Version, o.Version})
			}
		}
	}
	for i := range a.Cells {
		x := &a.Cells[i]
		other := b.Cell(x.Client, x.Payload, x.QoS)
		if x.Invalid != "" || other == nil || other.Invalid != "" {
			c.OnlyA = append(c.OnlyA, x.name())
			continue
		}
		c.add(a, b, x, other)
	}
	for i := range b.Cells {
		x := &b.Cells[i]
		if a.Cell(x.Client, x.Payload, x.QoS) == nil {
			c.OnlyB = append(c.OnlyB, x.name())
		}
	}
	if len(c.Changes) == 0 {
		return nil, errors.New("no client has a valid result with the same payload and QoS in both")
	}
	c.adjust()
	return c, nil
}

func (c *Cell) name() string { return c.Client + " (" + c.point().String() + ")" }

// add compares a cell by every metric that both have.
func (c *Changes) add(a, b *Result, x, y *Cell) {
	for _, m := range Metrics {
		if len(x.Rounds(m)) == 0 || len(y.Rounds(m)) == 0 || m == Excess && isZero(x.Excess) {
			continue // what the floor of C adds to itself is nothing
		}
		v := stat.Compare(y.Rounds(m), x.Rounds(m), a.Seed)
		c.Changes = append(c.Changes, Change{
			Client: x.Client, Floor: a.isFloor(x.Client), Point: x.point(), Metric: m, A: a.Figure(m, x.point(), x.Client), B: b.Figure(m, x.point(), x.Client),
			Ratio: v.Ratio, P: v.P, Different: v.Verdict == stat.Different,
		})
	}
}

func isZero(list []float64) bool {
	return !slices.ContainsFunc(list, func(v float64) bool { return v != 0 })
}

func (r *Result) isFloor(name string) bool {
	for _, k := range r.Clients {
		if k.Name == name {
			return k.Floor
		}
	}
	return false
}

// adjust makes up for the number of changes.
func (c *Changes) adjust() {
	ps := make([]float64, len(c.Changes))
	for i := range c.Changes {
		ps[i] = c.Changes[i].P
	}
	for i, p := range stat.Holm(ps) {
		c.Changes[i].AdjustedP = p
		c.Changes[i].Different = c.Changes[i].Different && p <= stat.Alpha
	}
}
