package crew

import (
	"cmp"
	"context"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/faulty"
	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/guard/guardtest"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/netns"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/mqtt"
	"github.com/mqlab/mqlab/internal/worker"
)

// TestMain lets the test program be run again as the guard and as a process of the generator.
func TestMain(m *testing.M) {
	guardtest.Main(m, guard.Verbs{Verb: Main})
}

func trialOf(change func(p *plan.Params)) plan.Trial {
	t := plan.Trial{
		ID: 1, Seed: 7, Subject: plan.Subject{Name: "test", Protocol: plan.MQTT5},
		Params: plan.Params{
			Pattern: plan.PatternPairs, Publishers: 7, Subscribers: 7, RatePerS: 3000, Pacing: plan.PacingConstant, QoS: 1, Window: 100,
			PayloadBytes: 64, PayloadForm: plan.PayloadBinary, Topic: "t/{run}/{stream}", ClientID: "c-{run}-{role}-{n}",
			Connect: plan.Connect{Timeout: 10 * time.Second, CleanStart: true, Reconnect: true},
			Phases:  plan.Phases{Measure: 300 * time.Millisecond, Drain: 10 * time.Second},
			Engine:  plan.EngineAuto, Quantum: plan.QuantumAuto, NoDelay: true, Verify: plan.VerifyAll,
		},
	}
	change(&t.Params)
	return t
}

// brokerOf serves a broker that makes the given faults in whatever is due from now on, and returns its URL.
func brokerOf(t *testing.T, p faulty.Plan) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	match := func(filter, topic []byte) bool { return mqtt.Match(filter, topic) }
	s := faulty.NewServer(faulty.Config{Plan: p, Match: match}, func() proto.Server { return mqtt.NewServer(&mqtt.ServerConfig{}) })
	s.Do(func(b *faulty.Broker, now int64) { b.SetZero(now) })
	ctx, cancel := context.WithCancel(t.Context())
	var served sync.WaitGroup
	served.Go(func() { _ = s.Serve(ctx, ln) }) // ends when the listener closes
	t.Cleanup(func() { cancel(); served.Wait() })
	return "mqtt://" + ln.Addr().String()
}

// account is what must be the same however many processes a trial is carried out by.
type account struct {
	Counts  ledger.Counts
	Books   []engine.StreamBook
	Seen    map[[2]int]uint64 // next number by subscriber and stream
	Times   map[string]int64  // histogram totals
	Samples map[engine.SampleKind]int
	Conns   int
}

// collector gathers what workers tell.
type collector struct {
	mu      sync.Mutex
	sum     ledger.Window
	samples map[engine.SampleKind]int
}

func (c *collector) sink() worker.Sink {
	c.samples = map[engine.SampleKind]int{}
	return worker.Sink{
		Window:  func(w *ledger.Window) { c.mu.Lock(); defer c.mu.Unlock(); c.sum.Merge(w) },
		Samples: func() worker.Sampler { return c },
	}
}

func (c *collector) Record(s *engine.Sample) { c.mu.Lock(); defer c.mu.Unlock(); c.samples[s.Kind]++ }
func (c *collector) Flush()                  {}

// carryOut measures a trial with n processes; 0 = in this one.
func carryOut(t *testing.T, n int, trial plan.Trial, faults faulty.Plan) account {
	t.Helper()
	all := &collector{}
	share := worker.Whole(9, trial, brokerOf(t, faults))
	var w worker.Worker
	var err error
	if n == 0 {
		w, err = worker.NewLocal(share, worker.Credentials{}, netns.Host, all.sink())
	} else {
		w, err = Start(share, n, worker.Credentials{}, netns.Host, guardtest.Start(t), all.sink())
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := w.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.Begin(t.Context(), clock.Now()+int64(20*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	r, err := w.Measure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return accountOf(trial.Params.Pattern, r, all)
}

func accountOf(pattern string, r *worker.Result, all *collector) account {
	a := account{Counts: worker.Settle(pattern, r), Books: r.Books, Seen: map[[2]int]uint64{}, Times: map[string]int64{}, Samples: all.samples, Conns: r.Connections.Established}
	a.Counts.Add(&all.sum.Counts)
	a.Counts.Drained, a.Counts.MaxReorder = 0, 0 // a matter of time
	slices.SortFunc(a.Books, func(x, y engine.StreamBook) int { return cmp.Compare(x.Stream, y.Stream) })
	for _, receipt := range r.Receipts {
		a.Seen[[2]int{receipt.Subscriber, int(receipt.Stream)}] = receipt.Seen.Next()
	}
	for _, m := range []ledger.Metric{ledger.Response, ledger.Service, ledger.Ack, ledger.Lateness, ledger.Connect} {
		if h := all.sum.Hists[m]; h != nil {
			a.Times[m.String()] = h.Count()
		}
	}
	return a
}

func TestThreeProcessesCountAsOne(t *testing.T) {
	for _, c := range []struct {
		name   string
		faults faulty.Plan
		change func(p *plan.Params)
	}{
		{"pairs", faulty.Plan{}, func(*plan.Params) {}},
		{"pairs by goroutines", faulty.Plan{}, func(p *plan.Params) { p.Engine = plan.EngineGoroutine }},
		{"fanout", faulty.Plan{}, func(p *plan.Params) {
			p.Pattern, p.Publishers, p.Subscribers, p.RatePerS = plan.PatternFanout, 2, 8, 400
		}},
		{"fanin", faulty.Plan{}, func(p *plan.Params) {
			p.Pattern, p.Subscribers, p.Phases.WarmUp = plan.PatternFanin, 1, 100*time.Millisecond
		}},
		{"shared", faulty.Plan{}, func(p *plan.Params) { p.Pattern, p.Subscribers = plan.PatternShared, 4 }},
		{"faults", faulty.Plan{Faults: map[uint64]faulty.Fault{
			5: {Kind: faulty.Lose}, 300: {Kind: faulty.Lose}, 111: {Kind: faulty.Repeat}, 222: {Kind: faulty.Foreign}, 333: {Kind: faulty.Corrupt},
		}}, func(p *plan.Params) { p.Phases.Drain = time.Second }},
	} {
		t.Run(c.name, func(t *testing.T) {
			trial := trialOf(c.change)
			one, three := carryOut(t, 0, trial, c.faults), carryOut(t, 3, trial, c.faults)
			if c.name == "shared" || c.name == "faults" {
				one.Seen, three.Seen = nil, nil // which of the messages were hit, or who got them, is chance
			}
			if diff := gocmp.Diff(one, three); diff != "" {
				t.Errorf("one process and three differ (-one +three):\n%s", diff)
			}
			if one.Counts.Offered == 0 || one.Counts.Sent != one.Counts.Offered {
				t.Errorf("not everything was sent: %+v", one.Counts)
			}
			if c.name == "faults" && (one.Counts.Lost != 3 || one.Counts.Duplicates != 1 || one.Counts.Foreign != 1 || one.Counts.Corrupt != 1) {
				t.Errorf("the faults are not seen: %+v", one.Counts)
			}
		})
	}
}

// started is a crew that has connected.
func started(t *testing.T, change func(p *plan.Params)) *Crew {
	t.Helper()
	share := worker.Whole(9, trialOf(change), brokerOf(t, faulty.Plan{}))
	c, err := Start(share, 3, worker.Credentials{}, netns.Host, guardtest.Start(t), worker.Sink{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		for _, p := range c.processes {
			if err := p.cmd.Process.Signal(os.Interrupt); err == nil {
				t.Errorf("%s is still there", p.name)
			}
		}
	})
	if err := c.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCrash: the end of one process ends the measuring, with a word about which and how.
func TestCrash(t *testing.T) {
	c := started(t, func(p *plan.Params) { p.Phases.Measure = time.Minute })
	if err := c.Begin(t.Context(), clock.Now()); err != nil {
		t.Fatal(err)
	}
	if err := c.processes[1].cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	r, err := c.Measure(t.Context())
	if r != nil || err == nil || !strings.HasPrefix(err.Error(), "generator process 2 of 3 ended: signal: killed") {
		t.Errorf("result %v, error %v", r, err)
	}
}

// TestStop: what was measured until the end of the context is settled, as with one process.
func TestStop(t *testing.T) {
	c := started(t, func(p *plan.Params) { p.Phases.Measure = time.Minute })
	if err := c.Begin(t.Context(), clock.Now()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, os.ErrDeadlineExceeded)
	defer cancel()
	r, err := c.Measure(ctx)
	if err != os.ErrDeadlineExceeded || r == nil {
		t.Fatalf("result %v, error %v", r, err)
	}
	if counts := worker.Settle(plan.PatternPairs, r); counts.Expected == 0 || len(r.Books) != 7 {
		t.Errorf("%d books, %+v", len(r.Books), counts)
	}
}

// TestRefused: what keeps one process from working is told as it is.
func TestRefused(t *testing.T) {
	share := worker.Whole(9, trialOf(func(*plan.Params) {}), "mqtt://127.0.0.1:1")
	c, err := Start(share, 2, worker.Credentials{}, netns.Host, guardtest.Start(t), worker.Sink{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := c.Prepare(t.Context()); err == nil || !strings.Contains(err.Error(), "connect 127.0.0.1:1: refused") {
		t.Error(err)
	}
	if n := c.Connections(); n.Failed == 0 {
		t.Errorf("no failed attempt is told: %+v", n)
	}
	share.Trial.Subject.Protocol = "smoke"
	if c, err := Start(share, 2, worker.Credentials{}, netns.Host, guardtest.Start(t), worker.Sink{}); err == nil || !strings.Contains(err.Error(), `protocol "smoke" is not known`) {
		t.Errorf("%v, %v", c, err)
	}
}
