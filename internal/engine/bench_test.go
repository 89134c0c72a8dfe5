package engine_test

import (
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/proto/mqtt"
	"github.com/mqlab/mqlab/internal/stamp"
)

// drain is a Wire that takes everything.
type drain struct{}

func (drain) Send(_ int, b []byte) (n int, more bool, err error) { return len(b), true, nil }
func (drain) Dial(int, int64)                                    {}
func (drain) Hangup(int)                                         {}

const (
	busyRun   = 7
	busyBytes = 64
	busyTime  = int64(time.Second) // all that is measured happens at this instant
)

func busyPayload() []byte {
	b := make([]byte, busyBytes)
	stamp.Fill(b)
	return b
}

// busyCore is a Core with one ready connection, measuring.
func busyCore(tb testing.TB, spec engine.ClientSpec) *engine.Core {
	tb.Helper()
	spec.Session = mqtt.NewClient(&mqtt.Config{Version: mqtt.V311, CleanStart: true}, "c")
	c := engine.New(engine.Settings{
		Run: busyRun, Payload: engine.NewPayload(busyPayload(), false, 1), Emit: func(*ledger.Window) {},
	}, drain{})
	id := c.Add(spec)
	c.Dialling(id, 0)
	c.Connected(id, 0, 0, 0)
	c.Receive(id, 0, 0, []byte{0x20, 2, 0, 0}) // CONNACK
	if spec.Subscribe != nil {
		c.Receive(id, 0, 0, []byte{0x90, 3, 0, 1, 0}) // SUBACK
	}
	if c.Progress().Ready != 1 {
		tb.Fatal("not ready")
	}
	c.Begin(busyTime, busyTime, busyTime+int64(time.Minute))
	c.Publish()
	return c
}

// publishing returns a Core that fills and sends one batch of messages whenever it is advanced.
func publishing(tb testing.TB) *engine.Core {
	return busyCore(tb, engine.ClientSpec{Publish: &engine.PublishSpec{Topic: []byte("bench/topic"), Closed: true}})
}

// receiving returns a function that makes a Core receive, parse and record n messages, and the Core.
func receiving(tb testing.TB, n int) (receive func(), c *engine.Core) {
	trackers := make([]ledger.Tracker, 1)
	c = busyCore(tb, engine.ClientSpec{Subscribe: &engine.SubscribeSpec{
		Subscriptions: engine.These{{Topic: "bench/topic"}}, Trackers: trackers,
	}})
	var in []byte
	for seq := range n {
		in = append(in, 0x30, 2+11+busyBytes, 0, 11)
		in = append(in, "bench/topic"...)
		in = append(in, busyPayload()...)
		stamp.Put(in[len(in)-busyBytes:], &stamp.Stamp{Run: busyRun, Seq: uint64(seq), Due: busyTime, Sent: busyTime})
	}
	return func() {
		trackers[0] = ledger.Tracker{} // so that the same messages are new again
		if used := c.Receive(0, busyTime+1000, busyTime+500, in); used != len(in) {
			tb.Fatalf("%d of %d bytes were consumed", used, len(in))
		}
	}, c
}

func TestPublishingAllocatesNothing(t *testing.T) {
	c := publishing(t)
	c.Advance(busyTime)
	if n := testing.AllocsPerRun(100, func() { c.Advance(busyTime) }); n != 0 {
		t.Errorf("%v allocations per batch", n)
	}
	if c.Progress().Sent < 1000 {
		t.Errorf("only %d messages were sent", c.Progress().Sent)
	}
}

func TestReceivingAllocatesNothing(t *testing.T) {
	const n = 100
	receive, c := receiving(t, n)
	receive()
	if allocs := testing.AllocsPerRun(100, receive); allocs != 0 {
		t.Errorf("%v allocations per %d messages", allocs, n)
	}
	if got := c.Progress().Delivered; got != 102*n {
		t.Errorf("%d messages were counted, not %d", got, 102*n)
	}
}

// BenchmarkFill reports what publishing a message costs without the socket: schedule, stamp, encode, count.
func BenchmarkFill(b *testing.B) {
	c := publishing(b)
	c.Advance(busyTime)
	b.ReportAllocs()
	before := c.Progress().Sent
	for b.Loop() {
		c.Advance(busyTime)
	}
	perMessage(b, c.Progress().Sent-before)
}

// BenchmarkDevices reports what a message costs where each is of another of a thousand connections.
func BenchmarkDevices(b *testing.B) {
	c := engine.New(engine.Settings{Run: busyRun, Payload: engine.NewPayload(busyPayload(), false, 1), Emit: func(*ledger.Window) {}}, drain{})
	for range 1000 {
		id := c.Add(engine.ClientSpec{
			Session: mqtt.NewClient(&mqtt.Config{Version: mqtt.V311, CleanStart: true}, "c"),
			Publish: &engine.PublishSpec{Topic: []byte("bench/topic"), Closed: true, Apart: true},
		})
		c.Dialling(id, 0)
		c.Connected(id, 0, 0, 0)
		c.Receive(id, 0, 0, []byte{0x20, 2, 0, 0})
	}
	c.Begin(busyTime, busyTime, busyTime+int64(time.Hour))
	c.Publish()
	b.ReportAllocs()
	now := busyTime
	for b.Loop() {
		now++
		c.Advance(now)
	}
	perMessage(b, c.Progress().Sent)
}

// BenchmarkReceive reports what receiving a message costs without the socket: parse, check, ledger, histograms.
func BenchmarkReceive(b *testing.B) {
	receive, c := receiving(b, 800)
	receive()
	b.ReportAllocs()
	before := c.Progress().Delivered
	for b.Loop() {
		receive()
	}
	perMessage(b, c.Progress().Delivered-before)
}

func perMessage(b *testing.B, messages uint64) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(messages), "ns/msg")
	b.ReportMetric(0, "ns/op") // an op is a batch
}

// counting is a Wire that counts what it is given.
type counting struct {
	drain
	writes, bytes int
}

func (c *counting) Send(_ int, b []byte) (n int, more bool, err error) {
	c.writes++
	c.bytes += len(b)
	return len(b), true, nil
}

// Messages that are due together leave in one write, or each in its own.
func TestMessagesShareAWriteUnlessApart(t *testing.T) {
	const due = 40 // when the Core is called again after a while: more than one turn writes apart
	for _, apart := range []bool{false, true} {
		wire := &counting{}
		c := engine.New(engine.Settings{Run: busyRun, Payload: engine.NewPayload(busyPayload(), false, 1), Emit: func(*ledger.Window) {}}, wire)
		id := c.Add(engine.ClientSpec{
			Session: mqtt.NewClient(&mqtt.Config{Version: mqtt.V311, CleanStart: true}, "c"),
			Publish: &engine.PublishSpec{Topic: []byte("a"), Apart: apart, Pacer: new(engine.NewPacer(engine.Schedule{
				RatePerS: due, End: time.Second, Publishers: 1,
			}, 0, 1))},
		})
		c.Dialling(id, 0)
		c.Connected(id, 0, 0, 0)
		c.Receive(id, 0, 0, []byte{0x20, 2, 0, 0})
		c.Begin(busyTime, busyTime, busyTime+int64(time.Second))
		c.Publish()
		*wire = counting{}
		now := busyTime + int64(time.Second)
		for c.Advance(now) <= now {
		}
		writes := 1
		if apart {
			writes = due
		}
		if sent := c.Progress().Sent; sent != due || wire.writes != writes {
			t.Errorf("apart=%v: %d messages in %d writes, want %d in %d", apart, sent, wire.writes, due, writes)
		}
	}
}
