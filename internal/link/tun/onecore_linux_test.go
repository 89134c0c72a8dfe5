package tun

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mqlab/mqlab/internal/link"
)

// TestOneCore: a carrier goes on where all its threads share a core, as those of two links at once may on a machine of two: none of them
// may wait for another without letting it run.
func TestOneCore(t *testing.T) {
	n := openOnOneCore(t)
	const rounds, packets = 50, 20
	for range rounds {
		send(t, n, packets, 100)
		for range 20 { // each costs the carrier memory, which it has to collect
			_, _ = n.Counters()
		}
	}
	upOnce(t, n, func(up link.Counters) bool { return up.Offered.Packets+up.Overrun.Packets >= rounds*packets })
}

// openOnOneCore opens a network whose carrier inherits one core of this thread's.
func openOnOneCore(t *testing.T) *Network {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var usual, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &usual); err != nil {
		t.Fatal(err)
	}
	for core := range len(usual) * 64 {
		if usual.IsSet(core) {
			one.Zero()
			one.Set(core)
		}
	}
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.SchedSetaffinity(0, &usual) }()
	return open(t, both(link.Params{}))
}
