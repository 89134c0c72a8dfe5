package faulty_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/faulty"
	"github.com/mqlab/mqlab/internal/faulty/virtual"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/mqtt"
	"github.com/mqlab/mqlab/internal/proto/nats"
	"github.com/mqlab/mqlab/internal/stamp"
)

// rig describes one publisher, one stream and one subscriber around a Broker, in virtual time.
type rig struct {
	nats     bool
	qos      uint8
	window   int
	rate     float64
	measure  time.Duration
	latency  time.Duration
	socket   int // bytes
	payload  int
	faults   faulty.Plan
	noAcks   bool // of the broker
	holdAcks bool // of the subscriber
	inFlight int  // deliveries that the broker has unacknowledged at most; 0 = any number
}

// result is what came out.
type result struct {
	ledger.Counts
	receipts []engine.Sample
	truth    faulty.Truth
	zero     int64
	world    *virtual.World
}

const (
	second = int64(time.Second)
	run    = 7
)

func (r rig) build(t *testing.T, res *result) *virtual.World {
	t.Helper()
	payload := make([]byte, max(r.payload, stamp.Size))
	stamp.Fill(payload)
	cfg := virtual.Config{
		Latency: r.latency, SocketBytes: r.socket,
		Faulty: faulty.Config{Plan: r.faults, Match: mqtt.Match[[]byte, []byte]},
		Settings: engine.Settings{
			Run: run, Payload: engine.NewPayload(payload, false, 1),
			Emit: func(w *ledger.Window) { res.Counts.Add(&w.Counts) },
			Sample: func(s *engine.Sample) {
				if s.Kind == engine.SampleReceived {
					res.receipts = append(res.receipts, *s)
				}
			},
		},
	}
	pubs := &mqtt.Config{Version: mqtt.V5, CleanStart: true}
	subs := &mqtt.Config{Version: mqtt.V5, CleanStart: true, HoldAcks: r.holdAcks}
	servers := &mqtt.ServerConfig{HoldAcks: r.noAcks, Window: r.inFlight}
	cfg.Session = func() proto.Server { return mqtt.NewServer(servers) }
	pub, sub, topic := proto.Client(mqtt.NewClient(pubs, "pub")), proto.Client(mqtt.NewClient(subs, "sub")), "a/b"
	if r.nats {
		cfg.Faulty.Match = nats.Match[[]byte, []byte]
		cfg.Session = func() proto.Server { return nats.NewServer(&nats.ServerConfig{}) }
		pub, sub, topic = nats.NewClient(&nats.Config{}), nats.NewClient(&nats.Config{}), "a.b"
	}
	w := virtual.New(cfg)
	w.Add(engine.ClientSpec{Session: sub, Subscribe: &engine.SubscribeSpec{
		Subscriptions: engine.These{{Token: 1, Topic: topic, QoS: r.qos}}, Trackers: make([]ledger.Tracker, 1),
	}})
	w.Add(engine.ClientSpec{Session: pub, Publish: &engine.PublishSpec{
		Topic: []byte(topic), QoS: r.qos, Window: max(r.window, 1),
		Pacer: new(engine.NewPacer(engine.Schedule{RatePerS: r.rate, End: r.measure, Publishers: 1}, 0, 1)),
	}})
	return w
}

// run lets everything connect within a second, measures from 2 s on, and drains for ten seconds.
func (r rig) run(t *testing.T) *result {
	t.Helper()
	res := &result{zero: 2 * second}
	w := r.build(t, res)
	w.Run(second)
	if p := w.Core.Progress(); p.Ready != 2 || p.Err != nil {
		t.Fatalf("connections: %+v", p)
	}
	w.Core.Begin(res.zero, res.zero, res.zero+int64(r.measure))
	w.Core.Publish()
	w.Broker.SetZero(res.zero)
	w.Run(res.zero + int64(r.measure) + 10*second)
	w.Core.CloseBooks(w.Now())
	w.Core.Flush(w.Now())
	res.truth, res.world = w.Broker.Truth(), w
	return res
}

// protocols runs f for each protocol and QoS.
func protocols(t *testing.T, f func(t *testing.T, r rig)) {
	for _, r := range []rig{{qos: 0}, {qos: 1, window: 1000}, {qos: 2, window: 1000}, {nats: true}} {
		name := fmt.Sprintf("mqtt QoS %d", r.qos)
		if r.nats {
			name = "nats"
		}
		r.rate, r.measure = 1000, time.Second
		t.Run(name, func(t *testing.T) { f(t, r) })
	}
}

func TestNoFaults(t *testing.T) {
	protocols(t, func(t *testing.T, r rig) {
		r.latency = time.Millisecond
		res := r.run(t)
		want := faulty.Account{Routed: 1000, Forwarded: 1000, Distinct: 1000}
		if res.truth.Total != want {
			t.Errorf("truth %+v, want %+v", res.truth.Total, want)
		}
		for _, s := range res.receipts {
			if got := time.Duration(s.Received - s.Due); got != 2*r.latency {
				t.Fatalf("message %d took %v, want twice the latency", s.Seq, got)
			}
		}
	})
}

func TestConstantDelay(t *testing.T) {
	protocols(t, func(t *testing.T, r rig) {
		r.faults.Delay = faulty.Delay{Min: 20 * time.Millisecond, Max: 20 * time.Millisecond}
		res := r.run(t)
		if len(res.receipts) != 1000 || res.Delivered != 1000 {
			t.Fatalf("%d receipts, %d delivered", len(res.receipts), res.Delivered)
		}
		for _, s := range res.receipts {
			if got := time.Duration(s.Received - s.Due); got != 20*time.Millisecond {
				t.Fatalf("message %d took %v", s.Seq, got)
			}
		}
	})
}

func TestDrawnDelay(t *testing.T) {
	for _, overtake := range []bool{false, true} {
		protocols(t, func(t *testing.T, r rig) {
			r.faults.Delay = faulty.Delay{Min: 5 * time.Millisecond, Max: 25 * time.Millisecond, Overtake: overtake}
			res := r.run(t)
			var took []int64
			for _, s := range res.receipts {
				took = append(took, s.Received-s.Due)
			}
			sameNumbers(t, took, res.truth.Delays)
			if overtake != (res.Reordered > 0) || res.Reordered != res.truth.Total.Reordered {
				t.Errorf("overtaking allowed: %v; %d reordered, in truth %d", overtake, res.Reordered, res.truth.Total.Reordered)
			}
			if mean := meanOf(res.truth.Delays); !overtake && mean < 15e6 || overtake && (mean < 14e6 || mean > 16e6) {
				t.Errorf("the mean delay is %v", time.Duration(mean))
			}
		})
	}
}

func TestStallHoldsBothDirections(t *testing.T) {
	protocols(t, func(t *testing.T, r rig) {
		at, length := 300*time.Millisecond, 200*time.Millisecond
		r.faults.Stalls = []faulty.Stall{{At: at, For: length}}
		res := r.run(t)
		end := res.zero + int64(at+length)
		held := 0
		for _, s := range res.receipts {
			switch due := s.Due - res.zero; {
			case due >= int64(at) && due < int64(at+length):
				held++
				if s.Received != end {
					t.Fatalf("message %d, due in the stall, came %v after its end", s.Seq, time.Duration(s.Received-end))
				}
			case s.Received != s.Due:
				t.Fatalf("message %d, not due in the stall, took %v", s.Seq, time.Duration(s.Received-s.Due))
			}
		}
		if held != 200 {
			t.Errorf("%d messages were held, want 200", held)
		}
	})
}

func TestLateSubscription(t *testing.T) {
	protocols(t, func(t *testing.T, r rig) {
		late := 400 * time.Millisecond
		r.faults.LateSubscription = late
		res := &result{}
		w := r.build(t, res)
		w.Run(int64(late) - 1)
		if n := w.Core.Progress().Ready; n != 1 {
			t.Errorf("%d connections are ready before the subscription is confirmed, want 1", n)
		}
		w.Run(int64(late))
		if n := w.Core.Progress().Ready; n != 2 {
			t.Errorf("%d connections are ready when the subscription is confirmed, want 2", n)
		}
		if got := w.Broker.Truth().Confirmed; got != int64(late) {
			t.Errorf("confirmed at %v, want %v", time.Duration(got), late)
		}
	})
}

func TestSlowReader(t *testing.T) {
	protocols(t, func(t *testing.T, r rig) {
		r.payload, r.faults.ReadBytesPerS, r.socket = 1000, 500_000, 20_000
		res := r.run(t)
		if res.Offered != 1000 || res.Sent != 1000 || res.Delivered != 1000 {
			t.Fatalf("offered %d, sent %d, delivered %d; want 1000 each", res.Offered, res.Sent, res.Delivered)
		}
		last := res.receipts[len(res.receipts)-1]
		took := time.Duration(last.Received - res.zero)
		if took < 1950*time.Millisecond || took > 2200*time.Millisecond {
			t.Errorf("reading 1 MB at 500 kB/s took %v, want about 2 s", took)
		}
	})
}

func TestNoAcks(t *testing.T) {
	r := rig{qos: 1, window: 20, rate: 1000, measure: time.Second, noAcks: true}
	res := r.run(t)
	if res.Sent != 20 || res.Unsent != 980 || res.Unconfirmed != 20 || res.Acked != 0 || res.Delivered != 20 {
		t.Errorf("%+v", res.Counts)
	}
}

func TestFullQueueDrops(t *testing.T) {
	r := rig{qos: 1, window: 1000, rate: 1000, measure: time.Second, holdAcks: true, inFlight: 5}
	r.faults.Queue = 10
	res := r.run(t)
	want := faulty.Account{Routed: 1000, Dropped: 985, Forwarded: 5, Distinct: 5}
	if res.truth.Total != want || res.Delivered != 5 || res.Acked != 1000 {
		t.Errorf("truth %+v, want %+v; delivered %d, acked %d", res.truth.Total, want, res.Delivered, res.Acked)
	}
}

// TestEachFault has one fault of each kind and knows the order in which the messages must come.
func TestEachFault(t *testing.T) {
	tests := []struct {
		name  string
		fault faulty.Fault
		order []uint64
		want  faulty.Account
	}{
		{"lose", faulty.Fault{Kind: faulty.Lose}, []uint64{0, 2, 3, 4}, faulty.Account{Routed: 5, Lost: 1, Forwarded: 4, Distinct: 4}},
		{"corrupt", faulty.Fault{Kind: faulty.Corrupt}, []uint64{0, 2, 3, 4}, faulty.Account{Routed: 5, Forwarded: 5, Corrupted: 1, Distinct: 4}},
		{"repeat", faulty.Fault{Kind: faulty.Repeat}, []uint64{0, 1, 1, 2, 3, 4}, faulty.Account{Routed: 5, Forwarded: 6, Distinct: 5, Duplicates: 1}},
		{"repeat later", faulty.Fault{Kind: faulty.Repeat, By: 2}, []uint64{0, 1, 2, 3, 1, 4}, faulty.Account{Routed: 5, Forwarded: 6, Distinct: 5, Duplicates: 1}},
		{"repeat too late", faulty.Fault{Kind: faulty.Repeat, By: 9}, []uint64{0, 1, 2, 3, 4}, faulty.Account{Routed: 5, Forwarded: 5, Distinct: 5}},
		{"swap", faulty.Swap, []uint64{0, 2, 1, 3, 4}, faulty.Account{Routed: 5, Deferred: 1, Forwarded: 5, Distinct: 5, Reordered: 1, MaxReorder: 1}},
		{"defer", faulty.Fault{Kind: faulty.Defer, By: 3}, []uint64{0, 2, 3, 4, 1}, faulty.Account{Routed: 5, Deferred: 1, Forwarded: 5, Distinct: 5, Reordered: 1, MaxReorder: 3}},
		{"defer for ever", faulty.Fault{Kind: faulty.Defer, By: 9}, []uint64{0, 2, 3, 4, 1}, faulty.Account{Routed: 5, Deferred: 1, Forwarded: 5, Distinct: 5, Reordered: 1, MaxReorder: 3}},
		{"foreign", faulty.Fault{Kind: faulty.Foreign}, []uint64{0, 1, 2, 3, 4}, faulty.Account{Routed: 5, Forwarded: 5, Foreign: 1, Distinct: 5}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			protocols(t, func(t *testing.T, r rig) {
				r.measure = 5 * time.Millisecond
				r.faults = faulty.Plan{Seed: 1, Faults: map[uint64]faulty.Fault{1: test.fault}}
				res := r.run(t)
				var order []uint64
				for _, s := range res.receipts {
					order = append(order, s.Seq)
				}
				if fmt.Sprint(order) != fmt.Sprint(test.order) {
					t.Errorf("order %v, want %v", order, test.order)
				}
				if res.truth.Total != test.want {
					t.Errorf("truth %+v, want %+v", res.truth.Total, test.want)
				}
				honest(t, res)
			})
		})
	}
}

// TestRandomFaults compares the engine's counts with the truth for many plans, in virtual time.
func TestRandomFaults(t *testing.T) {
	protocols(t, func(t *testing.T, r rig) {
		for seed := range uint64(150) {
			rng := rand.New(rand.NewPCG(seed, 1))
			r.measure = 200 * time.Millisecond
			r.latency = time.Duration(rng.IntN(3000)) * time.Microsecond
			r.faults = faulty.Plan{Seed: seed, Faults: map[uint64]faulty.Fault{}}
			r.faults.Delay = faulty.Delay{Max: time.Duration(rng.IntN(5)) * time.Millisecond, Overtake: rng.IntN(2) == 0}
			for ordinal := range uint64(200) {
				r.faults.Faults[ordinal] = faulty.Fault{Kind: faulty.Kind(rng.IntN(6)), By: rng.IntN(8)}
			}
			if honest(t, r.run(t)); t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
	})
}

// honest checks that the engine saw what the broker did.
func honest(t *testing.T, res *result) {
	t.Helper()
	a, c := &res.truth.Total, &res.Counts
	if c.Sent != a.Routed || c.Delivered != a.Distinct || c.Duplicates != a.Duplicates || c.Reordered != a.Reordered ||
		c.MaxReorder != a.MaxReorder || c.Corrupt != a.Corrupted || c.Foreign != a.Foreign {
		t.Errorf("the engine counts %+v, but the broker did %+v", *c, *a)
	}
}
