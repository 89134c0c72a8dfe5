package gate

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

func parsed(t *testing.T, texts ...string) []Limit {
	t.Helper()
	var limits []Limit
	for _, text := range texts {
		l, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		limits = append(limits, l)
	}
	return limits
}

// made is a run of one point.
func made(t *testing.T, subjects []string, repetitions int, edit func(*runtest.Trial)) *summary.Summary {
	t.Helper()
	return summary.Of(runtest.Write(t, "gated", runtest.Repeated(subjects, repetitions, 1, runtest.Params(), edit)))
}

// TestNumbers: nats answers in about 105 µs at the median, 262 µs at p99; mosquitto loses 60 messages in one trial.
func TestNumbers(t *testing.T) {
	s := summary.Of(runtest.Comparison(t))
	for _, c := range []struct {
		limit, subject string
		want           Result
		text           string
	}{
		{"nats: p50 < 1ms", "nats", Pass, "response p50 of nats is 105 µs"},
		{"nats: p50 < 10us", "nats", Missed, "response p50 of nats is 105 µs"},
		{"p50 > 10us", "mochi", Pass, "160 µs"},
		{"nats: lost = 0", "nats", Pass, "lost of nats is 0"},
		{"mosquitto: lost = 0", "mosquitto", Missed, "lost of mosquitto is 60"},
		{"mosquitto: lost <= 60", "mosquitto", Pass, ""},
		{"mosquitto: lost_ratio < 0.5 %", "mosquitto", Missed, "0.50 %"},
		{"mosquitto: lost_ratio <= 0.5 %", "mosquitto", Pass, "0.50 %"},
		{"mosquitto: p99 < 1h", "mosquitto", "", ""},
		{"nats: delivered_per_s >= 999.9", "nats", Pass, "1,000"},
		{"nats: achieved >= 99 %", "nats", Pass, "100 %"},
		{"nats: offered = 15000", "nats", Pass, "15,000"},
		{"nats: p999 < 1s", "nats", Undecidable, "too few messages"},
		{"nats: ack_p50 < 1s", "nats", Undecidable, "not known"},
		{"nats: acked >= 0", "nats", Undecidable, "absent"},
		{"p50 <= baseline * 1.1", "nats", Undecidable, "no baseline"},
	} {
		l, err := Parse(strings.Replace(c.limit, "1h", "3600s", 1))
		if err != nil {
			t.Fatal(err)
		}
		if c.want == "" { // the percentile falls among lost messages: later than any limit, however large
			c.want, c.text = Missed, "falls among lost messages"
		}
		g := Evaluate(s, []Limit{l}, Options{})
		i := slices.IndexFunc(g.Checks, func(x Check) bool { return x.Subject == c.subject })
		if got := g.Checks[i]; got.Result != c.want || !strings.Contains(got.Text, c.text) {
			t.Errorf("%s: %s, %q", c.limit, got.Result, got.Text)
		}
	}
}

// A lost percentile is later than a limit, but never proof that a lower limit is kept.
func TestLostPassesNoLowerLimit(t *testing.T) {
	g := Evaluate(summary.Of(runtest.Comparison(t)), parsed(t, "mosquitto: p99 >= 1ms"), Options{})
	if g.Result != Undecidable {
		t.Errorf("%+v", g.Checks[0])
	}
}

func TestAbsentIsNoPass(t *testing.T) {
	limits := parsed(t, "p99 < 1s", "lost = 0", "lost_ratio < 1 %", "delivered_per_s >= 0", "p99 > 0")
	for name, s := range map[string]*summary.Summary{
		"nothing was run": summary.Of(runtest.Write(t, "nothing", nil)),
		"invalid": made(t, []string{"nats"}, 3, func(x *runtest.Trial) {
			x.Edit = func(r *run.TrialRecord) { r.State = run.Failed }
		}),
		"cut": made(t, []string{"nats"}, 1, func(x *runtest.Trial) { x.Cut = true }),
	} {
		g := Evaluate(s, limits, Options{})
		if g.Result != Undecidable || g.Count(Undecidable) != len(limits) || g.Sentence() == "" {
			t.Errorf("%s: %+v", name, g)
		}
	}
	cut := summary.Of(runtest.Write(t, "gated", slices.Concat(
		runtest.Repeated([]string{"nats"}, 1, 1, runtest.Params(), nil),
		runtest.Repeated([]string{"nats"}, 1, 2, runtest.Params(), func(x *runtest.Trial) { x.Cut, x.Plan.ID, x.Plan.Cell = true, 9, 1 }),
	)))
	if g := Evaluate(cut, parsed(t, "p99 < 1s"), Options{}); g.Result != Undecidable || !g.Incomplete || g.Sentence() == "" {
		t.Errorf("a run that was cut passes: %+v", g)
	}
	if Evaluate(cut, nil, Options{}) != nil {
		t.Error("a gate without limits")
	}
}

func TestResultOfAGate(t *testing.T) {
	s := made(t, []string{"mochi", "nats"}, 3, nil)
	for _, c := range []struct {
		limits []string
		want   Result
	}{
		{[]string{"p99 < 1s", "lost = 0"}, Pass},
		{[]string{"p99 < 1s", "nats: p999 < 1s"}, Undecidable},
		{[]string{"nats: p999 < 1s", "mochi: p99 < 1us", "lost = 0"}, Missed},
		{[]string{"emqx: lost = 0"}, Undecidable},
	} {
		g := Evaluate(s, parsed(t, c.limits...), Options{})
		if g.Result != c.want || (g.Sentence() == "") != (c.want == Pass) {
			t.Errorf("%v: %s, %q", c.limits, g.Result, g.Sentence())
		}
	}
	g := Evaluate(s, parsed(t, "p99 < 1s", "nats: p999 < 1s", "mochi: p99 < 1us"), Options{})
	if w := g.Worst(); w[0].Result != Missed || w[1].Result != Undecidable || w[3].Result != Pass {
		t.Errorf("order %v", w)
	}
}

// A value that is printed like its limit and yet misses it is written out.
func TestExactWhereItLooksEqual(t *testing.T) {
	s := made(t, []string{"nats"}, 1, nil)
	s.Cells[0].Counts.Lost = new(uint64(0))
	v := *s.Trials[0].Latency.Response.P50
	l := parsed(t, "p50 < 1ms")
	l[0].Value = float64(v) - 1
	if g := Evaluate(s, l, Options{}); g.Result != Missed || !strings.Contains(g.Checks[0].Text, "exactly") {
		t.Errorf("%+v", g.Checks[0])
	}
}

func TestBaseline(t *testing.T) {
	base := made(t, []string{"mosquitto"}, 5, nil)
	times := func(f float64) func(*runtest.Trial) {
		return func(x *runtest.Trial) { x.Median = time.Duration(float64(x.Median) * f) }
	}
	same, slow, fast := made(t, []string{"mosquitto"}, 5, nil), made(t, []string{"mosquitto"}, 5, times(1.3)), made(t, []string{"mosquitto"}, 5, times(0.7))
	lossy := made(t, []string{"mosquitto"}, 5, func(x *runtest.Trial) { x.Lost = 90 })
	for _, c := range []struct {
		name  string
		s     *summary.Summary
		base  *summary.Summary
		limit string
		want  Result
		text  string
	}{
		{"same", same, base, "p50 <= baseline * 1.1", Pass, "1.00× of it (95 % interval "},
		{"same", same, base, "p50 <= baseline", Undecidable, "not worse than baseline passes"},
		{"same", same, base, "p50 not worse than baseline", Pass, "not shown to be worse"},
		{"same", same, base, "lost <= baseline", Pass, ""},
		{"same", same, base, "lost not worse than baseline", Pass, ""},
		{"same", same, base, "delivered_per_s >= baseline * 0.99", Pass, ""},
		{"slow", slow, base, "p50 <= baseline * 1.1", Missed, "1.30× of it"},
		{"slow", slow, base, "p50 <= baseline * 1.5", Pass, ""},
		{"slow", slow, base, "p50 <= baseline * 1.3", Undecidable, "the interval holds"},
		{"slow", slow, base, "p50 not worse than baseline", Missed, "told apart (p = 0.004)"},
		{"slow", slow, base, "p50 not worse than baseline * 1.4", Pass, ""},
		{"fast", fast, base, "p50 < baseline", Pass, ""},
		{"fast", fast, base, "p50 not worse than baseline", Pass, ""},
		{"fast", fast, base, "p50 > baseline", Missed, ""},
		{"lossy", lossy, base, "p99 <= baseline * 100", Missed, "falls among lost"},
		{"lossy", lossy, base, "p99 not worse than baseline", Missed, "falls among lost"},
		{"lossy", lossy, lossy, "p99 <= baseline", Undecidable, "and in the baseline"},
		{"was lossy", same, lossy, "p99 <= baseline", Pass, "in the baseline it falls among lost"},
		{"lossy", lossy, base, "lost <= baseline * 2", Missed, ""},
		{"lossy", lossy, base, "lost not worse than baseline", Missed, ""},
		{"lossy", lossy, base, "delivered not worse than baseline", Missed, ""},
		{"few", made(t, []string{"mosquitto"}, 2, nil), base, "p50 <= baseline * 9", Undecidable, "takes 3 valid repetitions"},
		{"few", made(t, []string{"mosquitto"}, 2, nil), made(t, []string{"mosquitto"}, 2, nil), "p50 not worse than baseline", Undecidable, "it takes 3 on both sides"},
		{"one", made(t, []string{"mosquitto"}, 1, nil), base, "p50 not worse than baseline", Undecidable, "cannot show"},
		{"another", same, made(t, []string{"nats"}, 5, nil), "p50 <= baseline", Undecidable, "the baseline has no mosquitto"},
		{"too rare", same, base, "p999 <= baseline", Undecidable, "too few messages"},
	} {
		g := Evaluate(c.s, parsed(t, c.limit), Options{Baseline: c.base})
		if got := g.Checks[0]; got.Result != c.want || !strings.Contains(got.Text, c.text) || got.Limit != c.limit {
			t.Errorf("%s, %s: %s, %q", c.name, c.limit, got.Result, got.Text)
		}
	}
}

func TestBaselineMustBeComparable(t *testing.T) {
	base := made(t, []string{"nats"}, 5, nil)
	other := made(t, []string{"nats"}, 5, func(x *runtest.Trial) { x.Plan.Params.PayloadBytes = 999 })
	limits := parsed(t, "p50 not worse than baseline")
	if g := Evaluate(other, limits, Options{Baseline: base}); g.Result != Undecidable || !strings.Contains(g.Checks[0].Text, "payload_bytes is 999 in this run, 256 in the baseline") {
		t.Errorf("%+v", g.Checks[0])
	}
	here := made(t, []string{"nats"}, 5, nil)
	here.Run.Host.CPUModel = "Model 8"
	if g := Evaluate(here, limits, Options{Baseline: base}); g.Result != Undecidable || !strings.Contains(g.Checks[0].Text, "another machine: cpu_model is Model 8") {
		t.Errorf("%+v", g.Checks[0])
	}
	if g := Evaluate(here, limits, Options{Baseline: base, AnyHost: true}); g.Result != Pass {
		t.Errorf("%+v", g.Checks[0])
	}
}

// TestManyChecksShareOneChanceOfAFalseAlarm: thirteen times the smallest probability of five repetitions is above 5 %.
func TestManyChecksShareOneChanceOfAFalseAlarm(t *testing.T) {
	slow := func(x *runtest.Trial) { x.Median *= 2 }
	of := func(points int, edit func(*runtest.Trial)) *summary.Summary {
		var trials []runtest.Trial
		for point := range points {
			p := runtest.Params()
			p.PayloadBytes = 100 + point
			p.Set = []plan.Assignment{{Key: "load.payload", Value: "x"}}
			trials = append(trials, runtest.Repeated([]string{"nats"}, 5, point+1, p, edit)...)
		}
		return summary.Of(runtest.Write(t, "gated", trials))
	}
	for points, want := range map[int]Result{12: Missed, 13: Undecidable} {
		g := Evaluate(of(points, slow), parsed(t, "p50 not worse than baseline"), Options{Baseline: of(points, nil)})
		if g.Result != want || g.Count(want) != points {
			t.Errorf("%d checks: %s, %q", points, g.Result, g.Sentence())
		}
	}
}
