package summary_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/run/runtest"
	"github.com/mqlab/mqlab/internal/summary"
)

// made is a run of the fixtures: subjects at one point, five times each.
func made(t *testing.T, id string, subjects []string, params plan.Params, edit func(*runtest.Trial)) *run.Run {
	t.Helper()
	r := runtest.Write(t, "quick", runtest.Repeated(subjects, 5, 1, params, edit))
	r.Manifest.ID = id
	return r
}

func slower(t *runtest.Trial) { t.Median += t.Median / 5 }

func TestCompareRunsOfTheSameSubject(t *testing.T) {
	both := []string{"mosquitto", "nats"}
	a := made(t, "aaaaaa", both, runtest.Params(), nil)
	b := made(t, "bbbbbb", both, runtest.Params(), func(x *runtest.Trial) {
		slower(x)
		x.Plan.Params.NoDelay = false
		x.Edit = func(r *run.TrialRecord) {
			r.Broker.Version = "1.2.4"
			r.Broker.Config = append(r.Broker.Config, run.Setting{Key: "log", Value: "/tmp/" + time.Duration(x.Plan.ID).String()})
		}
	})
	b.Manifest.Host.Kernel = "6.9.0"
	got, err := summary.CompareRuns([]*summary.Summary{summary.Of(a), summary.Of(b)}, false)
	if err != nil {
		t.Fatal(err)
	}
	want := []summary.Difference{
		{What: "host.kernel", Values: []string{"6.8.0", "6.9.0"}},
		{What: "mosquitto version", Values: []string{"1.2.3", "1.2.4"}},
		{What: "params.tcp_nodelay", Values: []string{"true", "false"}},
		{What: "nats version", Values: []string{"1.2.3", "1.2.4"}},
	}
	if !slices.EqualFunc(got.Differences, want, func(a, b summary.Difference) bool {
		return a.What == b.What && slices.Equal(a.Values, b.Values)
	}) {
		t.Errorf("differences %v", got.Differences)
	}
	seen := 0
	for _, c := range got.Comparisons {
		if c.Metric != summary.ResponseP50 {
			continue
		}
		seen++
		v := c.Verdicts[0]
		if len(c.Subjects) != 2 || !v.Different || !strings.HasSuffix(v.Better, "(A)") || v.Better[:4] != v.Worse[:4] || *v.Factor < 1.15 || *v.Factor > 1.25 {
			t.Errorf("%+v", v)
		}
	}
	if seen != 2 {
		t.Errorf("%d comparisons of two subjects at p50", seen)
	}
}

func TestCompareRunsOfDifferentSubjects(t *testing.T) {
	a := summary.Of(made(t, "a", []string{"mosquitto"}, runtest.Params(), nil))
	b := summary.Of(made(t, "b", []string{"nats"}, runtest.Params(), nil))
	got, err := summary.CompareRuns([]*summary.Summary{a, b}, false)
	if err != nil {
		t.Fatal(err)
	}
	if v := got.Comparisons[0].Verdicts[0]; !v.Different || v.Better != "nats (B)" || v.Worse != "mosquitto (A)" {
		t.Errorf("%+v", v)
	}
}

// A sweep of what is no load has several cells of one subject under the same load: each is compared with its own.
func TestCompareRunsOfASweep(t *testing.T) {
	sweep := func(id string, edit func(*runtest.Trial)) *summary.Summary {
		var trials []runtest.Trial
		for point, quantum := range []string{"precise", "1ms"} {
			p := runtest.Params()
			p.Quantum, p.Set = quantum, []plan.Assignment{{Key: "engine.quantum", Value: quantum}}
			trials = append(trials, runtest.Repeated([]string{"nats"}, 5, point+1, p, func(x *runtest.Trial) {
				x.Median *= time.Duration(point + 1)
				edit(x)
			})...)
		}
		r := runtest.Write(t, "sweep", trials)
		r.Manifest.ID = id
		return summary.Of(r)
	}
	got, err := summary.CompareRuns([]*summary.Summary{sweep("a", func(*runtest.Trial) {}), sweep("b", slower)}, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range got.Comparisons {
		if c.Metric == summary.ResponseP50 && (len(c.Subjects) != 2 || c.Subjects[0].Repetitions != 5 || *c.Verdicts[0].Factor > 1.3) {
			t.Errorf("%+v", c)
		}
	}
	if len(got.Cells) != 4 {
		t.Errorf("%d cells", len(got.Cells))
	}
}

func TestCompareRunsRefuses(t *testing.T) {
	of := func(id string, edit func(*runtest.Trial)) *run.Run {
		return made(t, id, []string{"mosquitto"}, runtest.Params(), edit)
	}
	params := func(edit func(*plan.Params)) *run.Run {
		return of("b", func(x *runtest.Trial) { edit(&x.Plan.Params) })
	}
	elsewhere := of("b", nil)
	elsewhere.Manifest.Host.Hostname = "other"
	for name, tt := range map[string]struct {
		other *run.Run
		want  string
	}{
		"itself":    {of("a", nil), "the same run"},
		"payload":   {params(func(p *plan.Params) { p.PayloadBytes = 512 }), "payload_bytes is 256 in A, 512 in B"},
		"rate":      {params(func(p *plan.Params) { p.RatePerS = 500 }), "rate_per_s is 1000 in A, 500 in B"},
		"pattern":   {params(func(p *plan.Params) { p.Pattern = plan.PatternFanout }), "pattern is pairs in A, fanout in B"},
		"guarantee": {params(func(p *plan.Params) { p.QoS = 1 }), "guarantee is at most once in A, at least once in B"},
		"host":      {elsewhere, "hostname is bench in A, other in B; --across-hosts"},
		"invalid": {of("b", func(x *runtest.Trial) {
			x.Edit = func(r *run.TrialRecord) { r.State = run.Failed }
		}), "mosquitto (B): no valid trial"},
		"empty": {runtest.Write(t, "nothing", nil), "no trial"},
	} {
		_, err := summary.CompareRuns([]*summary.Summary{summary.Of(of("a", nil)), summary.Of(tt.other)}, false)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	if _, err := summary.CompareRuns([]*summary.Summary{summary.Of(of("a", nil)), summary.Of(elsewhere)}, true); err != nil {
		t.Errorf("across hosts: %v", err)
	}
	if _, err := summary.CompareRuns(nil, true); err == nil {
		t.Error("no runs were compared")
	}
	runs := []*summary.Summary{summary.Of(of("a", nil))}
	for _, id := range []string{"b", "c", "d", "e", "f", "g", "h"} {
		runs = append(runs, summary.Of(of(id, func(x *runtest.Trial) {
			x.Edit = func(r *run.TrialRecord) { r.State = run.Failed }
		})))
	}
	if _, err := summary.CompareRuns(runs, true); err == nil || !strings.HasSuffix(err.Error(), "mosquitto (E): no valid trial; and 3 more") {
		t.Errorf("many without a valid trial: %v", err)
	}
}
