package zenoh

import (
	"strconv"
	"testing"
	"unsafe"

	"github.com/mqlab/mqlab/internal/proto"
)

func BenchmarkPublish(b *testing.B) {
	for _, size := range []int{0, 64, 1024, 16384, 1 << 20} {
		b.Run(strconv.Itoa(size)+"B", func(b *testing.B) {
			c := connect(b, &Config{}, &ServerConfig{}).client
			m := proto.Message{Topic: []byte("bench/sensor/000017"), Payload: make([]byte, size)}
			out := make([]byte, 0, 2<<20)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if len(out)+size+1000 > cap(out) {
					out = out[:0]
				}
				out, _ = c.Publish(&m, out)
			}
		})
	}
}

func BenchmarkFeed(b *testing.B) {
	for _, size := range []int{64, 1024, 16384, 1 << 20} {
		b.Run(strconv.Itoa(size)+"B", func(b *testing.B) {
			p := connect(b, &Config{}, &ServerConfig{})
			in := p.delivery(b, size)
			var ev proto.Event
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				for rest := in; len(rest) > 0; {
					n, _, err := p.client.Feed(0, rest, nil, &ev)
					if err != nil || n == 0 {
						b.Fatal(err)
					}
					rest = rest[n:]
				}
			}
		})
	}
}

// delivery subscribes and returns what the server sends for a message of this size.
func (p *pair) delivery(tb testing.TB, size int) []byte {
	tb.Helper()
	up, err := p.client.Subscribe(&proto.Subscription{Topic: "bench/sensor/000017"}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	_, down := feed(tb, p.server, up)
	feed(tb, p.client, down)
	out, err := p.server.Publish(&proto.Message{Topic: []byte("bench/sensor/000017"), Payload: make([]byte, size), Sub: 1}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

func TestNoAllocation(t *testing.T) {
	for _, size := range []int{40, 1000, 200_000} {
		p := connect(t, &Config{}, &ServerConfig{})
		in := p.delivery(t, size)
		m := proto.Message{Topic: []byte("bench/sensor/000017"), Payload: make([]byte, size)}
		out := make([]byte, 0, size+4096)
		var ev proto.Event
		p.client.Barrier(1, out) // makes room for one probe
		answer := batch("25 00 be 02 2108 1a")
		if n := testing.AllocsPerRun(100, func() {
			if _, err := p.client.Publish(&m, out); err != nil {
				t.Fatal(err)
			}
			for _, rest := range [][]byte{in, answer} {
				for len(rest) > 0 {
					n, _, err := p.client.Feed(0, rest, out, &ev)
					if n == 0 {
						t.Fatal(err)
					}
					rest = rest[n:]
				}
			}
			if _, _, err := p.client.Tick(0, out); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("%d bytes: %v allocations", size, n)
		}
	}
	if size := unsafe.Sizeof(Client{}); size > 256 {
		t.Errorf("a client needs %d bytes", size)
	}
}
