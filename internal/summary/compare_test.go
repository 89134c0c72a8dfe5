package summary_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/run/runtest"
	"github.com/mqlab/mqlab/internal/summary"
)

func compared(t *testing.T, s *summary.Summary, metric string) *summary.Comparison {
	t.Helper()
	for i := range s.Comparisons {
		if s.Comparisons[i].Metric == metric {
			return &s.Comparisons[i]
		}
	}
	t.Fatalf("%s is not compared", metric)
	return nil
}

func standing(t *testing.T, c *summary.Comparison, subject string) *summary.Standing {
	t.Helper()
	for i := range c.Subjects {
		if c.Subjects[i].Subject == subject {
			return &c.Subjects[i]
		}
	}
	t.Fatalf("%s is not in the comparison by %s", subject, c.Metric)
	return nil
}

func TestComparison(t *testing.T) {
	s := summary.Of(runtest.Comparison(t))
	p50 := compared(t, s, summary.ResponseP50)
	if p50.Better != "lower" || p50.Unit != summary.Nanoseconds || p50.Groups[0][0] != "nats" {
		t.Errorf("%+v", p50)
	}
	m := standing(t, p50, "mosquitto")
	if m.Repetitions != 4 || len(m.Excluded) != 1 || m.Excluded[0] != (summary.Excluded{Trial: 4, Why: "invalid: generator_late"}) {
		t.Errorf("mosquitto: %+v", m)
	}
	if *m.CILow > *m.Median || *m.CIHigh < *m.Median {
		t.Errorf("interval %v–%v around %v", *m.CILow, *m.CIHigh, *m.Median)
	}
	v := p50.Verdicts[0]
	if v.Better != "nats" || v.Worse != "mochi" || !v.Different || *v.Factor < 1.4 || *v.Low > *v.Factor || *v.High < *v.Factor {
		t.Errorf("%+v", v)
	}
	if want := "nats is 1.52× faster than mochi at response p50 (95 % interval 1.47–1.61×, 5 repetitions)"; v.Text != want {
		t.Errorf("%q, want %q", v.Text, want)
	}
}

// TestInvalidNeverWins: the fastest subject has no valid trial.
func TestInvalidNeverWins(t *testing.T) {
	s := summary.Of(runtest.Write(t, "x", runtest.Repeated([]string{"mochi", "nats"}, 5, 1, runtest.Params(), func(r *runtest.Trial) {
		if r.Plan.Subject.Name == "nats" {
			r.Edit = func(rec *run.TrialRecord) { rec.Checks.SubscribersReady = false }
		}
	})))
	c := compared(t, s, summary.ResponseP50)
	n := standing(t, c, "nats")
	if n.Median != nil || n.Unranked != "no valid trial" || len(n.Excluded) != 5 || len(c.Verdicts) != 0 || len(c.Groups) != 1 {
		t.Errorf("%+v %+v", n, c)
	}
}

// TestLosingIsNotWinning: a subject that loses messages in one repetition has no rank at the percentile they hide.
func TestLosingIsNotWinning(t *testing.T) {
	s := summary.Of(runtest.Comparison(t))
	c := compared(t, s, summary.ResponseP99)
	m := standing(t, c, "mosquitto")
	if !m.Lost || m.Median != nil || m.CILow != nil || m.Unranked == "" {
		t.Errorf("%+v", m)
	}
	for _, g := range c.Groups {
		if slices.Contains(g, "mosquitto") {
			t.Errorf("ranked: %v", c.Groups)
		}
	}
	lost := compared(t, s, summary.LostRatio)
	if standing(t, lost, "mosquitto").Repetitions != 4 {
		t.Errorf("%+v", lost)
	}
}

func TestMoreIsBetter(t *testing.T) {
	p := runtest.Params()
	p.Pacing = "max"
	s := summary.Of(runtest.Write(t, "x", runtest.Repeated([]string{"mochi", "nats"}, 5, 1, p, func(r *runtest.Trial) {
		r.Plan.Params.RatePerS = 1000 + float64(3*r.Plan.Repetition)
		if r.Plan.Subject.Name == "nats" {
			r.Plan.Params.RatePerS *= 2
		}
	})))
	c := compared(t, s, summary.DeliveredPer)
	if c.Better != "higher" || len(c.Groups) != 2 || c.Groups[0][0] != "nats" || c.Groups[1][0] != "mochi" {
		t.Errorf("%+v", c)
	}
	v := c.Verdicts[0]
	if v.Better != "nats" || !v.Different || *v.Factor < 1.99 || *v.Factor > 2.01 || *v.Low < 1.9 || *v.High > 2.1 {
		t.Errorf("%+v", v)
	}
	if want := "nats makes 2.00× as many deliveries per second as mochi (95 % interval 1.98–2.02×, 5 repetitions)"; v.Text != want {
		t.Errorf("%q, want %q", v.Text, want)
	}
}

func TestNoDifferenceShown(t *testing.T) {
	spread := []time.Duration{100, 104, 97, 110, 102, 101, 95, 109, 103, 99}
	trials := runtest.Repeated([]string{"mochi", "mosquitto"}, 5, 1, runtest.Params(), func(r *runtest.Trial) {
		r.Median = spread[r.Plan.ID-1] * time.Microsecond
	})
	c := compared(t, summary.Of(runtest.Write(t, "x", trials)), summary.ResponseP50)
	v := c.Verdicts[0]
	if v.Different || len(c.Groups) != 1 || len(c.Groups[0]) != 2 || !strings.HasPrefix(v.Text, "no difference shown between ") || !strings.Contains(v.Text, "would be needed") {
		t.Errorf("%+v %v", v, c.Groups)
	}
	once := compared(t, summary.Of(runtest.Write(t, "x", runtest.Repeated([]string{"mochi", "nats"}, 1, 1, runtest.Params(), nil))), summary.ResponseP50)
	if v := once.Verdicts[0]; v.Different || !strings.Contains(v.Text, "one repetition cannot show one") || once.Subjects[0].CILow != nil {
		t.Errorf("%+v", v)
	}
}

// TestOtherGuarantees: subjects of one point that promise different things are never ranked together.
func TestOtherGuarantees(t *testing.T) {
	s := summary.Of(runtest.Write(t, "x", runtest.Repeated([]string{"mochi", "mosquitto", "nats"}, 5, 1, runtest.Params(), func(r *runtest.Trial) {
		if r.Plan.Subject.Name != "nats" {
			r.Plan.Params.QoS = 1
		}
	})))
	var seen int
	for _, c := range s.Comparisons {
		if c.Metric != summary.ResponseP50 {
			continue
		}
		seen++
		names := make([]string, len(c.Subjects))
		for i, x := range c.Subjects {
			names[i] = x.Subject
		}
		mixed := slices.Contains(names, "nats") && len(names) > 1
		if mixed || len(c.NotComparable) != 3-len(names) || c.NotComparable[0].Guarantee == c.Guarantee {
			t.Errorf("%s: %v, not comparable %v", c.Guarantee, names, c.NotComparable)
		}
		for _, v := range c.Verdicts {
			if v.Better == "nats" || v.Worse == "nats" {
				t.Errorf("ranked: %+v", v)
			}
		}
	}
	if seen != 2 {
		t.Errorf("%d comparisons", seen)
	}
}

func TestTooFewMessagesAreNotCompared(t *testing.T) {
	s := summary.Of(runtest.Write(t, "x", runtest.Repeated([]string{"mochi", "nats"}, 2, 1, runtest.Params(), nil)))
	for _, c := range s.Comparisons {
		if c.Metric == "response_p999" || c.Metric == "ack_p50" {
			t.Errorf("%s is compared: %+v", c.Metric, c.Subjects)
		}
	}
	p := runtest.Params()
	mixed := summary.Of(runtest.Write(t, "x", runtest.Repeated([]string{"mochi", "nats"}, 2, 1, p, func(r *runtest.Trial) {
		if r.Plan.Subject.Name == "nats" {
			r.Plan.Params.RatePerS = 100 // 300 messages
		}
	})))
	c := compared(t, mixed, summary.ResponseP99)
	if n := standing(t, c, "nats"); n.Unranked != "too few messages for this percentile" || n.Lost || n.Repetitions != 0 {
		t.Errorf("%+v", n)
	}
}

func TestPointsAreComparedApart(t *testing.T) {
	var trials []runtest.Trial
	for point := 1; point <= 2; point++ {
		p := runtest.Params()
		p.Set = []plan.Assignment{{Key: "load.qos", Value: []string{"", "0", "1"}[point]}}
		trials = append(trials, runtest.Repeated([]string{"mochi", "nats"}, 2, point, p, nil)...)
	}
	s := summary.Of(runtest.Write(t, "x", trials))
	points := map[int]int{}
	for _, c := range s.Comparisons {
		if c.Metric == summary.ResponseP50 {
			points[c.Point]++
			if len(c.Subjects) != 2 || c.Subjects[0].Repetitions != 2 || c.Set[0].Key != "load.qos" {
				t.Errorf("%+v", c)
			}
		}
	}
	if len(points) != 2 || points[1] != 1 || points[2] != 1 {
		t.Errorf("%v", points)
	}
}

func TestSummaryIsRepeatable(t *testing.T) {
	r := runtest.Comparison(t)
	a, b := summary.Of(r), summary.Of(r)
	for i := range a.Comparisons {
		for j, v := range a.Comparisons[i].Verdicts {
			if v.Text != b.Comparisons[i].Verdicts[j].Text {
				t.Errorf("%q, then %q", v.Text, b.Comparisons[i].Verdicts[j].Text)
			}
		}
	}
}

// TestOtherDurabilities: with the same guarantee, a broker that has messages on disk is not ranked with one that has them in
// memory, and each comparison names the other's promise.
func TestOtherDurabilities(t *testing.T) {
	durable := []string{"artemis", "rabbitmq"}
	s := summary.Of(runtest.Write(t, "x", runtest.Repeated([]string{"artemis", "mosquitto", "rabbitmq"}, 5, 1, runtest.Params(), func(r *runtest.Trial) {
		name := r.Plan.Subject.Name
		r.Edit = func(rec *run.TrialRecord) {
			rec.Client.Guarantee, rec.Client.Durability = "at least once", "in memory"
			if slices.Contains(durable, name) {
				rec.Client.Durability = "durable"
			}
		}
	})))
	ranked := map[string][]string{}
	for _, c := range s.Comparisons {
		if c.Metric != summary.ResponseP50 {
			continue
		}
		for _, x := range c.Subjects {
			ranked[c.Promise.String()] = append(ranked[c.Promise.String()], x.Subject)
		}
		for _, u := range c.NotComparable {
			if u.Promise == c.Promise || u.Guarantee != "at least once" {
				t.Errorf("%s: %+v is not comparable", c.Promise, u)
			}
		}
	}
	want := map[string][]string{"at least once, durable": durable, "at least once, in memory": {"mosquitto"}}
	if !maps.EqualFunc(ranked, want, slices.Equal) {
		t.Errorf("ranked %v, want %v", ranked, want)
	}
}
