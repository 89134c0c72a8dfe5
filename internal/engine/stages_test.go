package engine_test

import (
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/proto/mqtt"
	"github.com/mqlab/mqlab/internal/stamp"
)

// slowWire takes room bytes, and says that so many of them are acknowledged.
type slowWire struct {
	drain
	room, acked, taken int
}

func (w *slowWire) Send(_ int, b []byte) (n int, more bool, err error) {
	n = min(len(b), w.room-w.taken)
	w.taken += n
	return n, n == len(b), nil
}

// Unacked implements what a Wire may know.
func (w *slowWire) Unacked(int) (int, bool) { return w.taken - w.acked, true }

// TestStages: of ten messages four fit into the socket as a whole, and the peer acknowledges two, and half a third one.
func TestStages(t *testing.T) {
	const messages, size = 10, 2 + 3 + busyBytes // header, topic "a", payload
	payload := make([]byte, busyBytes)
	stamp.Fill(payload)
	w := &slowWire{room: 1 << 20}
	c := engine.New(engine.Settings{
		Run: busyRun, Follow: true, Reconnect: true, Payload: engine.NewPayload(payload, false, 1), Emit: func(*ledger.Window) {},
	}, w)
	id := c.Add(engine.ClientSpec{
		Session: mqtt.NewClient(&mqtt.Config{Version: mqtt.V311, CleanStart: true}, "c"),
		Publish: &engine.PublishSpec{
			Topic: []byte("a"), Pacer: new(engine.NewPacer(engine.Schedule{RatePerS: messages, End: time.Second, Publishers: 1}, 0, 1)),
		},
	})
	c.Dialling(id, 0)
	c.Connected(id, 0, 0, 0)
	c.Receive(id, 0, 0, []byte{0x20, 2, 0, 0}) // CONNACK
	hello := w.taken
	w.room = hello + 4*size + size/2
	w.acked = hello + 2*size + size/2
	start := busyTime
	end := start + int64(time.Second)
	c.Begin(start, start, end)
	c.Publish()
	for now := start; now <= end; now += int64(time.Millisecond) {
		c.Advance(now)
	}
	if now, atEnd := c.StagesNow(); atEnd == nil || *atEnd != (engine.Stages{Written: 4, TCPAcked: 2}) || now != *atEnd {
		t.Errorf("at the end of the window: %+v, %v", now, atEnd)
	}
	w.acked = w.taken
	c.CloseBooks(end + 1)
	if now, atEnd := c.StagesNow(); now != (engine.Stages{Written: 4, TCPAcked: 4}) || atEnd.TCPAcked != 2 {
		t.Errorf("in all: %+v, %v", now, atEnd)
	}
}

// TestLateAcknowledgement: one that comes when the books are closed changes nothing: its message was counted as unconfirmed.
func TestLateAcknowledgement(t *testing.T) {
	payload := make([]byte, busyBytes)
	stamp.Fill(payload)
	var sum ledger.Window
	c := engine.New(engine.Settings{
		Run: busyRun, Reconnect: true, Payload: engine.NewPayload(payload, false, 1), Emit: func(w *ledger.Window) { sum.Merge(w) },
	}, drain{})
	id := c.Add(engine.ClientSpec{
		Session: mqtt.NewClient(&mqtt.Config{Version: mqtt.V311, CleanStart: true}, "c"),
		Publish: &engine.PublishSpec{
			Topic: []byte("a"), QoS: 1, Window: 10, Pacer: new(engine.NewPacer(engine.Schedule{RatePerS: 2, End: time.Second, Publishers: 1}, 0, 1)),
		},
	})
	c.Dialling(id, 0)
	c.Connected(id, 0, 0, 0)
	c.Receive(id, 0, 0, []byte{0x20, 2, 0, 0}) // CONNACK
	end := busyTime + int64(time.Second)
	c.Begin(busyTime, busyTime, end)
	c.Publish()
	for now := busyTime; now <= end; now += int64(time.Millisecond) {
		c.Advance(now)
	}
	c.Receive(id, end, 0, []byte{0x40, 2, 0, 1}) // PUBACK
	c.CloseBooks(end)
	c.Receive(id, end, 0, []byte{0x40, 2, 0, 2})
	c.Flush(end)
	if n := sum.Counts; n.Sent != 2 || n.Acked != 1 || n.Unconfirmed != 1 {
		t.Errorf("%+v", n)
	}
}
