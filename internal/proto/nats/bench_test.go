package nats

import (
	"testing"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/prototest"
)

// readyClient is a client that a server of ours has accepted.
func readyClient(tb testing.TB, cfg *Config) *Client {
	tb.Helper()
	c, s := NewClient(cfg), NewServer(&ServerConfig{})
	_, said := prototest.FeedAll(tb, c, s.Open(0, c.Open(0, nil)))
	prototest.Line{Client: c, Server: s}.Exchange(tb, said)
	if c.phase != ready {
		tb.Fatalf("the client has come to phase %d", c.phase)
	}
	return c
}

func BenchmarkPublish(b *testing.B) {
	for _, size := range []int{0, 64, 1024, 16384} {
		b.Run(byteCount(size), func(b *testing.B) {
			c := readyClient(b, &Config{})
			m := proto.Message{Topic: []byte("bench.sensor.000017"), Payload: make([]byte, size)}
			out := make([]byte, 0, 64<<10)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if len(out)+size+100 > cap(out) {
					out = out[:0]
				}
				out, _ = c.Publish(&m, out)
			}
		})
	}
}

func BenchmarkFeed(b *testing.B) {
	for _, size := range []int{64, 1024, 16384} {
		b.Run(byteCount(size), func(b *testing.B) {
			c := readyClient(b, &Config{})
			subject, payload := []byte("bench.sensor.000017"), make([]byte, size)
			var in []byte
			for len(in) < 64<<10 {
				in = appendMessage(in, "MSG ", subject, "17 ", nil, payload)
			}
			var ev proto.Event
			rest := in
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				n, _, err := c.Feed(0, rest, nil, &ev)
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

func byteCount(n int) string { return string(appendUint(nil, uint64(n))) + "B" }

// BenchmarkJetStream: a message published with QoS 1 and confirmed, and one delivered and acknowledged.
func BenchmarkJetStream(b *testing.B) {
	c := consuming(b, &testStream, 1)
	payload := make([]byte, 64)
	m := proto.Message{Token: 12, Topic: []byte("a.b"), Payload: payload, QoS: 1}
	in := []byte(inboxMessage("12", `{"stream":"S", "seq":123456}`))
	in = appendMessage(in, "MSG ", m.Topic, "2 $JS.ACK.S.C.1.5.5.1700000000000000000.0 ", nil, payload)
	out := make([]byte, 0, 4096)
	var ev proto.Event
	b.ReportAllocs()
	for b.Loop() {
		out, _ = c.Publish(&m, out[:0])
		for rest := in; len(rest) > 0; {
			n, o, err := c.Feed(0, rest, out, &ev)
			if err != nil || n == 0 {
				b.Fatal(err)
			}
			rest, out = rest[n:], o
		}
	}
}
