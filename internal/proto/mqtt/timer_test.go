package mqtt

import (
	"math"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
)

const second = int64(time.Second)

// ticker calls Tick whenever it is due, up to a moment, and tells when something was sent.
func ticker(t *testing.T, s proto.Session, next, until int64) (sent []int64, _ int64, err error) {
	t.Helper()
	for next <= until {
		now := next
		var out []byte
		next, out, err = s.Tick(now, nil)
		if len(out) > 0 {
			wantBytes(t, out, 0xC0, 0)
			sent = append(sent, now)
		}
		if err != nil {
			return sent, now, err
		}
		if next <= now {
			t.Fatalf("Tick(%d) wants to be called at %d", now, next)
		}
	}
	return sent, next, nil
}

func TestKeepAlive(t *testing.T) {
	c := dial(t, Config{Version: V311, KeepAlive: 10 * time.Second})
	sent, next, err := ticker(t, c, 0, 5*second)
	if len(sent) != 1 || err != nil {
		t.Fatalf("pings at %v, %v", sent, err)
	}
	_, _, err = all(c, []byte{0xD0, 0})
	if err != nil {
		t.Fatal(err)
	}
	last := sent[0]
	for next < 60*second {
		sent, next, err = ticker(t, c, next, next)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range sent {
			if at-last > 5*second {
				t.Errorf("silent from %d to %d", last, at)
			}
			last = at
			feed(t, c, []byte{0xD0, 0}, nil)
		}
	}
	for range 20 {
		publish(t, c, 0, 0, false)
		if sent, next, err = ticker(t, c, next, next); len(sent) != 0 || err != nil {
			t.Errorf("a ping although something was sent; %v", err)
		}
	}
}

func TestUnansweredPing(t *testing.T) {
	c := dial(t, Config{Version: V311, KeepAlive: 10 * time.Second})
	sent, at, err := ticker(t, c, 0, 60*second)
	wantErr(t, err, "mqtt: no answer to PINGREQ within 10s")
	if len(sent) != 1 || at != sent[0]+10*second+1 {
		t.Errorf("pings at %v, given up at %d", sent, at)
	}
	c.Open(0, nil)
	reopen(t, c, false)
	if _, _, err := ticker(t, c, 0, 5*second); err != nil {
		t.Errorf("after a reconnection: %v", err)
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
	if sent, _, _ := ticker(t, c, 0, second); len(sent) != 1 {
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
	if sent, _, _ := ticker(t, c, 0, 5*second); len(sent) != 1 {
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
	wantErr(t, err, "no packet from the client within 15s")
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

// TestSlowAnswers: as long as the broker answers one PINGREQ after the other, the later ones are not late.
func TestSlowAnswers(t *testing.T) {
	c := dial(t, Config{Version: V311, KeepAlive: 10 * time.Second})
	c.Barrier(1, nil)
	c.Barrier(2, nil)
	if _, _, err := ticker(t, c, 0, 9*second); err != nil {
		t.Fatal(err)
	}
	var ev proto.Event
	if _, _, err := c.Feed(9*second, []byte{0xD0, 0}, nil, &ev); err != nil || ev.Kind != proto.None {
		t.Fatalf("%+v, %v", ev, err)
	}
	if _, _, err := c.Tick(19*second, nil); err != nil {
		t.Error(err)
	}
	_, _, err := c.Tick(19*second+1, nil)
	wantErr(t, err, "no answer to PINGREQ")
}
