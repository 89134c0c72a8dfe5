package engine_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/mqtt"
	"github.com/mqlab/mqlab/internal/proto/nats"
	"github.com/mqlab/mqlab/internal/stamp"
)

// delivery is one message as a broker sends it, with something unusual about it now and then; so many are sent together.
func delivery(rng *rand.Rand, protocol string, seq *uint64, together uint64) []byte {
	topic, payload := "bench/topic", make([]byte, busyBytes)
	copy(payload, busyPayload())
	sent := busyTime + int64(*seq/together)
	stamp.Put(payload, &stamp.Stamp{Run: busyRun, Seq: *seq, Due: sent, Sent: sent})
	first := byte(0x30)
	switch rng.IntN(4 * int(together)) {
	case 0:
		payload[stamp.Size+rng.IntN(busyBytes-stamp.Size)] ^= 1
	case 1:
		payload[rng.IntN(stamp.Size)] ^= 1
	case 2:
		payload = payload[:rng.IntN(busyBytes)]
	case 3:
		topic = "bench/other"
	case 4:
		first |= 1 // retained
	case 5:
		*seq += 2
	case 6:
		*seq -= min(*seq, 2)
	case 7:
		stamp.Put(payload, &stamp.Stamp{Run: busyRun + 1, Seq: *seq, Due: sent, Sent: sent})
	case 8:
		stamp.Put(payload, &stamp.Stamp{Run: busyRun, Stream: 1, Seq: *seq, Due: sent, Sent: sent})
	}
	*seq++
	if protocol == "nats" {
		return fmt.Appendf(nil, "MSG %s %d %d\r\n%s\r\n", topic, 7, len(payload), payload)
	}
	b := append([]byte{first, byte(2 + len(topic) + len(payload)), 0, byte(len(topic))}, topic...)
	return append(b, payload...)
}

// listener is a ready subscriber; windows are what it recorded.
func listener(t *testing.T, protocol string) (c *engine.Core, windows func() string) {
	t.Helper()
	var all []ledger.Window
	spec := engine.ClientSpec{Subscribe: &engine.SubscribeSpec{
		Subscriptions: engine.These{{Topic: "bench/topic", Token: 7}}, Trackers: make([]ledger.Tracker, 1),
	}}
	spec.Session = mqtt.NewClient(&mqtt.Config{Version: mqtt.V311, CleanStart: true}, "c")
	answers := []string{"\x20\x02\x00\x00", "\x90\x03\x00\x01\x00"}
	if protocol == "nats" {
		spec.Session = nats.NewClient(&nats.Config{})
		answers = []string{"INFO {\"max_payload\":1000}\r\nPONG\r\n", "PONG\r\n"}
	}
	c = engine.New(engine.Settings{
		Run: busyRun, Payload: engine.NewPayload(busyPayload(), false, 1), Emit: func(w *ledger.Window) { all = append(all, *w) },
	}, drain{})
	id := c.Add(spec)
	c.Dialling(id, 0)
	c.Connected(id, 0, 0, 0)
	for _, a := range answers {
		c.Receive(id, 0, 0, []byte(a))
	}
	if c.Progress().Ready != 1 {
		t.Fatal("not ready")
	}
	c.Begin(busyTime, busyTime, busyTime+int64(time.Minute))
	return c, func() string {
		c.CloseBooks(busyTime + int64(time.Minute))
		c.Flush(busyTime + int64(time.Minute))
		text, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		return string(text) + fmt.Sprint(c.Trackers(id))
	}
}

// A read with many messages, parsed by what they have in common, is booked as when each comes alone.
func TestManyInAReadAreBookedAsEachAlone(t *testing.T) {
	for _, protocol := range []string{"mqtt", "nats"} {
		for seed := range uint64(50) {
			rng, seq := rand.New(rand.NewPCG(seed, 1)), uint64(0)
			one, oneBooks := listener(t, protocol)
			many, manyBooks := listener(t, protocol)
			now := busyTime + int64(time.Second/2)
			together := 3 + 12*(seed%3)
			for range 20 {
				var all []byte
				for range 1 + rng.IntN(40) {
					b := delivery(rng, protocol, &seq, together)
					all = append(all, b...)
					if used := one.Receive(0, now, 0, b); used != len(b) {
						t.Fatalf("%d of %d bytes were consumed", used, len(b))
					}
				}
				cut := rng.IntN(len(all) + 1)
				used := many.Receive(0, now, 0, all[:cut])
				if used += many.Receive(0, now, 0, all[used:]); used != len(all) {
					t.Fatalf("%d of %d bytes were consumed", used, len(all))
				}
				now += int64(rng.IntN(2e6))
			}
			if a, b := oneBooks(), manyBooks(); a != b {
				t.Fatalf("%s, seed %d: one by one\n%s\ntogether\n%s", protocol, seed, a, b)
			}
		}
	}
}

// collecting is a Wire that keeps what it is given.
type collecting struct {
	drain
	got []byte
}

func (c *collecting) Send(_ int, b []byte) (n int, more bool, err error) {
	c.got = append(c.got, b...)
	return len(b), true, nil
}

// Messages that are copies of the one before but for their stamps are the bytes that the session would have written.
func TestABatchIsTheBytesOfEachAlone(t *testing.T) {
	for name, session := range map[string]func() proto.Client{
		"mqtt": func() proto.Client { return mqtt.NewClient(&mqtt.Config{Version: mqtt.V5, CleanStart: true}, "c") },
		"nats": func() proto.Client { return nats.NewClient(&nats.Config{}) },
	} {
		var both [2][]byte
		for i, apart := range []bool{true, false} {
			wire := &collecting{}
			c := engine.New(engine.Settings{Run: busyRun, Payload: engine.NewPayload(busyPayload(), false, 1), Emit: func(*ledger.Window) {}}, wire)
			id := c.Add(engine.ClientSpec{Session: session(), Publish: &engine.PublishSpec{
				Topic: []byte("a.b"), Apart: apart,
				Pacer: new(engine.NewPacer(engine.Schedule{RatePerS: 100, End: time.Second, Publishers: 1}, 0, 1)),
			}})
			c.Dialling(id, 0)
			c.Connected(id, 0, 0, 0)
			answer := "\x20\x03\x00\x00\x00"
			if name == "nats" {
				answer = "INFO {\"max_payload\":1000}\r\nPONG\r\n"
			}
			c.Receive(id, 0, 0, []byte(answer))
			c.Begin(busyTime, busyTime, busyTime+int64(time.Second))
			c.Publish()
			wire.got = nil
			for now := busyTime + int64(time.Second); c.Advance(now) <= now; {
			}
			both[i] = wire.got
		}
		if len(both[0]) < 100*busyBytes || string(both[0]) != string(both[1]) {
			t.Errorf("%s: each alone\n%q\ntogether\n%q", name, both[0], both[1])
		}
	}
}

// What is sent as fast as it can be is stamped and counted as each alone is, also before the measure window.
func TestARunIsTheBytesAndCountsOfEachAlone(t *testing.T) {
	for _, measured := range []bool{true, false} {
		var sent [2][]byte
		var counts [2]string
		for i, apart := range []bool{true, false} {
			wire, last := &collecting{}, ledger.Window{}
			c := engine.New(engine.Settings{
				Run: busyRun, Payload: engine.NewPayload(busyPayload(), false, 1), Emit: func(w *ledger.Window) { last.Merge(w) },
			}, wire)
			id := c.Add(engine.ClientSpec{
				Session: mqtt.NewClient(&mqtt.Config{Version: mqtt.V311, CleanStart: true}, "c"),
				Publish: &engine.PublishSpec{Topic: []byte("a.b"), Apart: apart, Closed: true},
			})
			c.Dialling(id, 0)
			c.Connected(id, 0, 0, 0)
			c.Receive(id, 0, 0, []byte{0x20, 2, 0, 0})
			measure := busyTime
			if !measured {
				measure += 1000
			}
			c.Begin(busyTime, measure, busyTime+int64(time.Second))
			c.Publish()
			wire.got = nil
			const size = 2 + 2 + 3 + busyBytes
			for len(wire.got) < 64<<10 { // one batch, or a turn of writes at a time
				c.Advance(busyTime)
			}
			n := uint64(len(wire.got) / size)
			p := c.Progress()
			books := c.CloseBooks(busyTime + int64(time.Second))
			c.Flush(busyTime + int64(time.Second))
			sent[i] = wire.got
			counts[i] = fmt.Sprint(p.Offered-p.Sent, books[0].Sent-n, last.InWindow.Offered-n, last.InWindow.Sent-n,
				last.Counts.Offered == p.Offered, last.Counts.Sent == p.Sent, measured == (p.Sent == n), measured == (books[0].First == 0),
				measured || books[0].First == n)
		}
		if n := min(len(sent[0]), len(sent[1])); string(sent[0][:n]) != string(sent[1][:n]) {
			t.Errorf("measured=%v: each alone\n%q\ntogether\n%q", measured, sent[0], sent[1])
		}
		if want := "0 0 0 0 true true true true true"; counts[0] != want || counts[1] != want {
			t.Errorf("measured=%v: %q and %q", measured, counts[0], counts[1])
		}
	}
}
