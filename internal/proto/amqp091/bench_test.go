package amqp091

import (
	"fmt"
	"testing"

	"github.com/mqlab/mqlab/internal/proto"
)

func BenchmarkPublish(b *testing.B) {
	for _, qos := range []uint8{0, 1} {
		for _, size := range []int{0, 64, 1024, 16384} {
			b.Run(fmt.Sprintf("QoS%d/%dB", qos, size), func(b *testing.B) {
				p := connect(b, &Config{Exchange: Exchange{Name: "amq.topic"}}, &ServerConfig{})
				m := proto.Message{Topic: []byte("bench.sensor.000017"), Payload: make([]byte, size), QoS: qos}
				out := make([]byte, 0, 64<<10)
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					if len(out)+size+200 > cap(out) {
						out = out[:0]
						if qos > 0 {
							p.client.sent.settleUpTo(p.client.sent.next - 1)
							p.client.sent.reset()
						}
					}
					out, _ = p.client.Publish(&m, out)
				}
			})
		}
	}
}

func BenchmarkFeed(b *testing.B) {
	for _, qos := range []uint8{0, 1} {
		for _, size := range []int{64, 1024, 16384} {
			b.Run(fmt.Sprintf("QoS%d/%dB", qos, size), func(b *testing.B) {
				p := connect(b, &Config{}, &ServerConfig{})
				var in []byte
				for len(in) < 64<<10 {
					in = append(in, deliver(17, qos, 1, "bench.sensor.000017",
						appendContent(nil, 1, properties{mode: modeTransient}, make([]byte, size), defaultFrame))...)
				}
				var ev proto.Event
				out := make([]byte, 0, 4096)
				rest := in
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					n, _, err := p.client.Feed(0, rest, out, &ev)
					if err != nil || ev.Kind != proto.Delivered {
						b.Fatal(err)
					}
					if rest = rest[n:]; len(rest) == 0 {
						rest = in
					}
				}
			})
		}
	}
}

func BenchmarkConfirm(b *testing.B) {
	p := connect(b, &Config{}, &ServerConfig{})
	m := proto.Message{Topic: []byte("a"), QoS: 1}
	out := make([]byte, 0, 4096)
	var ev proto.Event
	b.ReportAllocs()
	for b.Loop() {
		out, _ = p.client.Publish(&m, out[:0])
		out = appendAck(out[:0], 1, p.client.sent.next-1, false)
		if _, _, err := p.client.Feed(0, out, out[len(out):], &ev); err != nil || ev.Kind != proto.Acked {
			b.Fatal(err)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	for _, cfg := range []*Config{{Exchange: Exchange{Name: "amq.topic"}}, {Mandatory: true, Persistent: true, AckEvery: 3}} {
		p := connect(t, cfg, &ServerConfig{})
		p.subscribe(t, proto.Subscription{Token: 1, Topic: "a.b.c", QoS: 1})
		in := join(deliver(1, 1, 1, "a.b.c", plain("hello")), deliver(1, 0, 1, "a.b.c", plain("")), appendHeartbeat(nil))
		m := proto.Message{Topic: []byte("a.b.c"), Payload: make([]byte, 1000), QoS: 1}
		d := proto.Message{Topic: []byte("a.b.c"), Payload: make([]byte, 1000), QoS: 1, Sub: 1}
		out, buf := make([]byte, 0, 4096), make([]byte, 0, 4096)
		var ev proto.Event
		feed := func(s proto.Session, in []byte) {
			for len(in) > 0 {
				n, o, err := s.Feed(0, in, out, &ev)
				if err != nil || (n == 0 && ev.Kind == proto.None) {
					t.Fatal(err)
				}
				in, out = in[n:], o
			}
		}
		if n := testing.AllocsPerRun(100, func() {
			out = out[:0]
			feed(p.client, in)
			buf, _ = p.client.Publish(&m, buf[:0])
			feed(p.server, buf)
			buf = appendAck(buf[:0], 1, p.client.sent.next-1, true)
			feed(p.client, buf)
			buf, _ = p.server.Publish(&d, buf[:0])
			feed(p.client, buf)
			buf = appendAck(buf[:0], 1, p.server.channels[1].sent.next-1, true)
			feed(p.server, buf)
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
	}
}
