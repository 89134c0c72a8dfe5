package summary_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/hist"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/monitor"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/run/runtest"
	"github.com/mqlab/mqlab/internal/summary"
)

// recordOf edits the record of the trial.
func recordOf(f func(*run.TrialRecord)) func(*runtest.Trial) {
	return func(t *runtest.Trial) { t.Edit = f }
}

// windowsOf edits the windows of the measure window.
func windowsOf(f func(*ledger.Window)) func(*runtest.Trial) {
	return func(t *runtest.Trial) {
		t.EditWin = func(second int64, w *ledger.Window) {
			if second >= 0 {
				f(w)
			}
		}
	}
}

// lateBy makes the generator late by d.
func lateBy(d time.Duration) func(*runtest.Trial) {
	return windowsOf(func(w *ledger.Window) {
		if h := w.Hists[ledger.Lateness]; h != nil {
			h.Reset()
			h.RecordN(int64(d), 1000)
		}
	})
}

// respond replaces the response times by d, and adds the time blocked.
func respond(d, blocked time.Duration) func(*runtest.Trial) {
	return windowsOf(func(w *ledger.Window) {
		if h := w.Hists[ledger.Response]; h != nil {
			h.Reset()
			h.RecordN(int64(d), 1000)
		}
		if w.Group == "publishers" && blocked > 0 {
			w.Hists[ledger.Blocked] = hist.New()
			w.Hists[ledger.Blocked].RecordN(int64(blocked), 500)
		}
	})
}

// onEdge holds the broker to a machine.
func onEdge(p *plan.Params) {
	p.Profile = plan.Profile{Name: "1cpu-2gb", CPUs: 1, MemoryBytes: 2 << 30, OpenFiles: 300_000}
}

func closedLoop(p *plan.Params) { p.Pacing, p.RatePerS = "max", 1000 }

var verdicts = []struct {
	name   string
	params func(*plan.Params)
	edit   func(*runtest.Trial)
	code   string // "" = no such reason is expected: the trial is valid
	level  summary.Validity
	text   string // part of the text
}{
	{"as it should be", nil, nil, "", summary.Valid, ""},
	{"killed", nil, func(t *runtest.Trial) { t.Cut = true }, "cut", summary.Invalid, "killed"},
	{"failed", nil, recordOf(func(r *run.TrialRecord) { r.State, r.Failure = run.Failed, "connect: refused\nmore" }), "failed", summary.Invalid, "connect: refused"},
	{"failed without a word", nil, recordOf(func(r *run.TrialRecord) { r.State = run.Failed }), "failed", summary.Invalid, "the trial failed"},
	{"interrupted", nil, recordOf(func(r *run.TrialRecord) { r.Checks.Interrupted = true }), "interrupted", summary.Invalid, "after 3.00 s"},
	{"broker gone", nil, recordOf(func(r *run.TrialRecord) { r.Checks.BrokerExited = "signal: killed" }), "broker_exited", summary.Invalid, "signal: killed"},
	{"killed for memory", nil, recordOf(func(r *run.TrialRecord) {
		r.State, r.Failure = run.Failed, "killed for memory at 1200 connections"
		r.Checks.KilledForMemory = &run.MemoryKill{Connections: new(1200), LimitBytes: 2 << 30}
	}), "killed_for_memory", summary.Invalid, "killed for memory at 1,200 connections: its limit is 2.00 GiB"},
	{"killed for memory at once", nil, recordOf(func(r *run.TrialRecord) {
		r.State, r.Checks.KilledForMemory = run.Failed, &run.MemoryKill{}
	}), "killed_for_memory", summary.Invalid, "killed for memory before it was ready"},
	{"heap full", nil, recordOf(func(r *run.TrialRecord) {
		r.State, r.Checks.KilledForMemory = run.Failed, &run.MemoryKill{Connections: new(7), LimitBytes: 1 << 30, Heap: true}
	}), "killed_for_memory", summary.Invalid, "at 7 connections: its Java heap of 1.00 GiB is full"},
	{"a child killed for memory", nil, recordOf(func(r *run.TrialRecord) { r.Checks.MemoryKills = 1 }), "memory_kills", summary.Warning, "1 of the broker's processes"},
	{"machine not enforced", func(p *plan.Params) { p.Profile = plan.Profile{Name: "1cpu-2gb", CPUs: 1, Off: true} }, nil, "limits_off", summary.Warning, "machine 1cpu-2gb was asked for, but not enforced"},
	{"throttled", onEdge, recordOf(func(r *run.TrialRecord) {
		r.Broker.Throttling = &run.Throttling{Periods: 100, Throttled: 37, Time: int64(time.Second)}
	}), "throttled", "note", "in 37.0 % of the periods"},
	{"hardly throttled", onEdge, recordOf(func(r *run.TrialRecord) { r.Broker.Throttling = &run.Throttling{Periods: 100, Throttled: 1} }), "", summary.Valid, ""},
	{"fewer files than the machine has", onEdge, recordOf(func(r *run.TrialRecord) { r.Broker.Limits = map[string]int64{"open_files": 1024} }), "fewer_files", "note", "may open 1,024 files, not the 300,000"},
	{"not subscribed", nil, recordOf(func(r *run.TrialRecord) { r.Checks.SubscribersReady = false }), "subscribers_not_ready", summary.Invalid, ""},
	{"samples dropped", nil, recordOf(func(r *run.TrialRecord) { r.Checks.SamplesDropped = 1234 }), "samples_dropped", summary.Invalid, "1,234"},
	{"too many holes", nil, recordOf(func(r *run.TrialRecord) { r.Checks.HoleOverflow = true }), "hole_overflow", summary.Invalid, ""},
	{"receipts not judged", nil, recordOf(func(r *run.TrialRecord) { r.Totals[0].Counts.Overflow = 3 }), "hole_overflow", summary.Invalid, "3 receipts"},
	{"clock skew", nil, recordOf(func(r *run.TrialRecord) { r.Totals[0].Counts.ClockSkew = 1 }), "clock_skew", summary.Invalid, ""},
	{"mismatch told", nil, recordOf(func(r *run.TrialRecord) { r.Checks.LedgerMismatch = "books differ" }), "ledger_mismatch", summary.Invalid, "books differ"},
	{"sent and unsent", nil, recordOf(func(r *run.TrialRecord) { r.Totals[0].Counts.Sent-- }), "ledger_mismatch", summary.Invalid, "sent 2,999 + unsent 0 is not offered 3,000"},
	{"deliveries", nil, recordOf(func(r *run.TrialRecord) { r.Totals[0].Counts.Expected++ }), "ledger_mismatch", summary.Invalid, "is not expected 3,001"},
	{"acknowledgements", qos(1), recordOf(func(r *run.TrialRecord) { r.Totals[0].Counts.Acked-- }), "ledger_mismatch", summary.Invalid, "is not sent 3,000"},
	{"times missing", nil, windowsOf(func(w *ledger.Window) { w.Hists[ledger.Response] = hist.New(); w.Hists[ledger.Response].Record(1) }), "ledger_mismatch", summary.Invalid, "3,000 deliveries have 6 response times"},
	{"nothing due", nil, recordOf(func(r *run.TrialRecord) { r.Totals[0].Counts = ledger.Counts{} }), "no_samples", summary.Invalid, "no message"},
	{"nothing arrived", nil, func(t *runtest.Trial) { t.Lost = 3000 }, "no_samples", summary.Invalid, "none of 3,000"},

	{"late by a tenth", nil, lateBy(995 * time.Microsecond), "", summary.Valid, ""},
	{"late by more than a tenth of 10 ms", nil, lateBy(1100 * time.Microsecond), "generator_late", summary.Invalid, "every 10.0 ms"},
	{"late, but each publisher is slow", func(p *plan.Params) { p.Publishers = 100 }, lateBy(9 * time.Millisecond), "", summary.Valid, ""},
	{"late below a millisecond is nothing", func(p *plan.Params) { p.Publishers = 1 }, lateBy(990 * time.Microsecond), "", summary.Valid, ""},
	{"a ramp counts where it is fastest", func(p *plan.Params) { p.Publishers, p.RampToPerS = 100, 100_000 }, lateBy(9 * time.Millisecond), "generator_late", summary.Invalid, "every 1.00 ms"},
	{"a closed loop is never late", closedLoop, lateBy(time.Second), "closed_loop", summary.Warning, ""},
	{"skipped sends", nil, recordOf(func(r *run.TrialRecord) { r.Generator.SkippedSends = 5 }), "generator_skipped", summary.Invalid, ""},
	{"spinning is not work", nil, recordOf(func(r *run.TrialRecord) { r.Generator.CPUSeconds, r.Generator.SpinSeconds = new(3.0), new(0.5) }), "", summary.Valid, ""},
	{"out of CPU", nil, recordOf(func(r *run.TrialRecord) { r.Generator.CPUSeconds, r.Generator.SpinSeconds = new(3.0), new(0.4) }), "generator_cpu", summary.Invalid, "86.7 %"},
	{"two cores are enough", nil, recordOf(func(r *run.TrialRecord) {
		r.Generator.CPUSeconds, r.Generator.SpinSeconds, r.Generator.Cores = new(3.0), nil, 2
	}), "", summary.Valid, ""},
	{"out of CPU in a closed loop", closedLoop, recordOf(func(r *run.TrialRecord) { r.Generator.SpinSeconds, r.Generator.CPUSeconds = nil, new(3.0) }), "generator_cpu", summary.Warning, "set the pace"},

	{"behind the rate", nil, windowsOf(func(w *ledger.Window) { w.InWindow.Sent = w.InWindow.Sent * 94 / 100 }), "achieved_sent", summary.Warning, "94.0 %"},
	{"at 95 % of the rate", nil, windowsOf(func(w *ledger.Window) { w.InWindow.Sent = w.InWindow.Sent * 95 / 100 }), "", summary.Valid, ""},
	{"delivered too late for the window", nil, windowsOf(func(w *ledger.Window) { w.InWindow.Delivered = w.InWindow.Delivered * 9 / 10 }), "achieved_delivered", summary.Warning, "90.0 %"},
	{"never left", nil, recordOf(func(r *run.TrialRecord) {
		c := &r.Totals[0].Counts
		c.Offered, c.Unsent, c.Expected, c.UndeliveredUnsent = 3010, 10, 3010, 10
	}), "unsent", summary.Warning, "10 of 3,010"},
	{"lost", nil, func(t *runtest.Trial) { t.Lost = 30 }, "lost", summary.Warning, "30 of 3,000 expected deliveries were lost (1.00 %)"},
	{"unconfirmed", qos(1), recordOf(func(r *run.TrialRecord) { r.Totals[0].Counts.Acked, r.Totals[0].Counts.Unconfirmed = 2990, 10 }), "unconfirmed", summary.Warning, "10 of 3,000"},
	{"refused", qos(1), recordOf(func(r *run.TrialRecord) { r.Totals[0].Counts.Acked, r.Totals[0].Counts.Refused = 2990, 10 }), "refused", summary.Warning, "10 of 3,000"},
	{"corrupt", nil, recordOf(func(r *run.TrialRecord) { r.Totals[0].Counts.Corrupt = 2 }), "corrupt", summary.Warning, ""},
	{"duplicates at most once", nil, recordOf(func(r *run.TrialRecord) { r.Totals[0].Counts.Duplicates = 2 }), "duplicates", summary.Warning, ""},
	{"duplicates exactly once", qos(2), recordOf(func(r *run.TrialRecord) { r.Totals[0].Counts.Duplicates = 2 }), "duplicates", summary.Warning, ""},
	{"duplicates are allowed at least once", qos(1), recordOf(func(r *run.TrialRecord) { r.Totals[0].Counts.Duplicates = 2 }), "", summary.Valid, ""},
	{"foreign", nil, recordOf(func(r *run.TrialRecord) { r.Totals[0].Counts.Foreign = 2 }), "foreign", summary.Warning, ""},
	{"connections lost", nil, recordOf(func(r *run.TrialRecord) { r.Connections.Lost, r.Connections.Reconnected = 2, 1 }), "connections_lost", summary.Warning, "2 connections were lost, 1 came back"},
	{"connections failed", nil, recordOf(func(r *run.TrialRecord) {
		r.Connections.Failed, r.Connections.Failures = 3, []run.Failure{{Reason: "odd", Count: 1}, {Reason: "refused", Count: 2}}
	}), "connections_failed", summary.Warning, "3 of 20 connections failed: refused"},

	{"waited for the window", qos(1), respond(time.Second, 900*time.Millisecond), "waited", summary.Warning, "window of 100 unacknowledged"},
	{"waited for the socket", nil, respond(time.Second, 900*time.Millisecond), "waited", summary.Warning, "for the broker (socket full)"},
	{"waited for the generator", nil, respond(time.Second, 0), "waited", summary.Warning, "the generator was late"},
	{"a tenth waited", nil, windowsOf(func(w *ledger.Window) {
		if h := w.Hists[ledger.Response]; h != nil {
			h.Reset()
			h.RecordN(int64(time.Millisecond), 880)
			h.RecordN(int64(time.Second), 120)
			w.Hists[ledger.Service].Reset()
			w.Hists[ledger.Service].RecordN(int64(time.Millisecond), 980)
			w.Hists[ledger.Service].RecordN(int64(time.Second), 20)
		}
	}), "waited", summary.Warning, "p95 from due is 1.00 s, from sent 1.00 ms"},
	{"unverified", nil, recordOf(func(r *run.TrialRecord) { r.Client.TLS = &run.TLS{} }), "tls_unverified", summary.Warning, ""},
	{"verified", nil, recordOf(func(r *run.TrialRecord) { r.Client.TLS = &run.TLS{Verified: true} }), "", summary.Valid, ""},
	{"closed loop", closedLoop, nil, "closed_loop", summary.Warning, ""},
	{"acknowledgements held", func(p *plan.Params) { p.Connect.HoldAcks = true }, nil, "acks_held", "note", ""},
	{"few messages", nil, nil, "few_messages", "note", "3,000 expected deliveries are too few for p99.9"},
	{"hardly any messages", func(p *plan.Params) { p.RatePerS = 6 }, nil, "few_messages", summary.Warning, "p50"},
}

func qos(n uint8) func(*plan.Params) { return func(p *plan.Params) { p.QoS = n } }

func TestValidity(t *testing.T) {
	for _, c := range verdicts {
		t.Run(c.name, func(t *testing.T) {
			p := runtest.Params()
			if c.params != nil {
				c.params(&p)
			}
			x := one(t, p, c.edit)
			for _, r := range x.Reasons {
				if r.Text == "" || strings.ContainsAny(r.Text, "\n!") {
					t.Errorf("%s is not one line: %q", r.Code, r.Text)
				}
			}
			if c.code == "" {
				if x.Validity != summary.Valid {
					t.Errorf("%s: %v", x.Validity, x.Reasons)
				}
				return
			}
			if !has(x, c.code, c.level) || !strings.Contains(texts(x, c.code), c.text) {
				t.Errorf("no %s %s with %q among %v", c.level, c.code, c.text, x.Reasons)
			}
			if c.level == summary.Invalid && x.Validity != summary.Invalid || c.level == summary.Warning && x.Validity == summary.Valid {
				t.Errorf("the trial is %s", x.Validity)
			}
		})
	}
}

func texts(x *summary.Trial, code string) string {
	var all []string
	for _, r := range x.Reasons {
		if r.Code == code {
			all = append(all, r.Text)
		}
	}
	return strings.Join(all, "\n")
}

// TestStolenAndBusy: what the monitor saw of the machine.
func TestStolenAndBusy(t *testing.T) {
	for _, c := range []struct {
		steal, others float64 // of two cores
		want          string
	}{
		{0.009, 0.09, ""},
		{0.011, 0, "cpu_steal"},
		{0, 0.11, "host_busy"},
	} {
		r := runtest.Write(t, "one", runtest.Repeated([]string{"mosquitto"}, 1, 1, runtest.Params(), nil))
		m := r.Trials[0].Monitor
		for i := range m {
			if m[i].Role == monitor.Host {
				seconds := float64(m[i].T-m[0].T) / 1e9
				m[i].StealSeconds = seconds * 2 * c.steal
				m[i].HostBusySeconds += seconds * 2 * c.others
			}
		}
		x := summary.Of(r).Trials[0]
		if got := has(&x, c.want, summary.Warning); got != (c.want != "") || c.want == "" && x.Validity != summary.Valid {
			t.Errorf("%+v: %v", c, x.Reasons)
		}
	}
}

func TestDamagedFolderIsInvalid(t *testing.T) {
	r := runtest.Write(t, "one", runtest.Repeated([]string{"mosquitto"}, 1, 1, runtest.Params(), nil))
	file := filepath.Join(r.Dir, "trials", "1", "subscribers.response.hlog")
	if err := os.Truncate(file, 500); err != nil {
		t.Fatal(err)
	}
	r, err := run.Open(r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if x := summary.Of(r).Trials[0]; !has(&x, "damaged", summary.Invalid) || x.Validity != summary.Invalid {
		t.Errorf("%v", x.Reasons)
	}
}
