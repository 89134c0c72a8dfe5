package plan

import (
	"math"
	"time"
)

// Estimate is what a trial or a whole plan will need.
type Estimate struct {
	Trials       int   `json:"trials"`
	BrokerStarts int   `json:"broker_starts"`
	Messages     int64 `json:"messages,omitempty"`      // offered while measuring
	Deliveries   int64 `json:"deliveries,omitempty"`    // that these should cause
	PayloadBytes int64 `json:"payload_bytes,omitempty"` // of messages and deliveries, without any protocol's overhead
	// AsFastAsPossible counts the trials whose messages cannot be foretold and are in no sum.
	AsFastAsPossible int           `json:"as_fast_as_possible_trials,omitempty"`
	Duration         time.Duration `json:"duration_ns"`            // if nothing is late
	DurationMax      time.Duration `json:"duration_max_ns"`        // if every drain takes its whole time
	Connections      int           `json:"connections"`            // most at one time
	Generators       int           `json:"generators,omitempty"`   // processes of mqlab that have them, most at one time
	OpenFiles        int           `json:"open_files"`             // for them, in each of these processes; without its own
	BrokerFiles      int           `json:"broker_files,omitempty"` // likewise, in each broker that is started here
	Ports            int           `json:"ports"`                  // one for each connection, one for the broker; and those that ended connections of churn keep back
	PortsAway        int           `json:"ports_away,omitempty"`   // of them, those towards a broker that may be on another host
}

// Allowances for what takes time but is no phase.
const (
	startStop     = 600 * time.Millisecond // of a broker that we start
	perConnection = 200 * time.Microsecond // TCP, protocol and subscription
	shortDrain    = 50 * time.Millisecond  // when everything has arrived
	linkTest      = 11 * time.Second       // of a link, before its first trial
)

// Estimate says what all trials need together.
func (p *Plan) Estimate() Estimate {
	if p.Search != nil {
		return p.estimateSearch()
	}
	var sum Estimate
	links := map[Link]bool{}
	for i := range p.Trials {
		e := p.Trials[i].Estimate()
		if l := p.Trials[i].Params.Link; l.Emulated() && !links[l] {
			links[l] = true
			e.Duration += linkTest
			e.DurationMax += linkTest
		}
		sum.Trials += e.Trials
		sum.BrokerStarts += e.BrokerStarts
		sum.Messages += e.Messages
		sum.Deliveries += e.Deliveries
		sum.PayloadBytes += e.PayloadBytes
		sum.AsFastAsPossible += e.AsFastAsPossible
		sum.Duration += e.Duration
		sum.DurationMax += e.DurationMax
		sum.Connections = max(sum.Connections, e.Connections)
		sum.Generators = max(sum.Generators, e.Generators)
		sum.OpenFiles = max(sum.OpenFiles, e.OpenFiles)
		sum.BrokerFiles = max(sum.BrokerFiles, e.BrokerFiles)
		sum.Ports = max(sum.Ports, e.Ports)
		sum.PortsAway = max(sum.PortsAway, e.PortsAway)
	}
	return sum
}

// Estimate says what the trial needs.
func (t *Trial) Estimate() Estimate {
	p := &t.Params
	messages := math.Round(p.messages())
	deliveries := messages * float64(p.Fan())
	lingering := p.Connect.Lingering()
	e := Estimate{
		Trials:       1,
		Messages:     int64(messages),
		Deliveries:   int64(deliveries),
		PayloadBytes: int64((messages + deliveries) * float64(p.PayloadBytes)),
		Connections:  t.Connections(),
		Generators:   p.Generators,
		OpenFiles:    t.largest(p.Generators) + 1,
		Ports:        t.Connections() + 1 + lingering,
		DurationMax:  t.longest(),
	}
	e.Duration = e.DurationMax - p.Phases.Drain + min(p.Phases.Drain, shortDrain)
	if t.Subject.Runtime == "external" {
		e.PortsAway = t.Connections() + lingering
	} else {
		e.BrokerStarts = t.starts()
	}
	if t.Subject.Runtime == "embedded" || t.Subject.Runtime == "process" {
		e.BrokerFiles = t.brokerFiles()
	}
	if p.Pacing == "max" {
		e.AsFastAsPossible = 1
	}
	return e
}

// longest is how long the trial takes with its whole drain.
func (t *Trial) longest() time.Duration {
	p := &t.Params
	connect := time.Duration(t.Connections()) * perConnection
	if rate := p.Connect.RatePerS; rate > 0 {
		connect = max(connect, time.Duration(float64(t.Connections())/rate*float64(time.Second)))
	}
	d := connect + p.Phases.Settle + p.Phases.WarmUp + p.Phases.Measure + p.Phases.Drain
	if t.Subject.Runtime != "external" {
		d += startStop * time.Duration(t.starts())
	}
	return d
}

// brokerFiles is how many connections one broker takes, and one file on which it listens. Behind a bridge are half of them.
func (t *Trial) brokerFiles() int {
	instances := max(t.Params.Instances, 1)
	return (t.Params.connections()+instances-1)/instances + t.Params.Connect.visitors() + 1
}

// starts is how many brokers are started.
func (t *Trial) starts() int {
	if t.Subject.Bridge != nil {
		return 2
	}
	return max(t.Params.Instances, 1)
}

// Connections are those of publishers and subscribers, and of those that hear at the near end of a bridge.
func (t *Trial) Connections() int {
	n := t.Params.connections()
	if each := t.Params.Connect.Channels; each > 0 && t.Subject.Subscribe == "" {
		n = (n + each - 1) / each
	}
	if t.Subject.Bridge != nil {
		n += t.Params.Subscribers
	}
	return n
}

func (p *Params) connections() int { return p.Publishers + p.Subscribers }

// messages is how many are expected to be due while measuring; 0 if they are sent as fast as possible.
func (p *Params) messages() float64 {
	if p.Pacing == "max" {
		return 0
	}
	rate := p.spreadRate()
	if p.RampToPerS > 0 {
		rate = (rate + p.RampToPerS) / 2
	}
	n := rate * p.Phases.Measure.Seconds()
	if p.Burst.Every > 0 {
		bursts := (p.Phases.Measure - 1) / p.Burst.Every
		n += float64(bursts) * float64(p.Burst.Count)
	}
	return n
}
