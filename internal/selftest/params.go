package selftest

import (
	"time"

	"github.com/mqlab/mqlab/internal/plan"
)

// trialOf returns a trial of one publisher and one subscriber; tune changes what a check wants otherwise.
func trialOf(id int, engine, protocol string, tune func(p *plan.Params)) plan.Trial {
	p := plan.Params{
		Pattern: plan.PatternPairs, Publishers: 1, Subscribers: 1,
		RatePerS: 100, Pacing: plan.PacingConstant,
		PayloadBytes: 64, PayloadForm: plan.PayloadBinary,
		Window: 100, Topic: "mqlab/{run}/{stream}", ClientID: "mqlab-{run}-{role}-{n}",
		Connect: plan.Connect{Timeout: 10 * time.Second, KeepAlive: time.Minute, CleanStart: true},
		Phases:  plan.Phases{Measure: time.Second, Drain: 10 * time.Second},
		Engine:  engine, Loops: 1, Quantum: plan.QuantumAuto, NoDelay: true, Verify: plan.VerifyAll,
	}
	if tune != nil {
		tune(&p)
	}
	return plan.Trial{
		ID: id, Cell: 1, Point: 1, Repetition: 1, Seed: uint64(id),
		Subject: plan.Subject{Name: "faulty/" + protocol, Broker: "faulty", Protocol: protocol, Runtime: "embedded"},
		Params:  p,
	}
}
