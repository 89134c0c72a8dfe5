// Package netstack is a link between two TCP/IP stacks in this process (gVisor's): one for all devices, one for all brokers. It needs
// no privilege. Clients dial through Device; brokers live on this host, and the stack at their end of the link connects to them.
//
// What it is not: the TCP of the kernel. It retransmits more than Linux does (measured: 1.4 to 1.6 segments for each lost one) and its congestion control is reno, so
// bytes on the wire are its own; and brokers see connections from this host, so their own TCP settings never meet the link.
package netstack

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/netns"
)

// Network is an open link.
type Network struct {
	hosts          *hosts
	device, broker *stack.Stack
	pipes          [2]*pipe // by link.Direction
	places         *devices
	forward        *forwarder
	facts          link.Facts
	cancel         context.CancelFunc
	once           sync.Once
}

// Open makes a link as c says. It is to be closed.
func Open(_ context.Context, c link.Config) (*Network, error) {
	if err := checkCongestion(c.CongestionControl); err != nil {
		return nil, err
	}
	n := &Network{hosts: newHosts()}
	for d, p := range []link.Params{c.Profile.Up, c.Profile.Down} {
		if err := p.Validate(); err != nil {
			return nil, fmt.Errorf("%s: %w", link.Direction(d), err)
		}
		pipe, err := newPipe(link.Direction(d), p, c.SeedOf(link.Direction(d)))
		if err != nil {
			n.closePipes()
			return nil, err
		}
		n.pipes[d] = pipe
	}
	if err := n.connect(bufferBytes(c.Profile)); err != nil {
		n.closePipes()
		return nil, err
	}
	return n, nil
}

// connect makes the two stacks and puts the pipes between them.
func (n *Network) connect(buffer int) (err error) {
	near, far := newEndpoint(n.pipes[link.Up].send), newEndpoint(n.pipes[link.Down].send)
	if n.device, err = newStack(near, deviceNet.Addr().Next(), buffer); err != nil {
		return err
	}
	if n.broker, err = newStack(far, brokerNet.Addr().Next(), buffer); err != nil {
		n.device.Destroy()
		return err
	}
	n.facts = link.Facts{Backend: "netstack", Scheduler: "other", Why: []string{
		"the TCP is gVisor's, which retransmits more than the kernel's: compare bytes on the wire only with others of this backend",
	}}
	if n.facts.CongestionControl, err = congestion(n.device); err != nil {
		n.device.Destroy()
		n.broker.Destroy()
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	n.cancel = cancel
	n.places = &devices{network: n, last: deviceNet.Addr().Next()}
	n.forward = &forwarder{stack: n.broker, hosts: n.hosts, brokers: netns.Host, ctx: ctx, open: map[net.Conn]struct{}{}}
	n.forward.attach()
	n.pipes[link.Up].run(far)
	n.pipes[link.Down].run(near)
	return nil
}

// Bounds of the buffers of a connection.
const (
	leastBuffer = 64 << 10
	mostBuffer  = 4 << 20 // as Linux has it
)

// bufferBytes is the size of a connection's buffers: twice what is on its way at most, so that they are no limit, and no more, so
// that a message that was written has left soon.
func bufferBytes(p link.Profile) int {
	if p.Up.Rate == 0 || p.Down.Rate == 0 {
		return mostBuffer
	}
	turn := p.Up.Delay + p.Down.Delay
	flight := 2 * float64(max(p.Up.Rate, p.Down.Rate)) / 8 * turn.Seconds()
	return int(min(max(flight, leastBuffer), mostBuffer))
}

// Device is where clients live.
func (n *Network) Device() netns.Place { return n.places }

// Broker is where brokers live: this host.
func (*Network) Broker() netns.Place { return netns.Host }

// Change sets the properties of both directions from now on.
func (n *Network) Change(up, down link.Params) error {
	for d, p := range []link.Params{up, down} {
		if err := p.Validate(); err != nil {
			return fmt.Errorf("%s: %w", link.Direction(d), err)
		}
	}
	n.pipes[link.Up].do(func(now int64, m *link.Machine) { m.Change(now, up) })
	n.pipes[link.Down].do(func(now int64, m *link.Machine) { m.Change(now, down) })
	return nil
}

// Down begins or ends an outage in which all packets vanish, those in flight included.
func (n *Network) Down(down bool) error {
	for _, p := range n.pipes {
		p.do(func(now int64, m *link.Machine) { m.SetDown(now, down) })
	}
	return nil
}

// Counters say what became of all packets so far.
func (n *Network) Counters() (up, down link.Counters) {
	return n.pipes[link.Up].counters(), n.pipes[link.Down].counters()
}

// Observe lets seen look at each packet that is offered; nil ends that.
func (n *Network) Observe(seen link.Observer) {
	for _, p := range n.pipes {
		p.mu.Lock()
		p.seen = seen
		p.mu.Unlock()
	}
}

// Retransmitted is how many segments the stacks have sent again so far.
func (n *Network) Retransmitted() (up, down uint64) {
	return n.device.Stats().TCP.Retransmits.Value(), n.broker.Stats().TCP.Retransmits.Value()
}

// Sent is what the stacks have sent so far by their own account, at the network layer.
func (n *Network) Sent() (up, down link.Count) {
	count := func(s *stack.Stack) link.Count {
		sent := s.NICInfo()[card].Stats.Tx
		return link.Count{Packets: sent.Packets.Value(), Bytes: sent.Bytes.Value()}
	}
	return count(n.device), count(n.broker)
}

// Facts are what is known about this link's emulation.
func (n *Network) Facts() link.Facts {
	f := n.facts
	late := n.pipes[link.Up].lateness()
	late.Merge(n.pipes[link.Down].lateness())
	if f.Late.Packets = late.Count(); f.Late.Packets > 0 {
		f.Late.P50, f.Late.P99 = time.Duration(late.Quantile(0.5)), time.Duration(late.Quantile(0.99))
		f.Late.Max = time.Duration(late.Quantile(1))
	}
	return f
}

// Close ends the link and all connections over it.
func (n *Network) Close() error {
	n.once.Do(func() {
		n.cancel()
		n.device.Close()
		n.broker.Close()
		n.forward.close()
		n.closePipes()
		n.device.Wait()
		n.broker.Wait()
	})
	return nil
}

func (n *Network) closePipes() {
	for _, p := range n.pipes {
		if p != nil {
			p.close()
		}
	}
}
