package capacity_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/capacity"
	"github.com/mqlab/mqlab/internal/capacity/capacitytest"
	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/hist"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/run/runtest"
	"github.com/mqlab/mqlab/internal/search"
	"github.com/mqlab/mqlab/internal/summary"
)

func results(t *testing.T, r *run.Run) []capacity.Result {
	t.Helper()
	found, err := capacity.Of(summary.Of(r), &r.Manifest.Plan)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestSearchOfARun(t *testing.T) {
	r := capacitytest.Carry(t, capacitytest.Plan(), 1000, capacitytest.Overload)
	found := results(t, r)
	if len(found) != 2 {
		t.Fatalf("%d results", len(found))
	}
	for _, f := range found {
		most := capacitytest.Capacities[f.Subject]
		if f.End != search.AtLimit || !f.Settled || f.Sustainable == nil || *f.Sustainable > most || *f.Sustainable < most/1.15 {
			t.Errorf("%s: %s at %v, capacity %v", f.Subject, f.End, f.Text(f.Sustainable), most)
		}
		if f.Low == nil || f.High == nil || *f.Low != *f.Sustainable || *f.High <= *f.Low || *f.High > 1.2*most {
			t.Errorf("%s: between %v and %v", f.Subject, f.Text(f.Low), f.Text(f.High))
		}
		if f.Peak == nil || math.Abs(*f.Peak/most-1) > 0.01 || *f.PeakAt <= *f.Sustainable || math.Abs(*f.Delivered / *f.Sustainable - 1) > 0.01 {
			t.Errorf("%s: peak %v at %v, %v delivered", f.Subject, *f.Peak, f.Text(f.PeakAt), *f.Delivered)
		}
		if f.Knee == nil || *f.Knee < most/3 || *f.Knee > most {
			t.Errorf("%s: knee %v", f.Subject, f.Text(f.Knee))
		}
		if s := f.Sentence(); !strings.Contains(s, f.Subject+" sustains a rate of "+f.Text(f.Sustainable)) {
			t.Error(s)
		}
	}
	// They take turns as long as both go on.
	for i, trial := range r.Trials[:10] {
		if trial.Trial.ID != i+1 || trial.Trial.Subject.Name != []string{"mochi", "nats"}[i%2] {
			t.Errorf("trial %d is number %d, of %s", i, trial.Trial.ID, trial.Trial.Subject.Name)
		}
	}
	if s := summary.Of(r); !s.Run.Complete || s.Run.TrialsPlanned != len(s.Trials) {
		t.Errorf("%+v", s.Run)
	}
}

// TestCutShort: whatever a killed run left behind says how far it came, and the search goes on from there as if nothing had happened.
func TestCutShort(t *testing.T) {
	p := capacitytest.Plan()
	whole := capacitytest.Carry(t, p, 1000, capacitytest.Overload)
	for n := range whole.Trials {
		part := &run.Run{Manifest: whole.Manifest, Trials: slices.Clone(whole.Trials[:n+1])}
		part.Trials[n].State = run.Cut // the last one
		s := summary.Of(part)
		for _, f := range results(t, part) {
			if f.Settled && len(f.Probes) < 5 {
				t.Errorf("after %d trials %s", n, f.Sentence())
			}
		}
		hunt, err := capacity.New(&p)
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.Trials {
			hunt.Add(s, s.Trials[i].ID)
		}
		if next, more := hunt.Next(); !more || next.Cell != whole.Trials[n].Trial.Cell || next.ID != n+2 && n > 0 {
			t.Fatalf("after %d trials and a cut one: cell %d, number %d, want cell %d", n, next.Cell, next.ID, whole.Trials[n].Trial.Cell)
		}
	}
	if f := results(t, &run.Run{Manifest: whole.Manifest}); f[0].Settled || f[0].Sustainable != nil || len(f[0].Probes) != 0 {
		t.Errorf("without a trial: %+v", f[0])
	}
}

// TestOutcomes: what a trial says about its value.
func TestOutcomes(t *testing.T) {
	at := func(rate float64, edit func(*runtest.Trial)) capacity.Probe {
		p := capacitytest.Plan()
		p.Trials = p.Trials[:1]
		p.Search.From = rate
		r := capacitytest.Carry(t, p, 1, func(trial plan.Trial) runtest.Trial {
			out := capacitytest.Overload(trial)
			edit(&out)
			return out
		})
		probes := results(t, r)[0].Probes
		if len(probes) == 0 {
			return capacity.Probe{}
		}
		return probes[0]
	}
	late := func(_ int64, w *ledger.Window) {
		if h := w.Hists[ledger.Lateness]; h != nil {
			h.Reset()
			h.RecordN(int64(50*time.Millisecond), int64(w.Counts.Offered))
		}
	}
	for _, c := range []struct {
		name string
		rate float64
		edit func(*runtest.Trial)
		want search.Outcome
		why  string
	}{
		{"holds", 100, func(*runtest.Trial) {}, search.Held, ""},
		{"loses", 1000, func(*runtest.Trial) {}, search.Failed, "falls among lost"},
		{"slow", 100, func(r *runtest.Trial) { r.Median = time.Second }, search.Failed, "p95 < 50ms"},
		{"generator late", 100, func(r *runtest.Trial) { r.EditWin = late }, search.Unmeasured, "the generator was"},
		{"generator late and losing", 1000, func(r *runtest.Trial) { r.EditWin = late }, search.Unmeasured, "the generator was"},
		{"stopped", 1000, func(r *runtest.Trial) {
			r.Edit = func(rec *run.TrialRecord) { rec.Checks.Stopped = "after 2s it was too late" }
		}, search.Failed, "after 2s"},
		{"killed for memory", 100, func(r *runtest.Trial) {
			r.Edit = func(rec *run.TrialRecord) {
				rec.State, rec.Failure, rec.Checks.KilledForMemory = run.Failed, "killed for memory", &run.MemoryKill{}
			}
		}, search.Failed, "killed for memory"},
		{"cannot connect", 100, func(r *runtest.Trial) {
			r.Edit = func(rec *run.TrialRecord) { rec.State, rec.Failure = run.Failed, "not all connections became ready" }
		}, search.Failed, "not all connections"},
		{"interrupted", 100, func(r *runtest.Trial) {
			r.Edit = func(rec *run.TrialRecord) { rec.Checks.Interrupted = true }
		}, "", ""},
		{"cut", 100, func(r *runtest.Trial) { r.Cut = true }, "", ""},
	} {
		if p := at(c.rate, c.edit); p.Outcome != c.want || !strings.Contains(p.Why, c.why) {
			t.Errorf("%s: %q, want %q: %s", c.name, p.Outcome, c.want, p.Why)
		}
	}
}

func TestLimits(t *testing.T) {
	for text, want := range map[string]string{
		"p99 < 5ms": "", "lost = 0": "", "achieved >= 98 %": "",
		"p99 <= baseline * 2": "a search compares with no other run", "nats: lost = 0": "for every subject", "p98 < 1ms": "there is no figure",
		"p99 > 50ms": "write response_p99 < a number", "achieved < 98 %": "write achieved >= a number", "lost = 5": "write lost < a number",
		"delivered = 0": "write delivered >= a number", "lost >= 1": "no limit that a larger value breaks", "lost <= 0": "", "achieved >= 100 %": "",
		"p99 < 0ms": "nothing keeps", "lost < 0": "nothing keeps", "achieved >= 150 %": "nothing keeps", "achieved > 100 %": "nothing keeps",
	} {
		err := capacity.Check(text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for text, want := range map[string]int{"p99 < 5ms": 10_000, "p50 < 1ms": 200, "service_p999 < 1s": 100_000, "lost = 0": 1, "ack_max < 1s": 1} {
		if got := capacity.Need(text); got != want {
			t.Errorf("%s needs %d, want %d", text, got, want)
		}
	}
}

// feed gives the windows of a probe of 1,000 messages a second to a watch, loop by loop, and returns the second at whose end it decided.
func feed(w *capacity.Watch, seconds, loops int, came func(second int) (n int, late time.Duration)) (int, string) {
	for s := 0; s <= seconds; s++ {
		for range loops {
			n, d := came(s)
			due := uint64(1000 / loops)
			h := hist.New()
			h.RecordN(int64(d), int64(n/loops))
			start := int64(s-1) * int64(time.Second)
			subs := &ledger.Window{Group: engine.Subscribers, Start: start, End: start + int64(time.Second), InWindow: ledger.InWindow{Delivered: uint64(n / loops)}}
			if s > 0 {
				subs.Hists[ledger.Response] = h
			}
			for _, win := range []*ledger.Window{
				{Group: engine.Publishers, Start: start, End: start + int64(time.Second), Counts: ledger.Counts{Offered: due}}, subs,
			} {
				if why := w.Window(win); why != "" {
					return s, why
				}
			}
		}
	}
	return -1, ""
}

func TestWatch(t *testing.T) {
	p := capacitytest.Plan()
	p.Search.Limits = []string{"p99 < 50ms", "achieved >= 98 %"}
	hunt, err := capacity.New(&p)
	if err != nil {
		t.Fatal(err)
	}
	trial := p.Trials[0]
	trial.Params.RatePerS, trial.Params.Phases = 1000, plan.Phases{WarmUp: time.Second, Measure: 5 * time.Second}
	for _, c := range []struct {
		name string
		came func(int) (int, time.Duration)
		want int
	}{
		{"in time", func(int) (int, time.Duration) { return 1000, time.Millisecond }, -1},
		{"just in time", func(int) (int, time.Duration) { return 1000, 50 * time.Millisecond }, -1},
		{"all late", func(int) (int, time.Duration) { return 1000, 60 * time.Millisecond }, 2},
		{"half comes", func(int) (int, time.Duration) { return 500, time.Millisecond }, 2},
		{"nothing comes", func(int) (int, time.Duration) { return 0, 0 }, 2},
		{"bad luck at the end", func(s int) (int, time.Duration) {
			if s == 5 {
				return 1000, time.Second
			}
			return 1000, time.Millisecond
		}, -1},
	} {
		for _, loops := range []int{1, 4} {
			if s, why := feed(hunt.Watch(trial), 5, loops, c.came); s != c.want {
				t.Errorf("%s, %d loops: decided at the end of second %d, want %d: %s", c.name, loops, s, c.want, why)
			}
		}
	}
}
