package capture

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/gopacket/gopacket/layers"

	"github.com/mqlab/mqlab/internal/diagnose"
)

const ms = time.Millisecond

// healthy is a client that publishes every 20 ms, each message acknowledged after 1 ms.
func healthy(b *builder, n int) *conn {
	c := b.conn(40000)
	c.open("sensor", 30)
	for i := range n {
		b.at(time.Duration(i+1) * 20 * ms)
		c.send(client, message(1, uint16(i+1), "x"))
		b.at(b.now + ms)
		c.send(broker, ackOf(uint16(i+1)))
		c.ack(client)
	}
	return c
}

func TestHealthy(t *testing.T) {
	for name, link := range map[string]layers.LinkType{"ethernet": layers.LinkTypeEthernet, "raw": layers.LinkTypeRaw} {
		b := build(t)
		b.link = link
		c := healthy(b, 60)
		b.at(2 * time.Second)
		c.send(client, []byte{0xc0, 0})
		b.at(b.now + 2*ms)
		c.send(broker, []byte{0xd0, 0})
		c.raw(broker, c.seq[broker], c.seq[client], nil, func(t *layers.TCP) { t.FIN = true })
		for kind, data := range map[string][]byte{"pcap": b.pcap(), "pcapng": b.pcapng()} {
			got := read(t, data)
			if len(got.Connections) != 1 || got.Truncated || got.Strange > 0 {
				t.Fatalf("%s %s: %+v", name, kind, got)
			}
			k := got.Connections[0]
			if k.ClientID != "sensor" || k.KeepAlive != 30*time.Second || k.Middle || !k.MQTT || k.RTT != ms || k.Closed != "broker FIN" {
				t.Errorf("%s %s: %+v", name, kind, k)
			}
			if n := len(k.FromClient.Publishes); n != 60 || len(k.FromClient.Pings) != 1 || k.FromClient.Pings[0].Acked-k.FromClient.Pings[0].Sent != int64(2*ms) {
				t.Errorf("%s %s: %d messages, pings %v", name, kind, n, k.FromClient.Pings)
			}
			for _, p := range k.FromClient.Publishes {
				if p.Acked-p.Sent != int64(ms) {
					t.Fatalf("%s %s: %+v", name, kind, p)
				}
			}
			if s := &k.FromClient; s.Retransmitted+s.DelayedAcks+len(s.Nagle)+len(s.ZeroWindow)+s.Malformed > 0 {
				t.Errorf("%s %s: %+v", name, kind, s)
			}
			in, series := got.Input()
			if r := diagnose.Diagnose(in); series != Acks || r.Verdict() != diagnose.None {
				t.Errorf("%s %s: %s of %s", name, kind, r.Verdict(), series)
			}
		}
	}
}

// TestNagle: a second message waits for the delayed acknowledgement of the first.
func TestNagle(t *testing.T) {
	b := build(t)
	c := b.conn(40000)
	c.open("a", 60)
	for i := range 60 {
		b.at(time.Duration(i+1) * 100 * ms)
		c.send(client, message(0, 0, "x"))
		b.at(b.now + 41*ms)
		c.ack(broker)
		b.at(b.now + ms/5)
		c.send(client, message(1, uint16(i+1), "y")) // the program wrote it 41 ms ago
		b.at(b.now + ms/2)
		c.send(broker, ackOf(uint16(i+1)))
		c.ack(client)
	}
	got := read(t, b.pcap())
	in, _ := got.Input()
	if r := diagnose.Diagnose(in); r.Verdict() != diagnose.DelayedAck || r.Findings[0].Side != "client" || r.P50 < int64(41*ms) {
		t.Errorf("%+v", r.Findings)
	}
	k := got.Connections[0]
	if s := &k.FromClient; s.DelayedAcks != 60 || len(s.Nagle) != 60 || k.FromBroker.DelayedAcks > 0 {
		t.Errorf("client: %d delayed, %d held; broker: %d delayed", s.DelayedAcks, len(s.Nagle), k.FromBroker.DelayedAcks)
	}
}

// TestLoss: each tenth message is lost once, and sent again after 200 ms; its acknowledgement is late.
func TestLoss(t *testing.T) {
	b := build(t)
	c := b.conn(40000)
	c.open("a", 60)
	for i := range 100 {
		b.at(time.Duration(i+1) * 300 * ms)
		seq := c.seq[client]
		c.send(client, message(1, uint16(i+1), "x"))
		if i%10 == 9 {
			b.at(b.now + 200*ms)
			c.raw(client, seq, c.seq[broker], message(1, uint16(i+1), "x"), nil)
		}
		b.at(b.now + ms)
		c.send(broker, ackOf(uint16(i+1)))
		c.ack(client)
	}
	got := read(t, b.pcap())
	s := &got.Connections[0].FromClient
	if s.Retransmitted != 10 || len(s.Retransmissions) != 10 || len(s.Publishes) != 100 {
		t.Errorf("%d sent again, %d spans, %d messages", s.Retransmitted, len(s.Retransmissions), len(s.Publishes))
	}
	in, _ := got.Input()
	if r := diagnose.Diagnose(in); r.Verdict() != diagnose.PacketLoss || r.Findings[0].Share < 0.9 {
		t.Errorf("%+v", r.Findings)
	}
}

// TestZeroWindow: a receiver that does not read.
func TestZeroWindow(t *testing.T) {
	b := build(t)
	c := healthy(b, 5)
	b.at(time.Second)
	c.window[client] = 0
	c.ack(client)
	b.at(1700 * ms)
	c.window[client] = 1000
	c.ack(client)
	k := read(t, b.pcap()).Connections[0]
	if z := k.FromClient.ZeroWindow; len(z) != 1 || z[0].To-z[0].From != int64(700*ms) || len(k.FromBroker.ZeroWindow) > 0 {
		t.Errorf("%v", z)
	}
}

// TestTransit: a message is followed through the broker by what it says.
func TestTransit(t *testing.T) {
	b := build(t)
	in, out := b.conn(40000), b.conn(40001)
	in.open("in", 60)
	out.open("out", 60)
	for i := range 60 {
		b.at(time.Duration(i+1) * 10 * ms)
		in.send(client, message(0, 0, fmt.Sprint("n", i)))
		b.at(b.now + 3*ms)
		out.send(broker, message(0, 0, fmt.Sprint("n", i)))
		in.ack(broker)
		out.ack(client)
	}
	got := read(t, b.pcap())
	list := got.Connections[1].FromBroker.Transit
	if len(list) != 60 || list[7].Acked-list[7].Sent != int64(3*ms) {
		t.Errorf("%d: %v", len(list), list)
	}
	if _, series := got.Input(); series != Transit {
		t.Errorf("%s", series)
	}
}

// TestMiddle: a capture that begins when the connection stands.
func TestMiddle(t *testing.T) {
	b := build(t)
	c := healthy(b, 60)
	b.frames = b.frames[6:]
	k := read(t, b.pcap()).Connections[0]
	if !k.Middle || !k.MQTT || k.Client != c.client || len(k.FromClient.Publishes) < 59 {
		t.Errorf("%+v, %d messages", k, len(k.FromClient.Publishes))
	}
}

// TestUnseen: packets that the capture missed cost the messages in them, not those behind.
func TestUnseen(t *testing.T) {
	b := build(t)
	healthy(b, 1200)
	var kept []frame
	for i, f := range b.frames {
		if i < 1000 || i > 1003 {
			kept = append(kept, f)
		}
	}
	b.frames = kept
	k := read(t, b.pcap()).Connections[0]
	if n := len(k.FromClient.Publishes); n < 1100 || n == 1200 {
		t.Errorf("%d messages", n)
	}
}

func TestOrder(t *testing.T) {
	b := build(t)
	c := b.conn(40000)
	c.open("a", 60)
	seq := c.seq[client]
	one, two := message(1, 1, "first"), message(1, 2, "second")
	c.raw(client, seq+uint32(len(one)), c.seq[broker], two, nil)
	c.raw(client, seq, c.seq[broker], one, nil)
	k := read(t, b.pcap()).Connections[0]
	if n := len(k.FromClient.Publishes); n != 2 {
		t.Errorf("%d messages", n)
	}
}

func TestLarge(t *testing.T) {
	b := build(t)
	c := b.conn(40000)
	c.open("a", 60)
	large := message(1, 1, string(make([]byte, 300_000)))
	for part := range 300 {
		c.send(client, large[part*1000:min((part+1)*1000, len(large))])
	}
	c.send(client, large[300_000:])
	c.send(client, message(1, 2, "small"))
	s := &read(t, b.pcap()).Connections[0].FromClient
	if len(s.Publishes) != 2 || s.Malformed > 0 {
		t.Errorf("%d messages, %d malformed", len(s.Publishes), s.Malformed)
	}
}

func TestTLS(t *testing.T) {
	b := build(t)
	c := b.conn(40000)
	c.broker = netip.MustParseAddrPort("10.0.0.2:8883")
	c.send(client, []byte{22, 3, 1, 0, 5, 1, 2, 3, 4, 5})
	if k := read(t, b.pcap()).Connections[0]; !k.TLS || k.MQTT {
		t.Errorf("%+v", k)
	}
}

func TestNoCapture(t *testing.T) {
	for _, text := range []string{"", "abc", "seq,send,recv\n1,2,3\n"} {
		if _, err := Read(bytes.NewReader([]byte(text))); !errors.Is(err, errNoCapture) {
			t.Errorf("%q: %v", text, err)
		}
	}
	b := build(t)
	if _, err := Read(bytes.NewReader(b.pcap())); err == nil {
		t.Error("a capture without packets is read")
	}
}

// TestCut: a capture that was cut off anywhere is read as far as it goes.
func TestCut(t *testing.T) {
	b := build(t)
	healthy(b, 20)
	whole := b.pcap()
	for n := 60; n < len(whole); n += 7 {
		c, err := Read(bytes.NewReader(whole[:n]))
		if err == nil && c.Packets > len(b.frames) {
			t.Errorf("%d bytes: %d packets", n, c.Packets)
		}
	}
	if c := read(t, whole[:len(whole)-3]); !c.Truncated || c.Packets != len(b.frames)-1 {
		t.Errorf("%d packets, truncated %v", c.Packets, c.Truncated)
	}
}

func FuzzRead(f *testing.F) {
	b := build(&testing.T{})
	healthy(b, 5)
	f.Add(b.pcap())
	f.Add(b.pcapng())
	f.Fuzz(func(_ *testing.T, data []byte) {
		c, err := Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		in, _ := c.Input()
		diagnose.Diagnose(in)
	})
}

// FuzzStream: whatever the bytes are, and however they are cut, the parser survives, and finds the same.
func FuzzStream(f *testing.F) {
	f.Add(append(message(1, 1, "x"), ackOf(1)...), uint8(3))
	f.Add(message(0, 0, string(make([]byte, 300))), uint8(200))
	f.Fuzz(func(t *testing.T, data []byte, cut uint8) {
		whole, cuts := parser{synced: true}, parser{synced: true}
		a, b := 0, 0
		bad := whole.feed(data, func([]byte, int) { a++ })
		step := int(cut) + 1
		for rest := data; len(rest) > 0; rest = rest[min(step, len(rest)):] {
			if cuts.feed(rest[:min(step, len(rest))], func([]byte, int) { b++ }) {
				return // from here on the cut decides where it takes up again
			}
		}
		if !bad && a != b {
			t.Errorf("whole %d packets, cut %d", a, b)
		}
	})
}
