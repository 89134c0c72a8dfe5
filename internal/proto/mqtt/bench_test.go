package mqtt

import (
	"fmt"
	"testing"

	"github.com/mqlab/mqlab/internal/proto"
)

// TestNoAllocation: nothing is allocated per message once tables have their size.
func TestNoAllocation(t *testing.T) {
	for _, version := range []byte{V311, V5} {
		for qos := range uint8(3) {
			l := newLine(t, &Config{Version: version}, new(ServerConfig))
			l.open()
			l.flush()
			l.up, l.down = make([]byte, 0, 4096), make([]byte, 0, 4096)
			m := proto.Message{Topic: []byte("a/b/c"), Payload: make([]byte, 64), QoS: qos}
			var ev proto.Event
			exchange := func(from, to proto.Session, p proto.Publisher) {
				out, err := p.Publish(&m, l.up[:0])
				if err != nil {
					t.Fatal(err)
				}
				in, back := out, l.down[:0]
				for range 2 * max(qos, 1) {
					if _, back, err = to.Feed(0, in, back, &ev); err != nil {
						t.Fatal(err)
					}
					if len(back) == 0 {
						break
					}
					in, back, from, to = back, in[:0], to, from
				}
			}
			for name, run := range map[string]func(){
				"publish": func() { exchange(l.c, l.s, l.c) },
				"deliver": func() { exchange(l.s, l.c, l.s) },
			} {
				run()
				if n := testing.AllocsPerRun(200, run); n != 0 {
					t.Errorf("version %d, QoS %d, %s: %v allocations", version, qos, name, n)
				}
			}
			if l.c.InFlight() != 0 || l.s.InFlight() != 0 {
				t.Errorf("version %d, QoS %d: unfinished exchanges", version, qos)
			}
		}
	}
}

func BenchmarkPublish(b *testing.B) {
	for _, version := range []byte{V311, V5} {
		for qos := range uint8(2) {
			b.Run(fmt.Sprintf("v%d/QoS%d", version, qos), func(b *testing.B) {
				c := dial(b, Config{Version: version})
				m := proto.Message{Topic: []byte("lab/stream/1"), Payload: make([]byte, 64), QoS: qos}
				out := make([]byte, 0, 256)
				ack := []byte{0x40, 2, 0, 0}
				var ev proto.Event
				b.ReportAllocs()
				for b.Loop() {
					var err error
					if out, err = c.Publish(&m, out[:0]); err != nil {
						b.Fatal(err)
					}
					if qos == 1 {
						ack[2], ack[3] = out[16], out[17]
						if _, _, err = c.Feed(0, ack, out, &ev); err != nil {
							b.Fatal(err)
						}
					}
				}
			})
		}
	}
}

func BenchmarkReceive(b *testing.B) {
	for _, version := range []byte{V311, V5} {
		for qos := range uint8(3) {
			b.Run(fmt.Sprintf("v%d/QoS%d", version, qos), func(b *testing.B) {
				c := dial(b, Config{Version: version})
				l := newLine(b, &Config{Version: version}, new(ServerConfig))
				l.open()
				l.flush()
				in, err := l.s.Publish(&proto.Message{Topic: []byte("lab/stream/1"), Payload: make([]byte, 64), QoS: qos}, nil)
				if err != nil {
					b.Fatal(err)
				}
				out, release := make([]byte, 0, 64), []byte{0x62, 2, 0, 1}
				var ev proto.Event
				b.ReportAllocs()
				for b.Loop() {
					if _, _, err := c.Feed(0, in, out, &ev); err != nil || ev.Kind != proto.Delivered {
						b.Fatal(ev, err)
					}
					if qos == 2 {
						if _, _, err := c.Feed(0, release, out, &ev); err != nil {
							b.Fatal(err)
						}
					}
				}
			})
		}
	}
}
