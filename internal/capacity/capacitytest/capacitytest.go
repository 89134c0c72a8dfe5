// Package capacitytest makes runs of searches for tests: brokers of a known capacity, carried through as a real run would.
package capacitytest

import (
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/capacity"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/run/runtest"
	"github.com/mqlab/mqlab/internal/summary"
)

// Capacities are what the brokers of Plan sustain, in messages per second.
var Capacities = map[string]float64{"mochi": 700, "nats": 1500}

// Plan searches the rate of two brokers from 100/s to 4,000/s in steps of 10 %.
func Plan() plan.Plan {
	p := plan.Plan{
		Scenario: "capacity", Description: "A search made up for tests.", Seed: 42, Repeat: 1,
		Subjects: []plan.Subject{runtest.Subject("mochi"), runtest.Subject("nats")},
		Search: &plan.Search{
			Vary: plan.VaryRate, From: 100, To: 4000, Step: 0.1, Confirm: 3, Need: 1000, Longest: 10 * time.Second,
			Limits: []string{"p95 < 50ms", "lost = 0", "achieved >= 98 %"},
		},
	}
	for i, s := range p.Subjects {
		t := plan.Trial{Cell: i + 1, Point: 1, Repetition: 1, Seed: 7, Subject: s, Params: runtest.Params()}
		t.Params.RatePerS = 100
		p.Trials = append(p.Trials, t)
	}
	return p
}

// Overload makes a trial what it would be at its broker: beyond the capacity the rest is lost and the CPU is used up, close to it
// messages wait.
func Overload(t plan.Trial) runtest.Trial {
	most, rate := Capacities[t.Subject.Broker], t.Params.RatePerS
	out := runtest.Trial{
		Plan: t, Median: time.Duration(200e3 / max(1-rate/most, 0.01)), BrokerMS: 950 * min(rate/most, 1), PSSBytes: 10 << 20,
	}
	if lost := (rate - most) * t.Params.Phases.Measure.Seconds(); lost > 0 {
		out.Lost = uint64(lost)
	}
	return out
}

// Carry carries a plan out, at most so many trials, and returns what is in its folder then.
func Carry(tb testing.TB, p plan.Plan, most int, measure func(plan.Trial) runtest.Trial) *run.Run {
	tb.Helper()
	hunt, err := capacity.New(&p)
	if err != nil {
		tb.Fatal(err)
	}
	var trials []runtest.Trial
	for range most {
		t, more := hunt.Next()
		if !more {
			break
		}
		trials = append(trials, measure(t))
		one := runtest.WritePlan(tb, p, trials[len(trials)-1:])
		hunt.Add(summary.Single(&one.Trials[0]), t.ID)
	}
	return runtest.WritePlan(tb, p, trials)
}
