// Package runtest writes run folders for tests, as a real run would, from a few numbers: fixed clock, fixed seed.
package runtest

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/hist"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/monitor"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run"
)

// Started is when every run of this package began.
var Started = time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)

// MeasureStart is the monotonic time at which each measure window opens.
const MeasureStart = int64(1_000_000_000_000)

// Trial describes a trial: its messages are evenly spread over whole seconds, their response times lognormal.
type Trial struct {
	Plan     plan.Trial
	Median   time.Duration // of the response time
	Lost     uint64        // the last ones of every second, in total
	BrokerMS float64       // milliseconds of CPU per second
	PSSBytes uint64
	Edit     func(*run.TrialRecord)               // before it is finished
	EditWin  func(second int64, w *ledger.Window) // before it is written
	Cut      bool                                 // the writer is killed before the end
}

// Params are those of the fixtures: ten pairs, 1,000 messages per second.
func Params() plan.Params {
	return plan.Params{
		Pattern: plan.PatternPairs, Publishers: 10, Subscribers: 10, RatePerS: 1000, Pacing: "constant", PayloadBytes: 256,
		PayloadForm: plan.PayloadBinary, Window: 100, Engine: "auto", Quantum: "auto", NoDelay: true, Verify: plan.VerifyAll,
		Phases: plan.Phases{WarmUp: time.Second, Measure: 3 * time.Second, Drain: time.Second},
	}
}

// Subject is an embedded broker.
func Subject(name string) plan.Subject {
	protocol := plan.MQTT5
	if name == "nats" {
		protocol = plan.NATS
	}
	return plan.Subject{Name: name, Broker: name, Variant: "as-shipped", Protocol: protocol, Runtime: "embedded"}
}

// Write writes a run of these trials and reads it again.
func Write(tb testing.TB, scenario string, trials []Trial) *run.Run {
	tb.Helper()
	p := plan.Plan{Scenario: scenario, Description: "A run made up for tests.", Seed: 42}
	for i := range trials {
		p.Trials = append(p.Trials, trials[i].Plan)
	}
	return WritePlan(tb, p, trials)
}

// WritePlan is Write for a plan whose trials are not those that were carried out.
func WritePlan(tb testing.TB, p plan.Plan, trials []Trial) *run.Run {
	tb.Helper()
	m := run.Manifest{
		ID: "0badc0", Scenario: p.Scenario, Seed: 42, Started: Started, Command: []string{"mqlab", "run", p.Scenario, "--seed", "42"},
		Host: run.Host{Hostname: "bench", Kernel: "6.8.0", OS: "linux", Arch: "amd64", CPUModel: "Model 7", Cores: 2, MemoryBytes: 4 << 30},
		Plan: p,
	}
	w, err := run.Create(tb.TempDir(), m)
	check(tb, err)
	for i := range trials {
		write(tb, w, &trials[i])
	}
	check(tb, w.Finish(nil))
	r, err := run.Open(w.Dir())
	check(tb, err)
	return r
}

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func write(tb testing.TB, w *run.Writer, t *Trial) {
	tb.Helper()
	tw, err := w.Trial(t.Plan.ID)
	check(tb, err)
	tw.Origin(Started.Add(time.Duration(t.Plan.ID) * time.Minute))
	p := &t.Plan.Params
	rng := rand.New(rand.NewPCG(t.Plan.Seed, uint64(t.Plan.ID)))
	seconds := int64(p.Phases.Measure / time.Second)
	var total ledger.Counts
	for second := int64(-1); second < seconds; second++ {
		pubs, subs := t.second(second, uint64(seconds), rng)
		for _, win := range []*ledger.Window{pubs, subs} {
			if t.EditWin != nil {
				t.EditWin(second, win)
			}
			check(tb, tw.Window(win))
			if second >= 0 {
				total.Add(&win.Counts)
			}
		}
	}
	for s := int64(-2); s <= seconds+1; s++ {
		t.watch(tb, tw, s)
	}
	if t.Cut {
		return
	}
	total.Expected, total.Lost = total.Offered, t.Lost
	record := t.record(total)
	if t.Edit != nil {
		t.Edit(record)
	}
	check(tb, tw.Finish(record))
}

// second makes the windows of one second; those before the measure window are warm-up.
func (t *Trial) second(second int64, seconds uint64, rng *rand.Rand) (pubs, subs *ledger.Window) {
	p := &t.Plan.Params
	n := uint64(p.RatePerS)
	arrived := n - t.Lost/seconds
	if second == 0 {
		arrived -= t.Lost % seconds
	}
	start, end, phase := second*int64(time.Second), (second+1)*int64(time.Second), "measure"
	if second < 0 {
		phase, arrived = "warm-up", n
	}
	pubs = &ledger.Window{
		Group: "publishers", Start: start, End: end, Phase: phase, Counts: ledger.Counts{Offered: n, Sent: n},
		InWindow: ledger.InWindow{Offered: n, Sent: n},
	}
	subs = &ledger.Window{
		Group: "subscribers", Start: start, End: end, Phase: phase, Counts: ledger.Counts{Received: arrived, Delivered: arrived},
		InWindow: ledger.InWindow{Received: arrived, Delivered: arrived},
	}
	lateness, response, service := hist.New(), hist.New(), hist.New()
	lateness.RecordN(4_000, int64(n))
	for range arrived {
		v := int64(float64(t.Median) * math.Exp(0.4*rng.NormFloat64()))
		response.Record(v)
		service.Record(max(v-5_000, 0))
	}
	pubs.Hists[ledger.Lateness] = lateness
	subs.Hists[ledger.Response], subs.Hists[ledger.Service] = response, service
	if second < 0 {
		connect := hist.New()
		connect.RecordN(int64(time.Millisecond), int64(p.Publishers))
		pubs.Hists[ledger.Connect] = connect
	}
	if p.QoS > 0 {
		pubs.Counts.Acked = n
		pubs.Hists[ledger.Ack] = service.Clone()
		pubs.Hists[ledger.Ack].RecordN(int64(t.Median), int64(n-arrived))
	}
	return pubs, subs
}

// watch writes what the monitor sees at a second.
func (t *Trial) watch(tb testing.TB, tw *run.TrialWriter, s int64) {
	tb.Helper()
	at, x := MeasureStart+s*int64(time.Second), float64(s+2)
	for _, sample := range []monitor.Sample{
		{T: at, Role: monitor.Broker, Processes: 1, CPUSeconds: x * t.BrokerMS / 1000, PSSBytes: t.PSSBytes, RSSBytes: 2 * t.PSSBytes, Threads: 5, FDs: 30},
		{T: at, Role: monitor.Generator, Processes: 1, CPUSeconds: x * 0.05},
		{T: at, Role: monitor.Host, Cores: 2, HostBusySeconds: x * (0.06 + t.BrokerMS/1000), Load1: 0.5},
	} {
		check(tb, tw.Monitor(sample))
	}
}

func (t *Trial) record(total ledger.Counts) *run.TrialRecord {
	s := &t.Plan.Subject
	return &run.TrialRecord{
		State: run.Finished, Trial: t.Plan, Started: Started.Add(time.Duration(t.Plan.ID) * time.Minute), MeasureStart: MeasureStart,
		Broker: run.Broker{
			Name: s.Broker, Version: "1.2.3", Runtime: s.Runtime, Variant: s.Variant,
			Config: []run.Setting{{Key: "listener", Value: "127.0.0.1", Source: "as written"}}, Limits: map[string]int64{"open_files": 1024},
		},
		Client:      run.Client{Protocol: s.Protocol, Name: "mqlab", Engine: "loop", Loops: 1, Quantum: "precise", KernelTimestamps: true, NoDelay: true},
		Connections: run.Connections{Attempted: 20, Established: 20},
		Wire:        &run.Wire{WireTotals: run.WireTotals{BytesUp: new(uint64(900_000)), BytesDown: new(uint64(910_000)), Retransmitted: new(uint64(0))}},
		Generator: run.Generator{
			CPUSeconds: new(1.65), SpinSeconds: new(1.5), Cores: 1, RSSBytes: new(uint64(20 << 20)),
			GCPauseTotal: new(int64(40_000)), GCPauseMax: new(int64(20_000)),
		},
		Totals: []run.GroupTotal{{Group: "all", Counts: total}},
		Checks: run.Checks{SubscribersReady: true, Measured: int64(t.Plan.Params.Phases.Measure)},
	}
}

// Repeated makes a trial for each subject and repetition at one point, interleaved. Edit may change each.
func Repeated(subjects []string, repetitions, point int, params plan.Params, edit func(*Trial)) []Trial {
	base := map[string]time.Duration{"nats": 100 * time.Microsecond, "mochi": 160 * time.Microsecond, "mosquitto": 162 * time.Microsecond}
	var trials []Trial
	for rep := range repetitions {
		for i := range subjects {
			n := (i + rep) % len(subjects)
			id := (point-1)*repetitions*len(subjects) + len(trials) + 1
			t := Trial{
				Plan: plan.Trial{
					ID: id, Cell: (point-1)*len(subjects) + n + 1, Point: point, Repetition: rep + 1, Seed: uint64(id),
					Subject: Subject(subjects[n]), Params: params,
				},
				Median: base[subjects[n]] + time.Duration(rep*n)*time.Microsecond, BrokerMS: 30 + float64(10*n), PSSBytes: uint64(n+1) * 10 << 20,
			}
			if edit != nil {
				edit(&t)
			}
			trials = append(trials, t)
		}
	}
	return trials
}

// Comparison is three subjects, five repetitions each. Trial 4 is invalid (the generator was late); in trial 9 every
// subscriber loses messages, 60 in total, and the publishers are a little behind.
func Comparison(tb testing.TB) *run.Run {
	tb.Helper()
	return Write(tb, "quick", Repeated([]string{"mochi", "mosquitto", "nats"}, 5, 1, Params(), func(t *Trial) {
		switch t.Plan.ID {
		case 4:
			t.EditWin = late
		case 9:
			t.Lost = 60
			t.EditWin = behind
		}
	}))
}

// behind sends a few messages later than they were due.
func behind(second int64, w *ledger.Window) {
	if second == 0 {
		w.InWindow.Sent -= min(w.InWindow.Sent, 30)
	}
}

// late makes the generator late by 20 ms in the second half.
func late(second int64, w *ledger.Window) {
	if h := w.Hists[ledger.Lateness]; h != nil && second > 0 {
		h.Reset()
		h.RecordN(int64(20*time.Millisecond), int64(w.Counts.Offered))
	}
}
