package tun

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/hist"
	"github.com/mqlab/mqlab/internal/link"
)

const (
	// batch is how many packets are taken before those that are due are looked after again.
	batch = 32
	// priority is that of our threads among those of the real-time class: the lowest will do, ordinary threads come after it.
	priority = 1
)

// carrier takes the packets of one direction from one end to the other.
type carrier struct {
	way      link.Direction
	from, to int // descriptors of the TUN devices
	wake     int // an eventfd: something has changed
	observer *atomic.Pointer[link.Observer]

	mu      sync.Mutex
	machine *link.Machine
	late    *hist.Hist
	refused uint64 // packets that the far device did not take

	stopping  atomic.Bool
	ended     chan error
	scheduler string
	why       string // the scheduler is not what it could be
}

func newCarrier(way link.Direction, from, to *end, m *link.Machine, observer *atomic.Pointer[link.Observer]) (*carrier, error) {
	wake, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	c := &carrier{
		way: way, from: from.tun, to: to.tun, wake: wake, observer: observer,
		machine: m, late: hist.New(), ended: make(chan error, 1),
	}
	ready := make(chan struct{})
	go func() {
		runtime.LockOSThread() // not unlocked: the thread has a class and a slack of its own
		c.promote()
		close(ready)
		c.ended <- c.run()
	}()
	<-ready
	return c, nil
}

// promote gives the calling thread exact timers, and precedence where that is allowed.
func (c *carrier) promote() {
	c.scheduler = "other"
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // lateness tells whether it helped
	err := unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: priority}, 0)
	if err != nil {
		c.why = fmt.Sprintf("SCHED_FIFO is refused (%v): packets may be late when this machine is busy", err)
		return
	}
	c.scheduler = "fifo"
}

// stop ends the carrier and returns the error that ended it before, if any.
func (c *carrier) stop() error {
	c.stopping.Store(true)
	return errors.Join(c.poke(), <-c.ended, unix.Close(c.wake))
}

// poke makes the thread look at the machine again.
func (c *carrier) poke() error {
	_, err := unix.Write(c.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	if errors.Is(err, unix.EAGAIN) {
		return nil // it has been poked already
	}
	return err
}

// run carries packets until it is stopped.
func (c *carrier) run() error {
	fds := []unix.PollFd{{Fd: int32(c.from), Events: unix.POLLIN}, {Fd: int32(c.wake), Events: unix.POLLIN}}
	buf := make([]byte, 2*MTU)
	for !c.stopping.Load() {
		timeout := c.deliver()
		fds[0].Revents, fds[1].Revents = 0, 0
		n, err := unix.Ppoll(fds, timeout, nil)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("link %s: poll: %w", c.way, err)
		}
		if n > 0 && fds[1].Revents != 0 {
			_, _ = unix.Read(c.wake, buf[:8]) // resets it; that it was set is all there is to know
		}
		if n <= 0 || fds[0].Revents == 0 {
			continue
		}
		if err := c.accept(buf); err != nil {
			return fmt.Errorf("link %s: read: %w", c.way, err)
		}
	}
	return nil
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
		if _, err := unix.Write(c.to, packet); err != nil {
			c.refused++
			continue
		}
		c.late.Record(now - at)
	}
	return &unix.Timespec{}
}

// accept takes the packets that have come, a batch of them at most. Within the link they have the addresses that devices see.
func (c *carrier) accept(buf []byte) error {
	observe := c.observer.Load()
	for range batch {
		n, err := unix.Read(c.from, buf)
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
		verdict := c.push(now, packet)
		if observe != nil {
			(*observe)(c.way, now, packet, verdict)
		}
	}
	return nil
}

func (c *carrier) push(now int64, packet []byte) link.Verdict {
	flow := link.FlowOf(packet)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.machine.Push(now, packet, flow)
}

// do changes something about the machine and wakes the thread.
func (c *carrier) do(f func(now int64, m *link.Machine) error) error {
	c.mu.Lock()
	err := f(clock.Now(), c.machine)
	c.mu.Unlock()
	return errors.Join(err, c.poke())
}
