package resp

import (
	"strconv"
	"testing"
	"unsafe"

	"github.com/mqlab/mqlab/internal/proto"
)

// clients makes one of each kind, accepted.
func clients(tb testing.TB) map[string]proto.Client {
	return map[string]proto.Client{"pubsub": accepted(tb, &Config{}), "streams": acceptedStreams(tb, &Config{})}
}

func BenchmarkPublish(b *testing.B) {
	for name, c := range clients(b) {
		for _, size := range []int{0, 64, 1024, 16384} {
			b.Run(name+"/"+strconv.Itoa(size)+"B", func(b *testing.B) {
				m := proto.Message{Topic: []byte("bench/sensor/000017"), Payload: make([]byte, size)}
				out := make([]byte, 0, 64<<10)
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					if len(out)+size+fixedSize+20 > cap(out) {
						out = out[:0]
					}
					out, _ = c.Publish(&m, out)
				}
			})
		}
	}
}

// BenchmarkAcked publishes with QoS 1, with 64 messages on their way.
func BenchmarkAcked(b *testing.B) {
	for name, c := range clients(b) {
		b.Run(name, func(b *testing.B) {
			m := proto.Message{Topic: []byte("bench/sensor/000017"), Payload: make([]byte, 64), QoS: 1}
			out, answer := make([]byte, 0, 4096), []byte(":1\r\n")
			var ev proto.Event
			for range 64 {
				_, _ = c.Publish(&m, out)
			}
			b.ReportAllocs()
			for b.Loop() {
				_, _ = c.Publish(&m, out)
				if _, _, err := c.Feed(0, answer, out, &ev); err != nil || ev.Kind != proto.Acked {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkFeed(b *testing.B) {
	for _, size := range []int{64, 1024, 16384} {
		payload := make([]byte, size)
		m := string(appendBulk(appendBulk([]byte(">3\r\n$7\r\nmessage\r\n"), "bench/sensor/000017"), payload))
		b.Run("pubsub/"+strconv.Itoa(size)+"B", func(b *testing.B) { benchmarkFeed(b, accepted(b, &Config{}), "", m, size) })

		e := entry("1526919030474-0", "d", string(payload))
		b.Run("streams/"+strconv.Itoa(size)+"B", func(b *testing.B) {
			c := acceptedStreams(b, &Config{})
			if _, err := c.Subscribe(&proto.Subscription{Topic: "a", QoS: 1}, nil); err != nil {
				b.Fatal(err)
			}
			step(b, c, "+OK\r\n")
			benchmarkFeed(b, c, "%1\r\n+a\r\n*64\r\n", e, size)
		})
	}
}

// benchmarkFeed feeds 64 messages behind a head again and again.
func benchmarkFeed(b *testing.B, c proto.Client, head, m string, size int) {
	in := []byte(head)
	for range 64 {
		in = append(in, m...)
	}
	if head != "" {
		in = append(in, ":64\r\n"...) // the answer to XACK
	}
	var ev proto.Event
	rest, out := in, make([]byte, 0, 8192)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		for ev.Kind = proto.None; ev.Kind != proto.Delivered; {
			n, _, err := c.Feed(0, rest, out, &ev)
			if err != nil || n == 0 {
				b.Fatal(err)
			}
			if rest = rest[n:]; len(rest) == 0 {
				rest = in
			}
		}
	}
}

func TestNoAllocation(t *testing.T) {
	const confirmed, pushed = ">3\r\n+subscribe\r\n+a\r\n:1\r\n", ">3\r\n$7\r\nmessage\r\n$1\r\na\r\n$2\r\nhi\r\n"
	pubsub, streams := accepted(t, &Config{}), acceptedStreams(t, &Config{MaxLen: 1000})
	ask(t, pubsub, 1, "a")
	step(t, pubsub, confirmed)
	join(t, streams, 1, "a", "g", 1)
	step(t, streams, "+OK\r\n")
	for _, c := range []struct {
		client interface {
			proto.Client
			Barrier(token uint64, out []byte) []byte
		}
		received string
	}{
		{pubsub, pushed + ":1\r\n:1\r\n:1\r\n" + pushed + pong},
		{streams, "%1\r\n+a\r\n*2\r\n" + entry("1-0", "d", "x") + entry("1-1", "d", "y") + "+2-0\r\n+2-1\r\n+2-2\r\n" + pong + ":2\r\n"},
	} {
		out, m := make([]byte, 0, 4096), proto.Message{Topic: []byte("a"), Payload: make([]byte, 1000)}
		in := []byte(c.received)
		var ev proto.Event
		if n := testing.AllocsPerRun(100, func() {
			for qos := range uint8(3) {
				m.QoS = qos % 2
				if _, err := c.client.Publish(&m, out); err != nil {
					t.Fatal(err)
				}
			}
			c.client.Barrier(1, out)
			for rest := in; len(rest) > 0; {
				n, _, err := c.client.Feed(0, rest, out, &ev)
				if n == 0 {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
		}); n > 0 {
			t.Errorf("%T: %v allocations", c.client, n)
		}
	}
	if size := unsafe.Sizeof(*pubsub); size > 160 {
		t.Errorf("a pub/sub client needs %d bytes", size)
	}
}
