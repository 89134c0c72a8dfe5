package engine_test

import (
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

const (
	stallRate    = 100
	stallMeasure = 10 * time.Second
	stallAt      = 4 * time.Second
	stallFor     = 2 * time.Second
	stallLatency = 5 * time.Microsecond  // short, so that a window of one drains the backlog of 200 within 2 ms
	charged      = 50 * time.Millisecond // a response above this is the stall's doing
)

// stallTrial runs 100 msg/s with QoS 1 through a broker that stands still from 4 s to 6 s, window messages at most
// unacknowledged, in virtual time. It returns every first receipt, and the sum of all windows.
func stallTrial(t *testing.T, window int) (receipts []engine.Sample, sum ledger.Window) {
	t.Helper()
	bytes := make([]byte, 64)
	stamp.Fill(bytes)
	w := virtual.New(virtual.Config{
		Latency: stallLatency,
		Session: func() proto.Server { return mqtt.NewServer(&mqtt.ServerConfig{}) },
		Faulty: faulty.Config{
			Plan:  faulty.Plan{Stalls: []faulty.Stall{{At: stallAt, For: stallFor}}},
			Match: mqtt.Match[[]byte, []byte],
		},
		Settings: engine.Settings{
			Run: 7, Payload: engine.NewPayload(bytes, false, 1),
			Emit: func(w *ledger.Window) { sum.Merge(w) },
			Sample: func(s *engine.Sample) {
				if s.Kind == engine.SampleReceived {
					receipts = append(receipts, *s)
				}
			},
		},
	})
	session := &mqtt.Config{Version: mqtt.V5, CleanStart: true}
	w.Add(engine.ClientSpec{Session: mqtt.NewClient(session, "sub"), Subscribe: &engine.SubscribeSpec{
		Subscriptions: engine.These{{Topic: "a", QoS: 1}}, Trackers: make([]ledger.Tracker, 1),
	}})
	w.Add(engine.ClientSpec{Session: mqtt.NewClient(session, "pub"), Publish: &engine.PublishSpec{
		Topic: []byte("a"), QoS: 1, Window: window,
		Pacer: new(engine.NewPacer(engine.Schedule{RatePerS: stallRate, End: stallMeasure, Publishers: 1}, 0, 1)),
	}})
	w.Run(int64(time.Second))
	if p := w.Core.Progress(); p.Ready != 2 || p.Err != nil {
		t.Fatalf("connections: %+v", p)
	}
	zero := int64(2 * time.Second)
	w.Core.Begin(zero, zero, zero+int64(stallMeasure))
	w.Core.Publish()
	w.Broker.SetZero(zero)
	w.Run(zero + int64(stallMeasure+5*time.Second))
	w.Core.CloseBooks(w.Now())
	w.Core.Flush(w.Now())
	return receipts, sum
}

// above counts receipts whose span is longer than charged.
func above(receipts []engine.Sample, span func(*engine.Sample) int64) (n int) {
	for i := range receipts {
		if span(&receipts[i]) > int64(charged) {
			n++
		}
	}
	return n
}

func response(s *engine.Sample) int64 { return s.Received - s.Due }
func service(s *engine.Sample) int64  { return s.Received - s.Sent }

// stalledMessages is how many due times of the schedule lie so that the message waits for the end of the stall longer
// than charged: it reaches the broker after the beginning, and charged less one way back before the end.
func stalledMessages(receipts []engine.Sample) (n int) {
	begin := receipts[0].Due / int64(time.Second) * int64(time.Second) // the zero: the first message is due within 10 ms of it
	from := begin + int64(stallAt-stallLatency)
	to := begin + int64(stallAt+stallFor+stallLatency-charged)
	for i := range receipts {
		if due := receipts[i].Due; due >= from && due < to {
			n++
		}
	}
	return n
}

func TestStallIsChargedToEveryMessageDueInIt(t *testing.T) {
	for _, window := range []int{1, 10, 1000} {
		receipts, sum := stallTrial(t, window)
		c := &sum.Counts
		if want := uint64(stallRate * 10); c.Offered != want || c.Sent != want || c.Delivered != want || c.Acked != want {
			t.Errorf("window %d: offered %d, sent %d, delivered %d, acked %d; want %d of each", window, c.Offered, c.Sent, c.Delivered, c.Acked, want)
		}
		want := stalledMessages(receipts)
		if want < 194 || want > 197 {
			t.Fatalf("window %d: the schedule has %d messages in the stall, not about 195", window, want)
		}
		if got := above(receipts, response); got != want {
			t.Errorf("window %d: the stall is charged to %d messages, want %d", window, got, want)
		}
		if most := sum.Hists[ledger.Response].Max(); most < int64(1980*time.Millisecond) || most > int64(2010*time.Millisecond) {
			t.Errorf("window %d: longest response %v, want about 2 s", window, time.Duration(most))
		}
		if window < 1000 {
			if got := above(receipts, service); got > window {
				t.Errorf("window %d: service time charges the stall to %d messages: no more than the window were sent before its end", window, got)
			}
		}
	}
}

func TestStallInQuantiles(t *testing.T) {
	_, sum := stallTrial(t, 1)
	check := func(name string, h *hist.Hist, q float64, low, high time.Duration) {
		t.Helper()
		got, ok := h.QuantileOf(q, int64(sum.Counts.Offered))
		if !ok || time.Duration(got) < low || time.Duration(got) > high {
			t.Errorf("%s p%g is %v, want %v to %v", name, 100*q, time.Duration(got), low, high)
		}
	}
	check("response", sum.Hists[ledger.Response], 0.90, 950*time.Millisecond, 1050*time.Millisecond)
	check("response", sum.Hists[ledger.Response], 0.99, 1850*time.Millisecond, 1950*time.Millisecond)
	check("service", sum.Hists[ledger.Service], 0.90, 0, 10*time.Millisecond)
	check("service", sum.Hists[ledger.Service], 0.99, 0, 10*time.Millisecond)
}
