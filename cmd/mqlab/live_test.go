package main

import (
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run"
)

// TestLiveRate: the line of a trial that has ended says the rate of its whole measure phase, not that of the last window, which is a
// few milliseconds where a probe was stopped early.
func TestLiveRate(t *testing.T) {
	window := func(phase string, start, end time.Duration, delivered uint64) *ledger.Window {
		return &ledger.Window{
			Group: engine.Subscribers, Phase: phase, Start: int64(start), End: int64(end),
			Counts: ledger.Counts{Delivered: delivered}, InWindow: ledger.InWindow{Delivered: delivered},
		}
	}
	var out strings.Builder
	l := newLive(&out, &plan.Plan{Scenario: "s"})
	for range 2 { // nothing of one trial is left to the next
		out.Reset()
		l.begin(plan.Trial{ID: 1, Subject: plan.Subject{Name: "mosquitto"}, Params: plan.Params{Publishers: 1, Subscribers: 1}})
		for _, w := range []*ledger.Window{
			window("warm-up", -time.Second, 0, 40),
			window("measure", 0, time.Second, 390),
			window("measure", time.Second, 2*time.Second, 410),
			window("measure", 2*time.Second, 2*time.Second+5*time.Millisecond, 0),
			window("drain", 2*time.Second+5*time.Millisecond, 3*time.Second, 2),
		} {
			l.window(w)
		}
		l.end(&run.TrialRecord{State: run.Finished})
		if got := out.String(); !strings.Contains(got, " 399/s ") {
			t.Errorf("%q lacks 399/s", got)
		}
	}
}
