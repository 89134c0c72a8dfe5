package tun

import (
	"errors"
	"fmt"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/hist"
	"github.com/mqlab/mqlab/internal/link"
)

// batch is how many packets are taken before those that are due are looked after again, and the other way round.
const batch = 32

// carrier takes the packets of one direction from one TUN device to the other.
type carrier struct {
	way      link.Direction
	from, to int // descriptors
	wake     int // an eventfd: something has changed
	seen     *sightings

	mu      sync.Mutex
	machine *link.Machine
	late    *hist.Hist
	refused uint64 // packets that the far device did not take
}

func newCarrier(way link.Direction, from, to int, m *link.Machine, seen *sightings) (*carrier, error) {
	wake, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	return &carrier{way: way, from: from, to: to, wake: wake, seen: seen, machine: m, late: hist.New()}, nil
}

// do changes something about the machine and makes the thread look at it.
func (c *carrier) do(f func(now int64, m *link.Machine) error) error {
	c.mu.Lock()
	err := f(clock.Now(), c.machine)
	c.mu.Unlock()
	if _, wakeErr := unix.Write(c.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0}); !errors.Is(wakeErr, unix.EAGAIN) { // else it is awake
		err = errors.Join(err, wakeErr)
	}
	return err
}

// run carries packets until that fails.
func (c *carrier) run() error {
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // lateness tells whether it helped
	fds := []unix.PollFd{{Fd: int32(c.from), Events: unix.POLLIN}, {Fd: int32(c.wake), Events: unix.POLLIN}}
	buf := make([]byte, 2*MTU)
	for {
		timeout := c.deliver()
		fds[0].Revents, fds[1].Revents = 0, 0
		n, err := poll(fds, timeout)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("link %s: poll: %w", c.way, err)
		}
		if n > 0 && fds[1].Revents != 0 {
			_, _ = read(c.wake, buf[:8]) // resets it; that it was set is all there is to know
		}
		if n <= 0 || fds[0].Revents == 0 {
			continue
		}
		if err := c.accept(buf); err != nil {
			return fmt.Errorf("link %s: read: %w", c.way, err)
		}
	}
}

// deliver hands over what is due, a batch at most, and returns how long there is nothing to do; nil = until something comes.
func (c *carrier) deliver() *unix.Timespec {
	c.mu.Lock()
	defer c.mu.Unlock()
	for range batch {
		at, ok := c.machine.Next()
		if !ok {
			return nil
		}
		now := clock.Now()
		if at > now {
			t := unix.NsecToTimespec(at - now)
			return &t
		}
		packet, ok := c.machine.Pop(now)
		if !ok {
			continue // an outage has taken it
		}
		if c.way == link.Up {
			toLoopback(packet)
		}
		if err := write(c.to, packet); err != nil {
			c.refused++
			continue
		}
		c.late.Record(now - at)
	}
	return &unix.Timespec{}
}

// accept takes the packets that have come, a batch of them at most. Within the link they have the addresses that devices see.
func (c *carrier) accept(buf []byte) error {
	for range batch {
		n, err := read(c.from, buf)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return nil
		case err != nil:
			return err
		}
		packet := buf[:n]
		if c.way == link.Down {
			fromLoopback(packet)
		}
		now := clock.Now()
		c.seen.add(c.way, now, packet, c.push(now, packet))
	}
	return nil
}

func (c *carrier) push(now int64, packet []byte) link.Verdict {
	flow := link.FlowOf(packet)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.machine.Push(now, packet, flow)
}

// counters are those of the machine, with what the far device refused.
func (c *carrier) counters() link.Counters {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.machine.Counters()
	n.Overrun.Packets = c.refused
	return n
}

// lateness adds that of this direction.
func (c *carrier) lateness(to *hist.Hist) {
	c.mu.Lock()
	defer c.mu.Unlock()
	to.Merge(c.late)
}
