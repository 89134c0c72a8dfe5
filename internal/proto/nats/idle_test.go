package nats

import (
	"math"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/mqlab/mqlab/internal/proto"
)

func TestKeepAlive(t *testing.T) {
	const every = int64(time.Second)
	c := connected(t, &Config{KeepAlive: time.Second})
	tick := func(now int64, wantNext int64, want string) {
		t.Helper()
		next, out, err := c.Tick(now, nil)
		if err != nil || string(out) != want || next != wantNext {
			t.Fatalf("Tick(%d) = %d, %q, %v; want %d, %q", now, next, out, err, wantNext, want)
		}
	}
	tick(0, every, "")
	tick(every, 2*every, "PING\r\n")
	if ev, _ := step(t, c, "PONG\r\n"); ev.Kind != proto.None || ev.Err != nil {
		t.Errorf("got %+v", ev)
	}
	tick(2*every, 3*every, "PING\r\n")
	tick(3*every, 4*every, "PING\r\n")
	step(t, c, "MSG a 1 0\r\n\r\n") // the PONGs are late, but the peer lives
	tick(4*every, 5*every, "")
	tick(5*every, 6*every, "")
	if _, _, err := c.Tick(6*every, nil); err == nil || !strings.Contains(err.Error(), "nats: no answer to PING") {
		t.Errorf("a dead peer: %v", err)
	}
	silent := connected(t, &Config{})
	if next, out, err := silent.Tick(1<<60, nil); next != math.MaxInt64 || len(out) > 0 || err != nil {
		t.Errorf("without keep-alive: %d, %q, %v", next, out, err)
	}
}

func TestSizes(t *testing.T) {
	c := connected(t, &Config{})
	if size := unsafe.Sizeof(*c); size > 160 {
		t.Errorf("a client needs %d bytes", size)
	}
	const waiting, turns = 1000, 5000
	for i := range waiting + turns {
		c.Barrier(uint64(i), nil)
		if i < waiting {
			continue
		}
		if ev, _ := step(t, c, "PONG\r\n"); ev.Token != uint64(i-waiting) {
			t.Fatalf("barrier %d answered as %d", i-waiting, ev.Token)
		}
	}
	if len(c.pings.queue) > 3*waiting {
		t.Errorf("%d PINGs are kept while %d wait", len(c.pings.queue), waiting)
	}
	for !c.pings.empty() {
		step(t, c, "PONG\r\n")
	}
	if cap(c.pings.queue) > 4 {
		t.Errorf("an idle client keeps room for %d PINGs", cap(c.pings.queue))
	}
}

func TestNoAllocation(t *testing.T) {
	headers, _ := EncodeHeaders(Header{"A", "b"})
	for _, cfg := range []*Config{{}, {Headers: headers}} {
		c, out := readyClient(t, cfg), make([]byte, 0, 4096)
		m := proto.Message{Topic: []byte("a.b.c"), Payload: make([]byte, 1000)}
		in := []byte("HMSG a.b.c 1 12 14\r\nNATS/1.0\r\n\r\nok\r\nMSG a.b.c 1 2\r\nok\r\nPING\r\nPONG\r\n")
		var ev proto.Event
		if n := testing.AllocsPerRun(100, func() {
			out, _ = c.Publish(&m, out[:0])
			out = c.Barrier(1, out)
			for rest := in; len(rest) > 0; {
				n, _, err := c.Feed(0, rest, out, &ev)
				if n == 0 {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
	}
}
