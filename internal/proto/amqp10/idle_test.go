package amqp10

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
)

const second = int64(time.Second)

// ticker calls Tick whenever it is due, up to a moment, and tells when something was sent.
func ticker(t *testing.T, c *Client, next, until int64) (sent []int64, _ int64, err error) {
	t.Helper()
	for next <= until {
		now := next
		var out []byte
		next, out, err = c.Tick(now, nil)
		if len(out) > 0 {
			if !slices.Equal(out, []byte{0, 0, 0, 8, 2, 0, 0, 0}) {
				t.Fatalf("sent %x", out)
			}
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
