package clock_test

import (
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
)

// TestNowNeverGoesBack: stamps in sequence are in order.
func TestNowNeverGoesBack(t *testing.T) {
	for reading := range 1_000_000 {
		a, b := clock.Now(), clock.Now()
		if b < a || a <= 0 {
			t.Fatalf("%d after %d, reading %d", b, a, reading)
		}
	}
}

// TestRealtimeOffset: a reading of the wall clock, converted, lies where it was taken, with half the duration of the looking at most as the
// error: whoever is interrupted meanwhile learns less, never something wrong.
func TestRealtimeOffset(t *testing.T) {
	for range 100 {
		before := clock.Now()
		offset := clock.RealtimeOffset()
		wall := time.Now().UnixNano()
		after := clock.Now()
		if at, slack := wall+offset, after-before; at < before-slack || at > after+slack {
			t.Fatalf("%d is converted to %d, read between %d and %d", wall, at, before, after)
		}
	}
}
