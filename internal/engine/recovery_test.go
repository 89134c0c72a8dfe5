package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/faulty"
	"github.com/mqlab/mqlab/internal/faulty/virtual"
	"github.com/mqlab/mqlab/internal/hist"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/mqtt"
	"github.com/mqlab/mqlab/internal/stamp"
)

// outageTrial is a pair of a publisher and a subscriber with a steady load in virtual time.
type outageTrial struct {
	*virtual.World
	zero   int64
	sum    ledger.Window
	events []engine.Event
}

const (
	outageLatency   = 5 * time.Millisecond
	outageKeepAlive = 4 * time.Second
	outageMeasure   = 30 * time.Second
	outageRate      = 50
)

func newOutageTrial(t *testing.T, qos uint8, pause time.Duration) *outageTrial {
	t.Helper()
	bytes := make([]byte, 64)
	stamp.Fill(bytes)
	o := &outageTrial{}
	o.World = virtual.New(virtual.Config{
		Latency: outageLatency,
		Session: func() proto.Server { return mqtt.NewServer(&mqtt.ServerConfig{}) },
		Faulty:  faulty.Config{Match: mqtt.Match[[]byte, []byte]},
		Settings: engine.Settings{
			Run: 7, Reconnect: true, Pause: pause, Payload: engine.NewPayload(bytes, false, 1),
			Emit: func(w *ledger.Window) { o.sum.Merge(w) }, Event: func(e engine.Event) { o.events = append(o.events, e) },
		},
	})
	session := &mqtt.Config{Version: mqtt.V5, CleanStart: true, KeepAlive: outageKeepAlive}
	o.Add(engine.ClientSpec{Session: mqtt.NewClient(session, "sub"), Subscribe: &engine.SubscribeSpec{
		Subscriptions: engine.These{{Topic: "a", QoS: qos}}, Trackers: make([]ledger.Tracker, 1),
	}})
	o.Add(engine.ClientSpec{Session: mqtt.NewClient(session, "pub"), Publish: &engine.PublishSpec{
		Topic: []byte("a"), QoS: qos, Window: 1000,
		Pacer: new(engine.NewPacer(engine.Schedule{RatePerS: outageRate, End: outageMeasure, Publishers: 1}, 0, 1)),
	}})
	o.Run(int64(time.Second))
	if p := o.Core.Progress(); p.Ready != 2 || p.Err != nil {
		t.Fatalf("connections: %+v", p)
	}
	o.zero = int64(2 * time.Second)
	o.Core.Begin(o.zero, o.zero, o.zero+int64(outageMeasure))
	o.Core.Publish()
	return o
}

// at runs until a moment of the measure window.
func (o *outageTrial) at(d time.Duration) int64 {
	o.Run(o.zero + int64(d))
	return o.Now()
}

func (o *outageTrial) end() engine.Recovery {
	o.Run(o.zero + int64(outageMeasure+5*time.Second))
	o.Core.CloseBooks(o.Now())
	o.Core.Flush(o.Now())
	return o.Core.Recovery()
}

func largest(h *hist.Hist) time.Duration {
	if h == nil {
		return -1
	}
	return time.Duration(h.Max())
}

// TestResetIsNoticedAtOnce: both ends lose the connection at the moment of the reset, and come back after the pause.
func TestResetIsNoticedAtOnce(t *testing.T) {
	o := newOutageTrial(t, 0, time.Second)
	o.Core.BeginOutage(o.at(5*time.Second), engine.Outage{Break: engine.Reset, Publishers: true, Subscribers: true})
	if p := o.Core.Progress(); p.Ready != 0 {
		t.Errorf("%d connections are ready in the outage", p.Ready)
	}
	o.Core.EndOutage(o.at(5500 * time.Millisecond))
	r := o.end()
	if r.Outages != 1 || r.Affected != 2 || r.Noticed != 2 || r.Returned != 2 {
		t.Errorf("%+v", r)
	}
	if got := largest(o.sum.Hists[ledger.Notice]); got != 0 {
		t.Errorf("noticed after %v", got)
	}
	if got := largest(o.sum.Hists[ledger.Reconnect]); got < 500*time.Millisecond || got > 560*time.Millisecond {
		t.Errorf("back %v after the end of the outage; the pause was to end 500 ms after it", got)
	}
	if h := o.sum.Hists[ledger.FirstMessage]; h == nil || h.Count() != 1 {
		t.Error("no first message after the return")
	}
	if n := o.sum.InWindow.Reconnected; n != 2 {
		t.Errorf("%d connections came back in windows", n)
	}
}

// TestShortBlackHole: nobody notices a black hole that is shorter than the keep-alive, and everything comes afterwards.
func TestShortBlackHole(t *testing.T) {
	for _, qos := range []uint8{0, 1} {
		o := newOutageTrial(t, qos, 0)
		o.Core.BeginOutage(o.at(5*time.Second), engine.Outage{Break: engine.BlackHole, Publishers: true, Subscribers: true})
		before := o.Core.Progress().Delivered
		o.at(5900 * time.Millisecond)
		if after := o.Core.Progress().Delivered; after != before {
			t.Errorf("QoS %d: %d messages came through", qos, after-before)
		}
		o.Core.EndOutage(o.at(6 * time.Second))
		r := o.end()
		if r.Noticed != 0 || o.Core.Connections().Lost != 0 {
			t.Errorf("QoS %d: %+v, %+v", qos, r, o.Core.Connections())
		}
		if c := o.sum.Counts; c.Delivered != c.Offered || c.Duplicates+c.Reordered > 0 {
			t.Errorf("QoS %d: %+v", qos, c)
		}
		if got := largest(o.sum.Hists[ledger.Response]); got < time.Second-30*time.Millisecond || got > 1100*time.Millisecond {
			t.Errorf("QoS %d: longest response %v", qos, got)
		}
	}
}

// TestDrip: a few bytes at a time get through, in order and whole, and everything does when the outage ends.
func TestDrip(t *testing.T) {
	o := newOutageTrial(t, 0, 0)
	o.Core.BeginOutage(o.at(5*time.Second), engine.Outage{Break: engine.BlackHole, Publishers: true, Subscribers: true})
	before := o.Core.Progress().Delivered
	const drips, bytes = 20, 16
	for i := range drips {
		o.Core.Drip(o.at(5*time.Second+time.Duration(i+1)*50*time.Millisecond), bytes)
	}
	const message = 2 + 3 + 1 + 64 // header, topic, properties, payload
	if got := o.Core.Progress().Delivered - before; got < 1 || got > drips*bytes/message {
		t.Errorf("%d messages came through drop by drop; at most %d fit", got, drips*bytes/message)
	}
	o.Core.EndOutage(o.at(6100 * time.Millisecond))
	o.end()
	if c := o.sum.Counts; c.Delivered != c.Offered || c.Duplicates+c.Reordered+c.Corrupt > 0 || o.Core.Connections().Lost > 0 {
		t.Errorf("%+v, %+v", c, o.Core.Connections())
	}
}

// TestLongBlackHole: both ends notice within one and a half keep-alives, also the publisher of QoS 0, and the broker hears nothing
// of it before the end.
func TestLongBlackHole(t *testing.T) {
	for _, kind := range []engine.Break{engine.BlackHole, engine.HalfOpen} {
		o := newOutageTrial(t, 0, 20*time.Second)
		o.Core.BeginOutage(o.at(5*time.Second), engine.Outage{Break: kind, Publishers: true, Subscribers: true})
		o.Core.EndOutage(o.at(15 * time.Second))
		r := o.end()
		if r.Noticed != 2 {
			t.Errorf("%+v", r)
		}
		if got := largest(o.sum.Hists[ledger.Notice]); got > outageKeepAlive*3/2 {
			t.Errorf("noticed after %v, keep-alive is %v", got, outageKeepAlive)
		}
		for _, e := range o.events {
			if e.Kind == "lost" && !strings.Contains(e.Text, "PINGREQ") {
				t.Errorf("%s was lost by %q", e.Client, e.Text)
			}
		}
	}
}

// TestSubscriberIsAway: of a subscriber that is cut off alone it is told what it missed. The broker here keeps no sessions.
func TestSubscriberIsAway(t *testing.T) {
	o := newOutageTrial(t, 1, 100*time.Millisecond)
	o.Core.BeginOutage(o.at(5*time.Second), engine.Outage{Break: engine.Reset, Subscribers: true})
	o.Core.EndOutage(o.at(5*time.Second + 50*time.Millisecond))
	r := o.end()
	// Away from 5 s on for the pause and 2 handshakes: 100 ms + 3 round trips.
	missed := o.sum.Counts.Offered - o.sum.Counts.Delivered
	if r.Affected != 1 || r.Noticed != 1 || r.Returned != 1 || missed < 5 || missed > 9 {
		t.Errorf("%+v, missed %d", r, missed)
	}
	if r.Missed != missed || r.Backlog != 0 || r.Oldest+r.Newest != 0 {
		t.Errorf("%+v, missed %d", r, missed)
	}
}

// TestBackOff: pauses are scattered, grow, and stay below the limit; a fixed one is that.
func TestBackOff(t *testing.T) {
	for _, fixed := range []time.Duration{0, time.Second} {
		var pauses []time.Duration
		c := engine.New(engine.Settings{Reconnect: true, Pause: fixed, Emit: func(*ledger.Window) {}}, &dialTimes{&pauses})
		c.Add(engine.ClientSpec{Session: mqtt.NewClient(&mqtt.Config{Version: mqtt.V5}, "c")})
		for range 200 {
			c.Lost(0, 0, passing{})
		}
		different := map[time.Duration]bool{}
		for _, p := range pauses {
			different[p] = true
			if fixed > 0 && p != fixed || fixed == 0 && (p < 100*time.Millisecond || p > 5*time.Second) {
				t.Errorf("a pause of %v", p)
			}
		}
		if fixed == 0 && len(different) < 20 {
			t.Errorf("only %d different pauses", len(different))
		}
	}
}

// dialTimes is a Wire that notes when it is to dial.
type dialTimes struct{ at *[]time.Duration }

func (d *dialTimes) Send(_ int, b []byte) (int, bool, error) { return len(b), true, nil }
func (d *dialTimes) Dial(_ int, at int64)                    { *d.at = append(*d.at, time.Duration(at)) }
func (d *dialTimes) Hangup(int)                              {}

// passing is a failure to connect that may pass.
type passing struct{}

func (passing) Error() string   { return "not now" }
func (passing) Temporary() bool { return true }
