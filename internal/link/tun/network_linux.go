package tun

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/link/space"
	"github.com/mqlab/mqlab/internal/netns"
)

// Network is a link between two network namespaces. It is safe for concurrent use.
type Network struct {
	device, broker *end
	carrier        *remote
	places         [2]*space.Place
	facts          link.Facts
	close          func() error
}

// Open makes the namespaces and begins to carry packets. The network must be closed. The seeds of both directions follow from
// the one given.
func Open(_ context.Context, cfg link.Config) (*Network, error) {
	if err := cfg.Profile.Validate(); err != nil {
		return nil, err
	}
	n := &Network{facts: link.Facts{Backend: Name}}
	n.close = sync.OnceValue(n.shut)
	if err := n.open(cfg); err != nil {
		return nil, errors.Join(fmt.Errorf("backend tun: %w", err), n.close())
	}
	if cfg.Log != nil {
		for _, why := range n.facts.Why {
			cfg.Log(why)
		}
	}
	return n, nil
}

func (n *Network) open(cfg link.Config) (err error) {
	if n.device, err = newEnd(deviceLayout); err != nil {
		return err
	}
	if n.broker, err = newEnd(brokerLayout); err != nil {
		return err
	}
	if err := n.pin(cfg.CongestionControl); err != nil {
		return err
	}
	var first answer
	n.carrier, first, err = startCarrier(n.device.tun, n.broker.tun, task{cfg.Profile.Up, cfg.Profile.Down, cfg.Seed})
	if err != nil {
		return err
	}
	n.facts.Scheduler = first.Scheduler
	n.because(first.Why)
	var connections atomic.Uint32
	next := func() netip.Addr { return deviceAddr(int(connections.Add(1) - 1)) }
	n.places = [2]*space.Place{{Space: n.device.Space, Source: next, Loopback: Loopback}, {Space: n.broker.Space}}
	// The devices are the carrier's now: they are gone when it is.
	return errors.Join(n.device.release(), n.broker.release())
}

// Supported says why this process cannot have such a network here, by trying; nil = it can.
func Supported() error {
	e, err := newEnd(deviceLayout)
	if err != nil {
		return fmt.Errorf("backend tun: %w", err)
	}
	return e.close()
}

// pin sets the congestion control of both ends and sees that it is the same.
func (n *Network) pin(want string) error {
	used, why, err := n.device.Congestion(want)
	if err != nil {
		return err
	}
	n.because(why)
	other, _, err := n.broker.Congestion(used)
	if err != nil {
		return err
	}
	if other != used {
		return fmt.Errorf("congestion control is %s for devices and %s for brokers", used, other)
	}
	n.facts.CongestionControl = used
	return nil
}

func (n *Network) because(why string) {
	if why != "" && !slices.Contains(n.facts.Why, why) {
		n.facts.Why = append(n.facts.Why, why)
	}
}

// Device is where clients live. Each connection comes from the next device's address; 127.0.0.1 and localhost are those of the
// broker's namespace.
func (n *Network) Device() netns.Place { return n.places[0] }

// Broker is where brokers live.
func (n *Network) Broker() netns.Place { return n.places[1] }

// Change sets other properties for packets offered from now on.
func (n *Network) Change(up, down link.Params) error {
	p := link.Profile{Name: "in use", Up: up, Down: down}
	if err := p.Validate(); err != nil {
		return err
	}
	return n.ask(request{Change: &p})
}

// Down begins or ends a silent outage of both directions; what is in flight as it begins is lost.
func (n *Network) Down(down bool) error {
	return n.ask(request{Down: map[link.Direction]bool{link.Up: down, link.Down: down}})
}

// DownWay begins or ends an outage of one direction.
func (n *Network) DownWay(way link.Direction, down bool) error {
	return n.ask(request{Down: map[link.Direction]bool{way: down}})
}

// Schedule sets silent outages of both directions, counted from now; see link.Machine.
func (n *Network) Schedule(outages []link.Outage) error {
	return n.ask(request{Schedule: &outages})
}

func (n *Network) ask(q request) error {
	_, err := n.carrier.ask(q)
	return err
}

// Counters returns what became of the packets of both directions so far; nothing if the carrier is gone. How many bytes an
// overrun had is not known. What was seen before is told to observers before it returns.
func (n *Network) Counters() (up, down link.Counters) {
	a, err := n.carrier.ask(request{})
	if err != nil {
		return up, down // Close says why
	}
	for _, of := range []struct {
		c    *link.Counters
		from *end
	}{{&a.Up, n.device}, {&a.Down, n.broker}} {
		if dropped, err := of.from.dropped(); err == nil { // it fails only when the device is gone, and then there is no more
			of.c.Overrun.Packets += dropped
		}
	}
	return a.Up, a.Down
}

// Packets sets who is told of each packet that is offered, its monotonic time and size; nil = nobody. It is Observe with less.
func (n *Network) Packets(seen func(d link.Direction, t int64, bytes int)) {
	if seen == nil {
		n.Observe(nil)
		return
	}
	n.Observe(func(way link.Direction, at int64, size int, _ []byte, _ link.Verdict) { seen(way, at, size) })
}

// Observe sets who is told of each packet, instead of who was before; nil = nobody. The telling comes some milliseconds after.
func (n *Network) Observe(o link.Observer) {
	on := o != nil
	if on {
		n.carrier.observer.Store(&o)
	}
	_ = n.ask(request{Observe: &on}) // it fails only when there is nothing more to observe
	if !on {
		n.carrier.observer.Store(nil)
	}
}

// Facts returns what is known about the network, its lateness so far included.
func (n *Network) Facts() link.Facts {
	f := n.facts
	a, err := n.carrier.ask(request{})
	if err != nil {
		return f // Close says why
	}
	f.Scheduler = a.Scheduler
	if a.Why != "" && !slices.Contains(f.Why, a.Why) {
		f.Why = append(slices.Clone(f.Why), a.Why)
	}
	if a.Late.Count() > 0 {
		f.Late = link.Lateness{
			Packets: a.Late.Count(), P50: time.Duration(a.Late.Quantile(0.5)), P99: time.Duration(a.Late.Quantile(0.99)), Max: time.Duration(a.Late.Max()),
		}
	}
	return f
}

// Close ends the network: connections in it hang, its namespaces are gone when the last program in them has ended. The error
// tells if the carrier had ended before.
func (n *Network) Close() error { return n.close() }

func (n *Network) shut() error {
	var errs []error
	if n.carrier != nil {
		errs = append(errs, n.carrier.close())
	}
	for _, e := range []*end{n.device, n.broker} {
		if e != nil {
			errs = append(errs, e.close())
		}
	}
	return errors.Join(errs...)
}
