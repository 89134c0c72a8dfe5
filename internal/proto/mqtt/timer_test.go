package mqtt

import (
	"math"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/prototest"
)

const second = int64(time.Second)

// ticker tells when a session says PINGREQ, up to a moment.
func ticker(t *testing.T, s proto.Session, next, until int64) (sent []int64, _ int64, err error) {
	t.Helper()
	return prototest.Ticks(t, s, "\xC0\x00", next, until)
}

// TestKeepAlive: an idle connection has one PINGREQ per keep-alive, and never a longer silence.
func TestKeepAlive(t *testing.T) {
	c := dial(t, Config{Version: V311, KeepAlive: 10 * time.Second})
	var last, next, pings int64
	for next < 600*second {
		sent, after, err := ticker(t, c, next, next)
		if err != nil {
			t.Fatal(err)
		}
		next = after
		for _, at := range sent {
			if at-last > 10*second {
				t.Errorf("silent from %d to %d", last, at)
			}
			last = at
			pings++
			hear(t, c, at, 0xD0, 0)
		}
	}
	if pings < 59 || pings > 64 {
		t.Errorf("%d pings in 60 keep-alives", pings)
	}
}

// hear feeds bytes of the broker at a moment.
func hear(t *testing.T, c *Client, now int64, in ...byte) {
	t.Helper()
	var ev proto.Event
	if _, _, err := c.Feed(now, in, nil, &ev); err != nil {
		t.Fatal(err)
	}
}

func TestUnansweredPing(t *testing.T) {
	c := dial(t, Config{Version: V311, KeepAlive: 10 * time.Second})
	sent, at, err := ticker(t, c, 0, 60*second)
	says(t, err, "mqtt: no answer to PINGREQ within 5s")
	if len(sent) != 1 || at != sent[0]+5*second+1 || at > 15*second {
		t.Errorf("pings at %v, given up at %d", sent, at)
	}
	c.Open(0, nil)
	reopen(t, c, false)
	if _, _, err := ticker(t, c, 0, 5*second); err != nil {
		t.Errorf("after a reconnection: %v", err)
	}
}

// TestBlackHoleIsNoticed: from whatever moment on nothing is heard any more, the connection is given up within one and a half
// keep-alives, even while QoS 0 is being published.
func TestBlackHoleIsNoticed(t *testing.T) {
	const keepAlive = 10 * second
	for _, publishing := range []bool{false, true} {
		for hole := 20 * second; hole < 30*second; hole += second / 7 {
			c := dial(t, Config{Version: V311, KeepAlive: time.Duration(keepAlive)})
			var lost int64
			for now := int64(0); lost == 0 && now < 100*second; now += second / 10 {
				if publishing {
					publish(t, c, 0, 0, false)
				}
				_, out, err := c.Tick(now, nil)
				if len(out) > 0 && now < hole {
					hear(t, c, now, 0xD0, 0)
				}
				if err != nil {
					lost = now
				}
			}
			if lost < hole || lost-hole > keepAlive*3/2 {
				t.Errorf("publishing %v: black hole at %v noticed at %v", publishing, time.Duration(hole), time.Duration(lost))
			}
		}
	}
}

func TestNoKeepAlive(t *testing.T) {
	c := dial(t, Config{Version: V311})
	if next, out, err := c.Tick(0, nil); next != math.MaxInt64 || len(out) != 0 || err != nil {
		t.Errorf("next %d, % x, %v", next, out, err)
	}
	c.Barrier(1, nil)
	if next, _, err := c.Tick(1000*second, nil); next != math.MaxInt64 || err != nil {
		t.Errorf("next %d, %v", next, err)
	}
}

func TestServerKeepAlive(t *testing.T) {
	c := dial(t, Config{Version: V5, KeepAlive: 60 * time.Second}, 0x13, 0, 2)
	if sent, _, _ := ticker(t, c, 0, 2*second); len(sent) != 1 {
		t.Errorf("pings at %v although the broker wants one per 2 s", sent)
	}
	c = dial(t, Config{Version: V5, KeepAlive: 60 * time.Second}, 0x13, 0, 0)
	if next, _, _ := c.Tick(0, nil); next != math.MaxInt64 {
		t.Errorf("next %d although the broker wants no pings", next)
	}
	c = NewClient(&Config{Version: V5}, "id")
	c.Open(0, nil)
	if next, _, _ := c.Tick(0, nil); next > 2*second {
		t.Errorf("Tick is wanted at %d although CONNACK may ask for a keep-alive", next)
	}
}

func TestBarrier(t *testing.T) {
	c := dial(t, Config{Version: V311, KeepAlive: 10 * time.Second})
	if sent, _, _ := ticker(t, c, 0, 10*second); len(sent) != 1 {
		t.Fatal("no ping")
	}
	wantBytes(t, c.Barrier(7, nil), 0xC0, 0)
	if ev, _ := feed(t, c, []byte{0xD0, 0}, nil); ev.Kind != proto.None {
		t.Errorf("the answer to an earlier ping is taken for that of the barrier: %+v", ev)
	}
	if ev, _ := feed(t, c, []byte{0xD0, 0}, nil); ev.Kind != proto.Barrier || ev.Token != 7 {
		t.Errorf("%+v", ev)
	}
}

func TestServerMissesClient(t *testing.T) {
	l := newLine(t, &Config{Version: V311, KeepAlive: 10 * time.Second}, new(ServerConfig))
	l.open()
	l.flush()
	next, _, err := l.s.Tick(15*second, nil)
	if err != nil || next != 15*second+1 {
		t.Errorf("next %d, %v", next, err)
	}
	_, _, err = l.s.Tick(next, nil)
	says(t, err, "no packet from the client within 15s")
}

// TestAnswersKeepAlive: an acknowledgement is something sent.
func TestAnswersKeepAlive(t *testing.T) {
	c := dial(t, Config{Version: V311, KeepAlive: 10 * time.Second})
	next := int64(0)
	for range 20 {
		feed(t, c, []byte{0x32, 5, 0, 1, 't', 0, 1}, nil)
		var sent []int64
		var err error
		if sent, next, err = ticker(t, c, next, next); len(sent) != 0 || err != nil {
			t.Fatalf("a ping although a PUBACK was sent; %v", err)
		}
	}
}

// TestSlowAnswers: as long as the broker says anything, an answer that stands behind it is not late.
func TestSlowAnswers(t *testing.T) {
	c := dial(t, Config{Version: V311, KeepAlive: 10 * time.Second})
	c.Barrier(1, nil)
	if _, _, err := ticker(t, c, 0, 4*second); err != nil {
		t.Fatal(err)
	}
	hear(t, c, 4*second, 0x30, 3, 0, 1, 't')
	if _, _, err := c.Tick(9*second, nil); err != nil {
		t.Error(err)
	}
	_, _, err := c.Tick(9*second+1, nil)
	says(t, err, "no answer to PINGREQ")
}
