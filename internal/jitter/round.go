package jitter

import (
	"fmt"

	"github.com/mqlab/mqlab/internal/diagnose"
	"github.com/mqlab/mqlab/internal/summary"
)

// Round is what one round of a case gave.
type Round struct {
	Trial     int              `json:"trial"` // the folder of its messages
	Validity  summary.Validity `json:"validity"`
	Reasons   []summary.Reason `json:"reasons"`
	Counts    Counts           `json:"counts"`
	Service   Figures          `json:"service"`  // from the call that publishes to the callback
	Response  Figures          `json:"response"` // from when a message was due
	Lateness  Figures          `json:"lateness"` // from when it was due to the call: the client's own
	Control   Control          `json:"control"`
	Modes     []Mode           `json:"modes"`
	Histogram []Bin            `json:"histogram"`
	Rhythm    *Rhythm          `json:"rhythm,omitempty"`
	Timeline  []Slot           `json:"timeline"`
	Burst     *Burst           `json:"burst,omitempty"`
	Diagnosis *diagnose.Said   `json:"diagnosis,omitempty"`
	Marks     []Mark           `json:"marks"`

	times, responses []int64 // of the steady messages
	found            *diagnose.Result
}

// Counts are of single messages, by their numbers.
type Counts struct {
	Planned   int `json:"planned"`
	Published int `json:"published"`
	Answered  int `json:"answered"`
	Lost      int `json:"lost"`                // published and never answered
	Late      int `json:"late"`                // answered after the next message was due
	UnderWay  int `json:"under_way,omitempty"` // published when the round was ended, behind the last that was answered: neither answered nor lost
	Strays
}

// Mark is when a cause was at work, in ns since the first message.
type Mark struct {
	Cause diagnose.Cause `json:"cause"`
	From  int64          `json:"from_ns"`
	To    int64          `json:"to_ns"`
}

// Found is the diagnosis of the round's steady messages.
func (o *Round) Found() *diagnose.Result { return o.found }

// newRound folds the messages of a round.
func newRound(c *Case, trial int, r *Result) *Round {
	in := *r.Input
	underWay := 0
	if r.Cut {
		for n := len(in.Messages); n > 0 && in.Messages[n-1].Lost; n-- {
			in.Messages = in.Messages[:n-1]
			underWay++
		}
	}
	s := newSeries(c, &in)
	steady := s.steady()
	o := &Round{
		Trial: trial, Counts: Counts{Planned: c.messages(), Published: r.Sent, Answered: r.Answered, Lost: r.Sent - r.Answered - underWay, UnderWay: underWay, Strays: r.Strays},
		Control: r.Control, Timeline: s.timeline(), Burst: s.burst(), Rhythm: rhythmOf(s.ticks(), int64(c.Interval)), Marks: []Mark{},
		times: times(steady, service), responses: times(steady, response),
	}
	for _, t := range times(s.all, response) {
		if t > int64(c.Interval) {
			o.Counts.Late++
		}
	}
	o.Service, o.Response = figuresOf(o.times, len(steady)), figuresOf(o.responses, len(steady))
	var late []int64
	for _, m := range steady {
		late = append(late, m.Sent-m.Due)
	}
	o.Lateness = figuresOf(late, len(late))
	o.Modes, o.Histogram = modesOf(o.times), histogramOf(o.times)
	in.Messages = steady
	o.found = diagnose.Diagnose(&in)
	o.Diagnosis = o.found.In("en")
	for _, f := range o.found.Findings {
		for _, span := range f.Spans {
			o.Marks = append(o.Marks, Mark{f.Cause, span.From - s.begin, span.To - s.begin})
		}
	}
	o.judge(c, r)
	return o
}

// What part of the excess latency the host's own noise may explain.
const (
	noiseWarns       = 0.1
	noiseInvalidates = 0.5
)

// judge says whether the round can be trusted.
func (o *Round) judge(c *Case, r *Result) {
	o.Validity, o.Reasons = summary.Valid, []summary.Reason{}
	add := func(level summary.Validity, code, format string, args ...any) {
		o.Reasons = append(o.Reasons, summary.Reason{Level: level, Code: code, Text: fmt.Sprintf(format, args...)})
		if level == summary.Invalid || o.Validity == summary.Valid {
			o.Validity = level
		}
	}
	switch {
	case r.Sent == 0:
		add(summary.Invalid, "nothing_sent", "the client published nothing")
	case r.Answered == 0:
		add(summary.Invalid, "no_answer", "no message came back: is there an echo, on these topics?")
	}
	if r.Strays.Dropped > 0 {
		add(summary.Invalid, "samples_dropped", "the client had no room for %d records", r.Strays.Dropped)
	}
	if r.Cut {
		add(summary.Warning, "interrupted", "ended early: %d of %d messages", r.Sent, c.messages())
	} else if r.Sent > 0 && r.Sent < c.messages() {
		add(summary.Invalid, "not_all_sent", "the client published %d of %d messages", r.Sent, c.messages())
	}
	for _, f := range o.found.Findings {
		switch {
		case f.Cause != diagnose.HostNoise:
		case f.Share >= noiseInvalidates:
			add(summary.Invalid, "host_noise", "a probe beside the client was slow at the same times: they hold %.0f %% of the excess latency", f.Share*100)
		case f.Share >= noiseWarns:
			add(summary.Warning, "host_noise", "a probe beside the client was slow at the same times: they hold %.0f %% of the excess latency", f.Share*100)
		}
	}
	if r.Control.Probes == 0 && r.Sent > 0 {
		add(summary.Warning, "no_control", "no probe ran beside the client: noise of the host is not told apart")
	}
}
