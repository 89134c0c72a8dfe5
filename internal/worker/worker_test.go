package worker

import (
	"context"
	"encoding/json"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/faulty"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/netns"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/mqtt"
)

func trialOf(change func(p *plan.Params)) plan.Trial {
	t := plan.Trial{
		ID: 1, Seed: 7, Subject: plan.Subject{Name: "test", Protocol: plan.MQTT5},
		Params: plan.Params{
			Pattern: plan.PatternPairs, Publishers: 4, Subscribers: 4, RatePerS: 4000, Pacing: plan.PacingConstant,
			PayloadBytes: 64, PayloadForm: plan.PayloadBinary, Topic: "t/{run}/{stream}", ClientID: "c-{run}-{role}-{n}",
			Connect: plan.Connect{Timeout: 10 * time.Second, CleanStart: true, Reconnect: true},
			Phases:  plan.Phases{WarmUp: 20 * time.Millisecond, Measure: 200 * time.Millisecond, Drain: 300 * time.Millisecond},
			Engine:  plan.EngineAuto, Quantum: plan.QuantumAuto, NoDelay: true, Verify: plan.VerifyAll,
		},
	}
	if change != nil {
		change(&t.Params)
	}
	return t
}

// brokerOf serves a broker that makes the given faults and returns its URL.
func brokerOf(t *testing.T, p faulty.Plan) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	match := func(filter, topic []byte) bool { return mqtt.Match(filter, topic) }
	s := faulty.NewServer(faulty.Config{Plan: p, Match: match}, func() proto.Server { return mqtt.NewServer(&mqtt.ServerConfig{}) })
	ctx, cancel := context.WithCancel(t.Context())
	var served sync.WaitGroup
	served.Go(func() { _ = s.Serve(ctx, ln) }) // ends when the listener closes
	t.Cleanup(func() { cancel(); served.Wait() })
	return "mqtt://" + ln.Addr().String()
}

// books collects windows of several workers.
type books struct {
	mu  sync.Mutex
	sum ledger.Window
}

func (b *books) add(w *ledger.Window) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sum.Merge(w)
}

// carryOut lets one worker per share do its part of a trial, and settles.
func carryOut(t *testing.T, pattern string, shares ...Share) ledger.Counts {
	t.Helper()
	var all books
	workers := make([]*Local, len(shares))
	for i, s := range shares {
		w, err := NewLocal(s, Credentials{}, netns.Host, Sink{Window: all.add})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = w.Close() }()
		if err := w.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		workers[i] = w
	}
	start := clock.Now() + int64(10*time.Millisecond)
	for _, w := range workers {
		if err := w.Begin(t.Context(), start); err != nil {
			t.Fatal(err)
		}
	}
	results := make([]*Result, len(workers))
	var done sync.WaitGroup
	for i, w := range workers {
		done.Go(func() {
			var err error
			if results[i], err = w.Measure(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	counts := Settle(pattern, results...)
	all.sum.Counts.Add(&counts)
	return all.sum.Counts
}

func TestShareSurvivesJSON(t *testing.T) {
	share := Whole(42, trialOf(nil), "mqtt://127.0.0.1:1883")
	b, err := json.Marshal(share)
	if err != nil {
		t.Fatal(err)
	}
	var got Share
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(share, got); diff != "" {
		t.Errorf("a share that went through JSON is another (-want +got):\n%s", diff)
	}
}

func TestTwoWorkersCountAsOne(t *testing.T) {
	for _, c := range []struct {
		name        string
		pattern     string
		subscribers int
		split       func(whole Share) []Share
	}{
		{"one", plan.PatternPairs, 4, func(w Share) []Share { return []Share{w} }},
		{"publishers here, subscribers there", plan.PatternPairs, 4, func(w Share) []Share {
			pubs, subs := w, w
			pubs.Subscribers, subs.Publishers = Span{}, Span{}
			return []Share{subs, pubs}
		}},
		{"half and half", plan.PatternPairs, 4, halves},
		{"fan-out, half and half", plan.PatternFanout, 6, func(w Share) []Share {
			s := halves(w)
			s[0].Subscribers, s[1].Subscribers = Span{From: 0, To: 3}, Span{From: 3, To: 6}
			return s
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			url := brokerOf(t, faulty.Plan{})
			trial := trialOf(func(p *plan.Params) { p.Pattern, p.Subscribers = c.pattern, c.subscribers })
			counts := carryOut(t, c.pattern, c.split(Whole(9, trial, url))...)
			offered := counts.Offered
			if offered < 796 || offered > 804 {
				t.Errorf("%d messages offered in 0.2 s at 4,000/s", offered)
			}
			fan := uint64(trial.Params.Fan())
			want := ledger.Counts{Offered: offered, Sent: offered, Expected: offered * fan, Received: offered * fan, Delivered: offered * fan}
			counts.Drained = 0 // some are always on their way when the window closes
			if diff := cmp.Diff(want, counts); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
		})
	}
}

func halves(w Share) []Share {
	a, b := w, w
	a.Publishers, a.Subscribers = Span{From: 0, To: 2}, Span{From: 0, To: 2}
	b.Publishers, b.Subscribers = Span{From: 2, To: 4}, Span{From: 2, To: 4}
	return []Share{a, b}
}

func TestEnginesDoTheSame(t *testing.T) {
	for _, kind := range []string{plan.EngineLoop, plan.EngineGoroutine} {
		for _, form := range []string{plan.PayloadBinary, plan.PayloadJSON} {
			t.Run(kind+" "+form, func(t *testing.T) {
				url := brokerOf(t, faulty.Plan{})
				trial := trialOf(func(p *plan.Params) {
					p.Engine, p.PayloadForm, p.PayloadBytes, p.QoS, p.Window = kind, form, 300, 2, 8
				})
				c := carryOut(t, plan.PatternPairs, Whole(3, trial, url))
				if c.Offered < 796 || c.Sent != c.Offered || c.Acked != c.Offered || c.Delivered != c.Offered || c.Corrupt+c.Foreign+c.Lost > 0 {
					t.Errorf("%+v", c)
				}
			})
		}
	}
}

func TestReconnectionIsCounted(t *testing.T) {
	for _, kind := range []string{plan.EngineLoop, plan.EngineGoroutine} {
		t.Run(kind, func(t *testing.T) {
			proxy := newCutter(t, brokerOf(t, faulty.Plan{})[len("mqtt://"):])
			trial := trialOf(func(p *plan.Params) {
				p.Engine, p.Publishers, p.Subscribers, p.RatePerS, p.Phases.Measure = kind, 1, 1, 500, time.Second
			})
			var all books
			w, err := NewLocal(Whole(5, trial, "mqtt://"+proxy.addr), Credentials{}, netns.Host, Sink{Window: all.add})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = w.Close() }()
			if err := w.Prepare(t.Context()); err != nil {
				t.Fatal(err)
			}
			proxy.cutAfter(300 * time.Millisecond)
			if err := w.Begin(t.Context(), clock.Now()); err != nil {
				t.Fatal(err)
			}
			r, err := w.Measure(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			n := r.Connections
			if n.Established != 4 || n.Lost != 2 || n.Reconnected != 2 {
				t.Errorf("established %d, lost %d, reconnected %d; want 4, 2, 2: %v", n.Established, n.Lost, n.Reconnected, n.Failures)
			}
			c := Settle(plan.PatternPairs, r)
			c.Add(&all.sum.Counts)
			if c.Offered < 498 || c.Sent != c.Offered || c.Delivered+c.Lost != c.Expected {
				t.Errorf("after a gap: %+v", c)
			}
			if h := all.sum.Hists[ledger.Blocked]; h == nil || h.Max() < int64(50*time.Millisecond) {
				t.Error("no message waited for the reconnection")
			}
		})
	}
}

// cutter passes bytes on and can cut all its connections once.
type cutter struct {
	addr, target string
	mu           sync.Mutex
	conns        []net.Conn
}

func newCutter(t *testing.T, target string) *cutter {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{addr: ln.Addr().String(), target: target}
	t.Cleanup(func() { _ = ln.Close(); c.cut() })
	go func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", c.target)
			if err != nil {
				_ = in.Close()
				continue
			}
			c.mu.Lock()
			c.conns = append(c.conns, in, out)
			c.mu.Unlock()
			go pipe(in, out)
			go pipe(out, in)
		}
	}()
	return c
}

func pipe(to, from net.Conn) {
	defer func() { _ = to.Close() }()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (c *cutter) cutAfter(d time.Duration) { time.AfterFunc(d, c.cut) }

func (c *cutter) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		_ = conn.Close()
	}
	c.conns = nil
}

func TestSettleBySequence(t *testing.T) {
	seen := func(seqs ...uint64) *ledger.Tracker {
		var t ledger.Tracker
		for _, s := range seqs {
			t.Record(s)
		}
		return &t
	}
	// Measured are 10 … 19; 18 and 19 never left.
	book := engine.StreamBook{Stream: 3, First: 10, Sent: 18, End: 20}
	r := func(receipts ...Receipt) *Result {
		return &Result{Books: []engine.StreamBook{book}, Receipts: receipts}
	}
	for _, c := range []struct {
		name, pattern string
		result        *Result
		want          ledger.Counts
	}{
		{"all", plan.PatternPairs, r(Receipt{0, 3, seen(10, 11, 12, 13, 14, 15, 16, 17)}), ledger.Counts{Expected: 10, UndeliveredUnsent: 2}},
		{"none", plan.PatternPairs, r(Receipt{0, 3, seen()}), ledger.Counts{Expected: 10, UndeliveredUnsent: 2, Lost: 8}},
		{"only the warm-up", plan.PatternPairs, r(Receipt{0, 3, seen(0, 1, 9)}), ledger.Counts{Expected: 10, UndeliveredUnsent: 2, Lost: 8}},
		{
			"fan-out", plan.PatternFanout, r(Receipt{0, 3, seen(10, 11, 12, 13, 14, 15, 16, 17)}, Receipt{1, 3, seen(10, 17)}),
			ledger.Counts{Expected: 20, UndeliveredUnsent: 4, Lost: 6},
		},
		{
			"shared by two", plan.PatternShared, r(Receipt{0, 3, seen(10, 12, 14, 16)}, Receipt{1, 3, seen(11, 13)}),
			ledger.Counts{Expected: 10, UndeliveredUnsent: 2, Lost: 2},
		},
	} {
		if got := Settle(c.pattern, c.result); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestTemplates(t *testing.T) {
	for _, c := range []struct {
		name string
		p    plan.Params
		size int
		tail string
	}{
		{"filler", plan.Params{PayloadForm: plan.PayloadBinary, PayloadBytes: 100}, 100, ""},
		{"JSON filler", plan.Params{PayloadForm: plan.PayloadJSON, PayloadBytes: 200}, 200, `"}`},
		{"text", plan.Params{PayloadForm: plan.PayloadBinary, PayloadText: "hello"}, 45, "hello"},
		{"JSON text", plan.Params{PayloadForm: plan.PayloadJSON, PayloadText: `{"temp": 20.5}`}, 0, `,"temp": 20.5}`},
	} {
		b, err := template(&c.p)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if c.size > 0 && len(b) != c.size {
			t.Errorf("%s: %d bytes, want %d", c.name, len(b), c.size)
		}
		if got := string(b[len(b)-len(c.tail):]); got != c.tail {
			t.Errorf("%s ends in %q, want %q", c.name, got, c.tail)
		}
		if c.p.PayloadForm == plan.PayloadJSON && !json.Valid(b) {
			t.Errorf("%s is no JSON: %s", c.name, b)
		}
	}
	if _, err := template(&plan.Params{PayloadFile: "no/such/file"}); err == nil {
		t.Error("a missing payload file is accepted")
	}
}
