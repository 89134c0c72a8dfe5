package clients

import (
	"fmt"
	"strings"
	"time"
)

// Plan is what a comparison would do.
type Plan struct {
	Clients  []string      `json:"clients"`
	Floors   []string      `json:"floors"`
	Protocol string        `json:"protocol"`
	Points   []PlannedStep `json:"points"`
	Besides  []string      `json:"experiments,omitempty"` // not in the estimate
	Estimate time.Duration `json:"estimate_ns"`           // if all clients are installed
}

// PlannedStep is all clients at one point.
type PlannedStep struct {
	Point
	Modes    []PlannedMode `json:"modes"`
	Estimate time.Duration `json:"estimate_ns"`
}

// PlannedMode is what every client gets in a mode.
type PlannedMode struct {
	Mode     Mode          `json:"mode"`
	Rounds   int           `json:"rounds"`
	Messages int           `json:"messages"` // of a round
	Interval time.Duration `json:"interval_ns,omitempty"`
	Estimate time.Duration `json:"estimate_ns"` // for all clients
}

// What estimates assume, by what was seen: the start of a client; what a client needs around a drain or a burst; its work per message, and
// per byte.
const (
	startTime  = 350 * time.Millisecond
	aroundTime = 15 * time.Millisecond
	workTime   = 15 * time.Microsecond
	byteTime   = 1.2 // ns
)

// PlanOf says what a comparison would do, and about how long it takes.
func PlanOf(o *Options) *Plan {
	p := &Plan{Protocol: o.Protocol, Clients: []string{}, Floors: []string{}}
	for _, a := range o.Clients {
		if a.Floor {
			p.Floors = append(p.Floors, a.Name)
		} else {
			p.Clients = append(p.Clients, a.Name)
		}
	}
	p.Besides = o.besides()
	for _, qos := range o.QoS {
		for _, payload := range o.Payloads {
			if o.Modes != nil && len(o.Modes) == 0 {
				return p // experiments alone
			}
			step := o.step(Point{payload, qos})
			p.Points = append(p.Points, step)
			p.Estimate += step.Estimate
		}
	}
	return p
}

// besides are the experiments that are asked for.
func (o *Options) besides() (list []string) {
	if len(o.Connections) > 0 {
		list = append(list, fmt.Sprintf("%v connections of one client at once, by %s", o.Connections, strings.Join(o.By, ", ")))
	}
	if o.Leak > 0 {
		list = append(list, fmt.Sprintf("memory watched for %v", o.Leak))
	}
	for _, how := range o.Reconnect {
		list = append(list, "a connection that is cut: "+how)
	}
	if o.Block > 0 {
		list = append(list, fmt.Sprintf("a callback that blocks for %v", o.Block))
	}
	return list
}

// counting are the clients whose allocations are counted from outside, in a process of its own.
func (o *Options) counting() (n time.Duration) {
	for _, a := range o.Clients {
		if a.Options().Allocation && o.Allocator == "" {
			n++
		}
	}
	return n
}

// step plans a point, as session.run carries it out.
func (o *Options) step(at Point) PlannedStep {
	s := &session{o: o, payload: at.Payload}
	n := time.Duration(len(o.Clients))
	busy := time.Duration(s.drained()) * (workTime + time.Duration(byteTime*float64(at.Payload)))
	warm, _ := s.singles(warmUp)
	lone, every := s.singles(o.Lone)
	traced := max(s.interval(), n*o.Interval)
	step := PlannedStep{Point: at, Estimate: n*startTime + n*time.Duration(warm)*every}
	for _, m := range []PlannedMode{
		{PairedMode, o.Rounds, lone, every, n * time.Duration(o.Rounds*lone) * every},
		{DrainMode, o.Rounds, s.drained(), 0, n * time.Duration(o.Rounds) * (aroundTime + busy)},
		{PacedMode, 1, o.Paced, s.interval(), n * time.Duration(o.Paced) * s.interval()},
		{BurstMode, o.Bursts, s.drained(), 0, n * time.Duration(o.Bursts) * (aroundTime + busy)},
		{BreakdownMode, 1, o.Traced, traced, n * (time.Duration(o.Traced)*traced + aroundTime + busy)},
		{AllocationsMode, 1, s.drained(), 0, o.counting() * (startTime + aroundTime + busy)},
	} {
		if o.has(m.Mode) && m.Rounds > 0 && m.Messages > 0 && (m.Mode != AllocationsMode || m.Estimate > 0) {
			step.Modes = append(step.Modes, m)
			step.Estimate += m.Estimate
		}
	}
	return step
}
