package clock_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mqlab/mqlab/internal/clock"
)

// TestNowIsTheKernels: what another process reads at this host can be compared with it, to well below what is measured.
func TestNowIsTheKernels(t *testing.T) {
	const anchored = 100_000 // ns; the anchor is the best of many tries
	kernel := func() int64 {
		var ts unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
			t.Fatal(err)
		}
		return ts.Nano()
	}
	for range 1000 {
		before, now, after := kernel(), clock.Now(), kernel()
		if now < before-anchored || now > after+anchored {
			t.Fatalf("%d, which the kernel says is between %d and %d", now, before, after)
		}
	}
}

// TestSleepUntil never returns late because of what it is told: a time that has passed, or none, is no wait, and a sleeper that looks at the
// clock again never goes on too early.
func TestSleepUntil(t *testing.T) {
	for _, at := range []int64{-1, 0, clock.Now() - 1} {
		clock.SleepUntil(at)
		clock.SleepThreadUntil(max(at, 1))
	}
	for _, sleep := range []func(int64){clock.SleepUntil, clock.SleepThreadUntil} {
		at := clock.Now() + 2_000_000
		for clock.Now() < at {
			sleep(at)
		}
	}
}
