package amqp10

import (
	"math"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/prototest"
)

const second = int64(time.Second)

// ticker tells when a client sends an empty frame, up to a moment.
func ticker(t *testing.T, c *Client, next, until int64) (sent []int64, _ int64, err error) {
	t.Helper()
	return prototest.Ticks(t, c, "\x00\x00\x00\x08\x02\x00\x00\x00", next, until)
}

// dialIdle is a client whose peer wants to hear from it every nine seconds.
func dialIdle(t *testing.T, ours time.Duration) *Client {
	t.Helper()
	c := NewClient(&Config{IdleTimeout: ours}, "c")
	c.Open(0, nil)
	feedAll(t, c, opening(raw(doOpen, "broker", nil, nil, nil, 9000)))
	return c
}

// TestEmptyFrames: the peer never waits for longer than two thirds of its idle time; what is sent anyway counts.
func TestEmptyFrames(t *testing.T) {
	c := dialIdle(t, 0)
	sent, next, err := ticker(t, c, 0, 60*second)
	if err != nil || len(sent) < 10 {
		t.Fatalf("sent at %v, %v", sent, err)
	}
	last := int64(0)
	for _, at := range sent {
		if at-last > 6*second {
			t.Errorf("silent from %d to %d", last, at)
		}
		last = at
	}
	for range 20 {
		c.idle.wrote = true
		if sent, next, err = ticker(t, c, next, next); len(sent) != 0 || err != nil {
			t.Errorf("an empty frame although something was sent; %v", err)
		}
	}
}

// TestSilentPeer: a peer that says nothing for twice our idle time is gone; a part of a frame is a sign of life.
func TestSilentPeer(t *testing.T) {
	c := dialIdle(t, 4*time.Second)
	next := int64(0)
	var err error
	for range 10 {
		if _, next, err = ticker(t, c, next, next+4*second); err != nil {
			t.Fatal(err)
		}
		if n, _, err := c.Feed(next, []byte{0}, nil, new(proto.Event)); n != 0 || err != nil {
			t.Fatal(err)
		}
	}
	_, at, err := ticker(t, c, next, math.MaxInt64/2)
	says(t, err, "nothing received for 8s, twice the idle-time-out")
	if silent := at - next; silent < 6*second || silent > 12*second {
		t.Errorf("given up after %v", time.Duration(silent))
	}
	c.Open(0, nil)
	if _, _, err := ticker(t, c, 0, 60*second); err != nil {
		t.Errorf("after a reconnection: %v", err)
	}
}

func TestNoIdleTimeout(t *testing.T) {
	c := dial(t, &Config{})
	if next, out, err := c.Tick(0, nil); next != math.MaxInt64 || len(out) > 0 || err != nil {
		t.Errorf("Tick = %d, %q, %v", next, out, err)
	}
}
