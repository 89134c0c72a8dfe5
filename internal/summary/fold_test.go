package summary_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/hist"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/run/runtest"
	"github.com/mqlab/mqlab/internal/summary"
)

// one makes the summary of a run of a single trial.
func one(t *testing.T, params plan.Params, edit func(*runtest.Trial)) *summary.Trial {
	t.Helper()
	s := summary.Of(runtest.Write(t, "one", runtest.Repeated([]string{"mosquitto"}, 1, 1, params, edit)))
	if len(s.Trials) != 1 || len(s.Cells) != 1 {
		t.Fatalf("%d trials, %d cells", len(s.Trials), len(s.Cells))
	}
	return &s.Trials[0]
}

func confirmed() plan.Params {
	p := runtest.Params()
	p.QoS = 1
	return p
}

func equal[T comparable](t *testing.T, what string, got *T, want T) {
	t.Helper()
	if got == nil {
		t.Errorf("%s is absent, want %v", what, want)
	} else if *got != want {
		t.Errorf("%s is %v, want %v", what, *got, want)
	}
}

// within allows for the rounding of floating point.
func within(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	if got == nil || *got < want*0.999999 || *got > want*1.000001 {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func TestTrialIsTheSumOfItsMeasureWindow(t *testing.T) {
	x := one(t, confirmed(), nil)
	equal(t, "offered", x.Counts.Offered, 3000) // warm-up is not in it
	equal(t, "acked", x.Counts.Acked, 3000)
	equal(t, "unconfirmed", x.Counts.Unconfirmed, 0)
	equal(t, "expected", x.Counts.Expected, 3000)
	equal(t, "delivered", x.Counts.Delivered, 3000)
	equal(t, "lost", x.Counts.Lost, 0)
	equal(t, "measured", x.Measured, int64(3*time.Second))
	equal(t, "offered rate", x.Rates.Offered, 1000)
	equal(t, "sent rate", x.Rates.Sent, 1000)
	equal(t, "delivered rate", x.Rates.Delivered, 1000)
	if q := x.Latency.Response; q.Count != 3000 || q.Expected != 3000 {
		t.Errorf("response times: %+v", q)
	}
	if q := x.Connections.Connect; q == nil || q.Count != 10 {
		t.Errorf("connect times of the time before the measure window: %+v", q)
	}
	within(t, "generator CPU without spinning", x.Generator.CPUSeconds, 0.15)
	within(t, "generator CPU per message", x.Generator.CPUPerMessage, 25_000)
	if x.Validity != summary.Valid || x.Guarantee != "at least once" || x.Subject.Version != "1.2.3" {
		t.Errorf("%s, %s, %+v, %v", x.Validity, x.Guarantee, x.Subject, x.Reasons)
	}
}

// TestMoreSpinningThanCPU: the two are measured differently; their difference is no CPU time when it is negative.
func TestMoreSpinningThanCPU(t *testing.T) {
	x := one(t, runtest.Params(), recordOf(func(r *run.TrialRecord) { r.Generator.SpinSeconds = new(1.7) }))
	if x.Generator.CPUSeconds != nil || x.Generator.CPUPerMessage != nil {
		t.Errorf("%v", *x.Generator.CPUSeconds)
	}
	equal(t, "spinning", x.Generator.SpinSeconds, 1.7)
}

// TestDrainIsNoThroughput: what arrives after the measure window counts as delivered, not for the rate.
func TestDrainIsNoThroughput(t *testing.T) {
	x := one(t, runtest.Params(), func(r *runtest.Trial) {
		r.EditWin = func(second int64, w *ledger.Window) {
			if second == 2 && w.Group == "subscribers" { // arrived one second later
				w.Start, w.End, w.Phase = w.Start+int64(time.Second), w.End+int64(time.Second), "drain"
				w.Counts.Drained = w.Counts.Delivered
			}
		}
	})
	equal(t, "delivered", x.Counts.Delivered, 3000)
	equal(t, "drained", x.Counts.Drained, 1000)
	equal(t, "delivered rate", x.Rates.Delivered, 2000.0/3)
	if !has(x, "achieved_delivered", summary.Warning) || x.Latency.Response.Count != 3000 {
		t.Errorf("%v, %d response times", x.Reasons, x.Latency.Response.Count)
	}
}

// TestWarmUpIsNowhere: not even where the engine put counts into its windows.
func TestWarmUpIsNowhere(t *testing.T) {
	x := one(t, runtest.Params(), func(r *runtest.Trial) {
		r.EditWin = func(second int64, w *ledger.Window) {
			if second < 0 && w.Group == "subscribers" {
				w.Counts.Duplicates, w.Counts.ClockSkew = 7, 7
				w.Hists[ledger.Response].RecordN(int64(time.Minute), 1000)
			}
		}
	})
	if x.Validity != summary.Valid || *x.Latency.Response.Max > int64(time.Second) {
		t.Errorf("%v, max %d", x.Reasons, *x.Latency.Response.Max)
	}
}

// TestCutTrialGuessesNothing: the fate of its messages is not known.
func TestCutTrialGuessesNothing(t *testing.T) {
	x := one(t, confirmed(), func(r *runtest.Trial) { r.Cut = true })
	equal(t, "offered", x.Counts.Offered, 3000)
	equal(t, "delivered", x.Counts.Delivered, 3000)
	for name, v := range map[string]*uint64{
		"lost": x.Counts.Lost, "expected": x.Counts.Expected, "unsent": x.Counts.Unsent, "unconfirmed": x.Counts.Unconfirmed, "undelivered_unsent": x.Counts.UndeliveredUnsent,
	} {
		if v != nil {
			t.Errorf("%s is %d", name, *v)
		}
	}
	if x.Measured != nil || x.Rates.Offered != nil || x.Broker.CPUSeconds != nil || x.Connections != nil || x.Generator.CPUSeconds != nil {
		t.Errorf("%+v %+v", x.Rates, x.Broker)
	}
	equal(t, "sent rate", x.Rates.Sent, 1000) // as far as windows reach
	if !has(x, "cut", summary.Invalid) || x.Subject.Name != "mosquitto" {
		t.Errorf("%v", x.Reasons)
	}
	if q := x.Latency.Ack; q == nil || q.Expected != 3000 {
		t.Errorf("acknowledgements: %+v", q)
	}
}

func TestNoGuaranteeNoAcknowledgements(t *testing.T) {
	x := one(t, runtest.Params(), nil)
	if x.Counts.Acked != nil || x.Counts.Unconfirmed != nil || x.Counts.Refused != nil || x.Latency.Ack != nil || x.Guarantee != "at most once" {
		t.Errorf("%+v", x.Counts)
	}
}

func TestGuaranteeAsRecorded(t *testing.T) {
	x := one(t, runtest.Params(), func(r *runtest.Trial) {
		r.Edit = func(rec *run.TrialRecord) { rec.Client.Guarantee = "exactly once" }
	})
	p := runtest.Params()
	p.QoS = 2
	if y := one(t, p, nil); x.Guarantee != "exactly once" || y.Guarantee != "exactly once" {
		t.Errorf("%q %q", x.Guarantee, y.Guarantee)
	}
}

func TestResourcesOfTheMeasureWindowOnly(t *testing.T) {
	x := one(t, runtest.Params(), func(r *runtest.Trial) { r.BrokerMS, r.PSSBytes = 40, 10<<20 })
	within(t, "broker CPU", x.Broker.CPUSeconds, 0.12)
	within(t, "broker mean load", x.Broker.CPUPercentMean, 4)
	within(t, "broker peak load", x.Broker.CPUPercentMax, 4)
	within(t, "broker CPU per delivery", x.Broker.CPUPerDelivery, 40_000)
	equal(t, "broker memory, mean", x.Broker.PSSBytesMean, 10<<20)
	equal(t, "broker memory, most", x.Broker.PSSBytesMax, 10<<20)
	equal(t, "broker RSS", x.Broker.RSSBytesMax, 20<<20)
	equal(t, "threads", x.Broker.ThreadsMax, 5)
	equal(t, "descriptors", x.Broker.FDsMax, 30)
	within(t, "host busy", x.Host.Busy, 0.05)
	within(t, "others", x.Host.Others, 0.005)
	equal(t, "steal", x.Host.Steal, 0)
}

// TestResourcesUnknown: without samples around the measure window nothing is said.
func TestResourcesUnknown(t *testing.T) {
	for name, start := range map[string]int64{"not told": 0, "before all samples": 1000, "ends after the last": runtest.MeasureStart + int64(2*time.Second)} {
		x := one(t, runtest.Params(), func(r *runtest.Trial) {
			r.Edit = func(rec *run.TrialRecord) { rec.MeasureStart = start }
		})
		if x.Broker.CPUSeconds != nil || x.Broker.CPUPercentMean != nil || x.Broker.CPUPerDelivery != nil || x.Host != nil {
			t.Errorf("%s: %+v", name, x.Broker)
		}
	}
}

// TestWindowBetweenSamples: the counters are taken on the line between two samples.
func TestWindowBetweenSamples(t *testing.T) {
	x := one(t, runtest.Params(), func(r *runtest.Trial) {
		r.BrokerMS = 100
		r.Edit = func(rec *run.TrialRecord) { rec.MeasureStart -= int64(300 * time.Millisecond) }
	})
	if got := x.Broker.CPUSeconds; got == nil || *got < 0.2999 || *got > 0.3001 {
		t.Errorf("%v", got)
	}
}

// TestJSONContract: the fields of the contract are there, with the types it says.
func TestJSONContract(t *testing.T) {
	s := summary.Of(runtest.Write(t, "one", runtest.Repeated([]string{"mosquitto", "nats"}, 2, 1, confirmed(), nil)))
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	for _, path := range strings.Fields(`
		schema run.id run.scenario run.seed run.started run.host.kernel
		trials.id trials.repetition trials.validity trials.reasons
		trials.subject.name trials.subject.broker trials.subject.broker_version trials.subject.runtime trials.subject.variant
		trials.subject.publish.protocol trials.subject.publish.client trials.subject.subscribe.protocol trials.subject.subscribe.client
		trials.params.payload_bytes trials.params.qos trials.params.publishers trials.params.subscribers trials.params.rate_per_s
		trials.counts.offered trials.counts.sent trials.counts.unsent trials.counts.acked trials.counts.unconfirmed trials.counts.expected
		trials.counts.delivered trials.counts.lost trials.counts.undelivered_unsent trials.counts.duplicates trials.counts.reordered
		trials.counts.corrupt trials.counts.foreign
		trials.rates.offered_per_s trials.rates.sent_per_s trials.rates.delivered_per_s
		trials.latency.response.count trials.latency.response.min_ns trials.latency.response.mean_ns trials.latency.response.p50_ns
		trials.latency.response.p90_ns trials.latency.response.p95_ns trials.latency.response.p99_ns trials.latency.response.max_ns
		trials.latency.response.stddev_ns trials.latency.service.p50_ns trials.latency.ack.p50_ns
		trials.generator.lateness.p99_ns trials.generator.cpu_seconds trials.generator.cpu_ns_per_message trials.generator.rss_bytes
		trials.broker.cpu_seconds trials.broker.cpu_percent_mean trials.broker.cpu_percent_max trials.broker.pss_bytes_mean
		trials.broker.pss_bytes_max trials.broker.limits.open_files
		trials.connections.attempted trials.connections.established trials.connections.failed trials.connections.lost
		trials.connections.reconnected trials.connections.connect.count
		trials.wire.bytes_up trials.wire.bytes_down trials.wire.retransmitted_segments
		comparisons.metric comparisons.groups comparisons.subjects.subject comparisons.subjects.median comparisons.subjects.ci_low
		comparisons.subjects.ci_high comparisons.subjects.repetitions`) {
		if !reach(all, strings.Split(path, ".")) {
			t.Errorf("%s is missing", path)
		}
	}
	for _, absent := range []string{"trials.latency.response.p999_ns", "trials.latency.kernel", "trials.link", "trials.failure"} {
		if reach(all, strings.Split(absent, ".")) {
			t.Errorf("%s is there although it is not known", absent)
		}
	}
}

// reach follows a path; of a list it takes the first element.
func reach(v any, path []string) bool {
	if list, ok := v.([]any); ok && len(path) > 0 {
		return len(list) > 0 && reach(list[0], path)
	}
	if len(path) == 0 {
		return v != nil
	}
	object, ok := v.(map[string]any)
	if !ok {
		return false
	}
	next, ok := object[path[0]]
	return ok && reach(next, path[1:])
}

func TestComplete(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*runtest.Trial)
		want bool
	}{
		"whole":       {nil, true},
		"failed":      {recordOf(func(r *run.TrialRecord) { r.State = run.Failed }), true},
		"interrupted": {recordOf(func(r *run.TrialRecord) { r.Checks.Interrupted = true }), false},
		"killed":      {func(r *runtest.Trial) { r.Cut = true }, false},
	} {
		r := runtest.Write(t, "one", runtest.Repeated([]string{"nats"}, 1, 1, runtest.Params(), c.edit))
		if got := summary.Of(r).Run.Complete; got != c.want {
			t.Errorf("%s: complete %v", name, got)
		}
		r.Manifest.Plan.Trials = append(r.Manifest.Plan.Trials, plan.Trial{ID: 2})
		if summary.Of(r).Run.Complete {
			t.Errorf("%s: complete although a trial is missing", name)
		}
	}
}

func TestEmptyRun(t *testing.T) {
	s := summary.Of(runtest.Write(t, "none", nil))
	b, err := json.Marshal(s)
	if err != nil || !strings.Contains(string(b), `"trials":[],"cells":[],"comparisons":[]`) {
		t.Errorf("%s, %v", b, err)
	}
}

func TestCells(t *testing.T) {
	s := summary.Of(runtest.Comparison(t))
	i := slices.IndexFunc(s.Cells, func(c summary.Cell) bool { return c.Subject.Name == "mosquitto" })
	c := s.Cells[i]
	if len(s.Cells) != 3 || !slices.Equal(c.Trials, []int{2, 4, 9, 11, 13}) || c.Valid != 4 {
		t.Fatalf("%d cells, %+v", len(s.Cells), c)
	}
	equal(t, "offered of the valid trials", c.Counts.Offered, 12_000)
	equal(t, "lost", c.Counts.Lost, 60)
	equal(t, "lost ratio", c.LostRatio, 0.005)
	if s.Trials[0].Counts.Offered == nil || *s.Trials[0].Counts.Offered != 3000 {
		t.Error("summing up changed a trial")
	}
}

func TestUnknownMakesASumUnknown(t *testing.T) {
	s := summary.Of(runtest.Write(t, "one", runtest.Repeated([]string{"mosquitto"}, 2, 1, runtest.Params(), func(r *runtest.Trial) {
		if r.Plan.ID == 2 {
			r.Edit = func(rec *run.TrialRecord) { rec.Client.Guarantee = "at least once"; rec.Totals[0].Counts.Acked = 3000 }
			r.EditWin = func(_ int64, w *ledger.Window) {
				if w.Group == "publishers" {
					w.Hists[ledger.Ack] = hist.New()
				}
			}
		}
	})))
	if c := s.Cells[0].Counts; c.Acked != nil || *c.Sent != 6000 {
		t.Errorf("%+v", c)
	}
}

func has(t *summary.Trial, code string, level summary.Validity) bool {
	return slices.ContainsFunc(t.Reasons, func(r summary.Reason) bool { return r.Code == code && r.Level == level })
}

func TestSummaryIsDeterministic(t *testing.T) {
	r := runtest.Comparison(t)
	if a, b := summary.Of(r), summary.Of(r); !reflect.DeepEqual(a, b) {
		t.Error("two summaries of one run differ")
	}
}

func TestOnly(t *testing.T) {
	s := summary.Of(runtest.Comparison(t))
	one := s.Only(9)
	if len(one.Trials) != 1 || one.Trials[0].ID != 9 || len(one.Cells) != 1 || one.Cells[0].Trials[0] != 9 || len(s.Trials) != 15 {
		t.Errorf("%+v", one)
	}
	if s.Only(99) != nil {
		t.Error("a trial that is not there")
	}
}
