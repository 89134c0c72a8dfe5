package tun

import (
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/mqlab/mqlab/internal/link"
)

// send offers n datagrams from a device; nobody takes them, and nobody says so.
func send(t *testing.T, n *Network, count, size int) {
	t.Helper()
	// An address of the broker's network that nobody has: nothing comes back, not even a refusal.
	c, err := n.Device().Dial(t.Context(), "udp", "198.19.0.9:9")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	for range count {
		if _, err := c.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOverrunIsCounted: what the carrier is too slow to take is told apart from what the link does to packets, to the last of them.
func TestOverrunIsCounted(t *testing.T) {
	n := open(t, both(link.Params{}))
	carrier := n.carrier.cmd.Process
	if err := carrier.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	const sent = queueLength + 500
	send(t, n, sent, 10)
	if err := carrier.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	up := upOnce(t, n, func(up link.Counters) bool { return up.Offered.Packets+up.Overrun.Packets >= sent })
	if up.Overrun.Packets == 0 || up.Offered.Packets+up.Overrun.Packets != sent {
		t.Errorf("%d sent, %d offered, %d overrun", sent, up.Offered.Packets, up.Overrun.Packets)
	}
}

// TestSameSeedSameLosses: over real networks, with packets of other sizes.
func TestSameSeedSameLosses(t *testing.T) {
	fates := func(seed uint64, size int) (all []link.Verdict) {
		n, err := Open(t.Context(), link.Config{Profile: both(link.Params{Loss: 0.3, Burst: 2}), Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = n.Close() }()
		var mu sync.Mutex
		n.Observe(func(way link.Direction, _ int64, _ int, _ []byte, v link.Verdict) {
			mu.Lock()
			defer mu.Unlock()
			if way == link.Up {
				all = append(all, v)
			}
		})
		const sent = 400
		send(t, n, sent, size)
		upOnce(t, n, func(up link.Counters) bool { return up.Offered.Packets >= sent })
		mu.Lock()
		defer mu.Unlock()
		return all
	}
	open(t, both(link.Params{})) // or skip
	one, two, other := fates(7, 10), fates(7, 1000), fates(8, 10)
	if len(one) != 400 || !slices.Equal(one, two) {
		t.Errorf("%d and %d packets with the same seed fare differently", len(one), len(two))
	}
	if slices.Equal(one, other) {
		t.Error("with another seed they fare alike")
	}
}
