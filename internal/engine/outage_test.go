package engine_test

import (
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/faulty/virtual"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/mqtt"
)

// TestOutage: the time from the loss of a connection until it is ready again is the pause before the attempt, 100 to 300 ms at first,
// and connecting: here no time but that of the protocol's answers.
func TestOutage(t *testing.T) {
	var sum ledger.Window
	const latency = 5 * time.Millisecond
	w := virtual.New(virtual.Config{
		Latency: latency,
		Session: func() proto.Server { return mqtt.NewServer(&mqtt.ServerConfig{}) },
		Settings: engine.Settings{
			Reconnect: true, Payload: engine.NewPayload(make([]byte, 64), false, 1),
			Emit: func(w *ledger.Window) { sum.Merge(w) },
		},
	})
	w.Add(engine.ClientSpec{Session: mqtt.NewClient(&mqtt.Config{Version: mqtt.V5, CleanStart: true}, "sub"), Subscribe: &engine.SubscribeSpec{
		Subscriptions: engine.These{{Topic: "a"}}, Trackers: make([]ledger.Tracker, 1),
	}})
	w.Run(int64(time.Second))
	w.Core.Lost(0, w.Now(), engine.ErrClosed)
	w.Run(int64(2 * time.Second))
	if p, c := w.Core.Progress(), w.Core.Connections(); p.Ready != 1 || c.Lost != 1 || c.Reconnected != 1 {
		t.Fatalf("%+v, %+v", p, c)
	}
	w.Core.Begin(w.Now(), w.Now(), w.Now()+1)
	w.Core.Publish()
	w.Core.CloseBooks(w.Now())
	w.Core.Flush(w.Now())
	answers := 4 * latency // CONNECT and SUBSCRIBE, there and back
	h := sum.Hists[ledger.Outage]
	if h == nil || h.Count() != 1 {
		t.Fatal("one outage was not recorded")
	}
	if got := time.Duration(h.Max()); got < 100*time.Millisecond+answers || got > 301*time.Millisecond+2*answers {
		t.Errorf("outage of %v", got)
	}
	if h := sum.Hists[ledger.ConnectProtocol]; h.Count() != 2 || time.Duration(h.Min()) < answers*99/100 {
		t.Errorf("%d connections, protocol took %v", h.Count(), time.Duration(h.Min()))
	}
}
