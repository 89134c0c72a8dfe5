package trial_test

import (
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/guard/guardtest"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/netns"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/summary"
	"github.com/mqlab/mqlab/internal/trial"
)

// TestEnough: a trial of which enough is known ends at once, says why, and claims nothing of what was under way.
func TestEnough(t *testing.T) {
	g := guardtest.Start(t)
	p := paramsOf(load{plan.MQTT5, plan.PatternPairs, 0, false})
	p.Phases = plan.Phases{Settle: 10 * time.Millisecond, WarmUp: 10 * time.Millisecond, Measure: 5 * time.Minute, Drain: 5 * time.Minute}
	job := plan.Trial{ID: 1, Cell: 1, Point: 1, Repetition: 1, Seed: 1, Subject: subject(t, "mochi"), Params: p}
	w, err := run.Create(t.TempDir(), run.Manifest{ID: run.NewID(), Scenario: "enough", Plan: plan.Plan{Trials: []plan.Trial{job}}})
	if err != nil {
		t.Fatal(err)
	}
	out, err := w.Trial(1)
	if err != nil {
		t.Fatal(err)
	}
	lab := &trial.Lab{Place: netns.Host, Guard: g, RunID: w.Manifest().ID, Enough: func(w *ledger.Window) string {
		if w.Start >= 0 {
			return "it is certain"
		}
		return ""
	}}
	record, err := lab.Run(t.Context(), job, out)
	if err != nil || record.State != run.Finished || record.Checks.Stopped != "it is certain" || record.Checks.Interrupted {
		t.Fatalf("%v, %+v", err, record)
	}
	if m := record.Checks.Measured; m <= 0 || m > int64(time.Minute) {
		t.Errorf("measured for %s", time.Duration(m))
	}
	done, err := run.OpenTrial(w.Dir(), 1)
	if err != nil {
		t.Fatal(err)
	}
	s := &summary.Single(done).Trials[0]
	if s.Counts.Lost != nil || s.Counts.Unsent != nil || s.Counts.Offered == nil || s.Rates.Delivered == nil || s.Validity == summary.Valid {
		t.Errorf("%s: %+v", s.Validity, s.Counts)
	}
}
