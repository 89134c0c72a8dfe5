// Package proxy is a link for byte streams: it delays them, holds them to a rate that all connections share, stalls and breaks them. It
// works on every system and needs nothing. It cannot lose packets, for it sees none: TCP repairs losses below it, and a stream
// with bytes missing is no weak network but a broken one. Options that need packets are therefore errors.
//
// A stream is carried in segments as TCP would have them, each with the 40 bytes of a TCP/IP header counted in, through one
// link.Machine per direction; connecting takes a round trip. Acknowledgements take none of the rate.
package proxy

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/link/alarm"
	"github.com/mqlab/mqlab/internal/link/splice"
	"github.com/mqlab/mqlab/internal/netns"
)

// Sizes of segments.
const (
	headerBytes  = 40 // of IPv4 and TCP without options (RFC 791, RFC 9293)
	segmentBytes = 1460
)

const (
	// windowBytes is what a connection may have on its way or unread in one direction; then its sender waits.
	windowBytes = 256 << 10
	// freeBytes is what all connections together may have on their way without a rate.
	freeBytes = 64 << 20
)

// Network is an open link.
type Network struct {
	brokers netns.Place
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
	epoch   int64 // the monotonic time at
	opened  time.Time

	mu      sync.Mutex
	changed *sync.Cond // something that a goroutine may wait for
	machine [2]*link.Machine
	limit   [2]uint64      // bytes on their way at most
	alarm   [2]alarm.Alarm // wakes the carrier
	streams map[uint32]*stream
	last    uint32 // stream
	stalled bool
	closed  bool
	forget  time.Duration // 0 = never
}

// Open makes a link as c says. It is to be closed.
func Open(_ context.Context, c link.Config) (*Network, error) {
	return open(c, netns.Host, clock.Now(), alarm.New)
}

// open makes a link to brokers in a place; its time is counted from epoch.
func open(c link.Config, brokers netns.Place, epoch int64, newAlarm func() (alarm.Alarm, error)) (*Network, error) {
	if c.CongestionControl != "" {
		return nil, errors.New("congestion control: backend proxy does not have TCP of its own; use backend tun or netstack")
	}
	n := &Network{brokers: brokers, epoch: epoch, opened: time.Now(), streams: map[uint32]*stream{}}
	n.changed = sync.NewCond(&n.mu)
	n.ctx, n.cancel = context.WithCancel(context.Background())
	for d, p := range []link.Params{c.Profile.Up, c.Profile.Down} {
		p, err := streamed(link.Direction(d), p)
		if err == nil {
			n.alarm[d], err = newAlarm()
		}
		if err != nil {
			n.cancel()
			n.closeAlarms()
			return nil, err
		}
		n.machine[d], n.limit[d] = link.New(inner(p), c.SeedOf(link.Direction(d))), onTheWay(p)
	}
	for _, d := range []link.Direction{link.Up, link.Down} {
		n.running.Go(func() { n.carry(d) })
	}
	return n, nil
}

func (n *Network) closeAlarms() {
	for _, a := range n.alarm {
		if a != nil {
			a.Close()
		}
	}
}

// streamed returns the params of the machine that carries a stream, or which option is none for streams.
func streamed(d link.Direction, p link.Params) (link.Params, error) {
	if err := p.Validate(); err != nil {
		return p, fmt.Errorf("%s: %w", d, err)
	}
	if err := link.RefusedByStreams(link.StreamProxy, d, p); err != nil {
		return p, err
	}
	p.Order = link.OrderFlow
	return p, nil
}

// onTheWay is how many bytes may be on their way at one time: what fits into the queue, and what is travelling. Unlike at a link of
// packets, what does not fit is not dropped: its sender waits.
func onTheWay(p link.Params) uint64 {
	if p.Rate == 0 {
		return freeBytes
	}
	travelling := float64(p.Rate) / 8 * (p.Delay + 3*p.Jitter).Seconds()
	return uint64(p.Queue()) + uint64(travelling)
}

// inner is the machine's view of p: its queue has always room, for senders wait before it.
func inner(p link.Params) link.Params {
	if p.Rate > 0 {
		p.QueueBytes = freeBytes
	}
	return p
}

// Device is where clients live: what they dial is reached over the link.
func (n *Network) Device() netns.Place { return devices{n} }

// Broker is where brokers live: this host.
func (n *Network) Broker() netns.Place { return n.brokers }

// Change sets the properties of both directions from now on.
func (n *Network) Change(up, down link.Params) error {
	up, err := streamed(link.Up, up)
	if err != nil {
		return err
	}
	if down, err = streamed(link.Down, down); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for d, p := range []link.Params{up, down} {
		n.machine[d].Change(n.now(), inner(p))
		n.limit[d] = onTheWay(p)
		n.wake(link.Direction(d))
	}
	n.changed.Broadcast()
	return nil
}

// Down begins or ends a stall: nothing moves, nobody is told, and nobody can connect. What was sent arrives when it is over, as TCP
// would have sent it again.
func (n *Network) Down(down bool) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stalled = down
	n.wake(link.Up)
	n.wake(link.Down)
	return nil
}

// Forget makes the link forget connections that were silent for this long, as a NAT does: nobody is told, and what either end
// sends from then on vanishes. 0 = it never does.
func (n *Network) Forget(after time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.forget = after
}

// The ways in which connections end.
const (
	Reset    link.OutageKind = "rst"       // both ends see a reset
	Finish   link.OutageKind = "fin"       // both ends see the end of the stream
	HalfOpen link.OutageKind = "half-open" // the broker sees a reset; the client is told nothing, and what it sends vanishes
)

// Break ends all connections there are now.
func (n *Network) Break(how link.OutageKind) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.streams {
		switch how {
		case Reset:
			s.reset = true
			s.end(true)
		case Finish:
			s.end(false)
		case HalfOpen:
			s.forgotten = true
			if s.far != nil {
				splice.Abort(s.far)
			}
		default:
			return fmt.Errorf("break %q: it can be %s, %s or %s", how, Reset, Finish, HalfOpen)
		}
	}
	n.changed.Broadcast()
	return nil
}

// Counters say what became of all segments so far. Nothing is ever lost or dropped.
func (n *Network) Counters() (up, down link.Counters) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.machine[link.Up].Counters(), n.machine[link.Down].Counters()
}

// Facts are what is known about this link's emulation.
func (*Network) Facts() link.Facts {
	return link.Facts{Backend: "proxy", Scheduler: "other", Why: []string{
		"it carries streams: no packet is lost, and TCP never meets the link",
	}}
}

// Close ends the link and all connections over it.
func (n *Network) Close() error {
	n.cancel()
	n.mu.Lock()
	n.closed = true
	for _, s := range n.streams {
		s.end(true)
	}
	n.changed.Broadcast()
	n.mu.Unlock()
	n.wake(link.Up)
	n.wake(link.Down)
	n.running.Wait()
	n.closeAlarms()
	return nil
}
