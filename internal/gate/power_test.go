package gate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/hist"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/run/runtest"
	"github.com/mqlab/mqlab/internal/summary"
)

// spread is the standard deviation of p99 between repetitions of one and the same run, as a part of it, at which the power
// of "not worse than baseline" is stated.
const spread = 0.03

// synthetic is a run of five repetitions of one cell, in memory: 2,000 response times each, whose p99 is the given one up
// to the spread.
func synthetic(rng *rand.Rand, p99 float64) *summary.Summary {
	r := &run.Run{Manifest: run.Manifest{ID: fmt.Sprint(rng.Uint32())}}
	const messages = 2000
	for rep := range 5 {
		t := plan.Trial{ID: rep + 1, Cell: 1, Point: 1, Repetition: rep + 1, Subject: runtest.Subject("nats"), Params: runtest.Params()}
		r.Manifest.Plan.Trials = append(r.Manifest.Plan.Trials, t)
		level := p99 * math.Exp(spread*rng.NormFloat64())
		h, late := new(hist.Hist), new(hist.Hist)
		for i := range messages { // of the same shape each time, so that the spread is the one stated
			h.Record(int64(level * math.Exp(float64(i-messages*99/100)/messages)))
		}
		late.RecordN(1000, messages)
		counts := ledger.Counts{Offered: messages, Sent: messages, Expected: messages, Received: messages, Delivered: messages}
		w := ledger.Window{Group: "all", End: int64(time.Second), Phase: "measure", InWindow: ledger.InWindow{Sent: messages, Received: messages, Delivered: messages}}
		w.Counts = counts
		w.Hists[ledger.Response], w.Hists[ledger.Lateness] = h, late
		r.Trials = append(r.Trials, run.Trial{
			TrialRecord: run.TrialRecord{
				State: run.Finished, Trial: t, Totals: []run.GroupTotal{{Group: "all", Counts: counts}},
				Checks: run.Checks{SubscribersReady: true, Measured: int64(time.Second)},
			},
			Windows: []ledger.Window{w},
		})
	}
	return summary.Of(r)
}

// TestSpread keeps the synthetic runs honest.
func TestSpread(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var sum, squares float64
	const runs = 200
	for range runs {
		s := synthetic(rng, 1e6)
		for i := range s.Trials {
			v := math.Log(float64(*s.Trials[i].Latency.Response.P99) / 1e6)
			sum, squares = sum+v, squares+v*v
		}
	}
	const n = 5 * runs
	if got := math.Sqrt(squares/n - sum*sum/n/n); math.Abs(got-spread) > 0.003 {
		t.Errorf("the spread is %.4f, want %v", got, spread)
	}
}

// TestFalseAlarmsAndPower: at five repetitions and a spread of 3 %, equal runs are called worse in at most 5 of 100 cases, and a run
// whose p99 is 10 % worse is caught in at least 90 of 100.
func TestFalseAlarmsAndPower(t *testing.T) {
	limits := parsed(t, "p99 not worse than baseline")
	rng := rand.New(rand.NewPCG(2026, 3))
	const runs = 200
	share := func(p99 float64) float64 {
		missed := 0
		for range runs {
			g := Evaluate(synthetic(rng, p99), limits, Options{Baseline: synthetic(rng, 1e6)})
			switch g.Result {
			case Missed:
				missed++
			case Undecidable:
				t.Fatalf("undecidable: %s", g.Sentence())
			}
		}
		return float64(missed) / runs
	}
	alarms, caught := share(1e6), share(1.1e6)
	t.Logf("of equal runs %.3f are called worse, of runs 10 %% worse %.3f are caught", alarms, caught)
	if alarms > 0.05 {
		t.Errorf("%.3f of equal runs are called worse", alarms)
	}
	if caught < 0.9 {
		t.Errorf("%.3f of runs that are 10 %% worse are caught", caught)
	}
}

// TestIntervalIsSeldomWrong: of runs exactly at the limit of "<= baseline * F" the interval puts at most 5 of 100 on either side.
func TestIntervalIsSeldomWrong(t *testing.T) {
	limits := parsed(t, "p99 <= baseline * 1.1")
	rng := rand.New(rand.NewPCG(2026, 4))
	const runs = 200
	results := map[Result]int{}
	for range runs {
		results[Evaluate(synthetic(rng, 1.1e6), limits, Options{Baseline: synthetic(rng, 1e6)}).Result]++
	}
	if results[Pass] > runs/20 || results[Missed] > runs/20 {
		t.Errorf("%v", results)
	}
}
