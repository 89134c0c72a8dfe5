package tun

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mqlab/mqlab/internal/hist"
	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/netns"
)

// Network is a link between two network namespaces. It is safe for concurrent use.
type Network struct {
	device, broker *end
	up, down       *carrier
	observer       atomic.Pointer[link.Observer]
	places         [2]*place
	facts          link.Facts
	processors     int // that the runtime used before
	close          func() error
}

// spare is how many processors more the Go runtime may use than there are: a thread that comes back from waiting for a packet
// needs one, and must not queue for it behind what else this program does.
const spare = 4

// Open makes the namespaces and begins to carry packets. The network must be closed.
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
	n.processors = runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(n.processors + spare)
	if n.up, err = newCarrier(link.Up, n.device, n.broker, link.New(cfg.Profile.Up, cfg.Seed), &n.observer); err != nil {
		return err
	}
	if n.down, err = newCarrier(link.Down, n.broker, n.device, link.New(cfg.Profile.Down, ^cfg.Seed), &n.observer); err != nil {
		return err
	}
	n.facts.Scheduler = n.up.scheduler
	n.because(n.up.why)
	n.places = [2]*place{{namespace: n.device.namespace, ofDevices: true}, {namespace: n.broker.namespace}}
	return nil
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
	used, why, err := n.device.congestion(want)
	if err != nil {
		return err
	}
	n.because(why)
	other, _, err := n.broker.congestion(used)
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

// Device is where clients live.
func (n *Network) Device() netns.Place { return n.places[0] }

// Broker is where brokers live.
func (n *Network) Broker() netns.Place { return n.places[1] }

// Change sets other properties for packets offered from now on.
func (n *Network) Change(up, down link.Params) error {
	if err := (link.Profile{Name: "in use", Up: up, Down: down}).Validate(); err != nil {
		return err
	}
	return errors.Join(
		n.up.do(func(now int64, m *link.Machine) error { m.Change(now, up); return nil }),
		n.down.do(func(now int64, m *link.Machine) error { m.Change(now, down); return nil }),
	)
}

// Down begins or ends a silent outage of both directions; what is in flight as it begins is lost.
func (n *Network) Down(down bool) error {
	return errors.Join(n.DownWay(link.Up, down), n.DownWay(link.Down, down))
}

// DownWay begins or ends an outage of one direction.
func (n *Network) DownWay(way link.Direction, down bool) error {
	return n.carrier(way).do(func(now int64, m *link.Machine) error { m.SetDown(now, down); return nil })
}

// Schedule sets silent outages of both directions, counted from now; see link.Machine.
func (n *Network) Schedule(outages []link.Outage) error {
	schedule := func(now int64, m *link.Machine) error { return m.Schedule(now, outages) }
	return errors.Join(n.up.do(schedule), n.down.do(schedule))
}

func (n *Network) carrier(way link.Direction) *carrier {
	if way == link.Up {
		return n.up
	}
	return n.down
}

// Counters returns what became of the packets of both directions so far. How many bytes an overrun had is not known.
func (n *Network) Counters() (up, down link.Counters) {
	return n.up.counters(n.device), n.down.counters(n.broker)
}

func (c *carrier) counters(from *end) link.Counters {
	c.mu.Lock()
	defer c.mu.Unlock()
	counters := c.machine.Counters()
	counters.Overrun.Packets = c.refused
	if dropped, err := from.dropped(); err == nil { // it fails only when the device is gone, and then there is no more
		counters.Overrun.Packets += dropped
	}
	return counters
}

// Packets sets who is told of each packet that is offered, its monotonic time and size; nil = nobody. It is Observe with less.
func (n *Network) Packets(seen func(d link.Direction, t int64, bytes int)) {
	if seen == nil {
		n.Observe(nil)
		return
	}
	n.Observe(func(way link.Direction, at int64, packet []byte, _ link.Verdict) { seen(way, at, len(packet)) })
}

// Observe sets who is told of each packet, instead of who was before; nil = nobody.
func (n *Network) Observe(o link.Observer) {
	if o == nil {
		n.observer.Store(nil)
		return
	}
	n.observer.Store(&o)
}

// Facts returns what is known about the network, its lateness so far included.
func (n *Network) Facts() link.Facts {
	f := n.facts
	all := hist.New()
	for _, c := range []*carrier{n.up, n.down} {
		c.mu.Lock()
		all.Merge(c.late)
		c.mu.Unlock()
	}
	if all.Count() > 0 {
		f.Late = link.Lateness{
			Packets: all.Count(), P50: time.Duration(all.Quantile(0.5)), P99: time.Duration(all.Quantile(0.99)), Max: time.Duration(all.Max()),
		}
	}
	return f
}

// Close ends the network: connections in it hang, its namespaces are gone when the last program in them has ended.
func (n *Network) Close() error { return n.close() }

func (n *Network) shut() error {
	var errs []error
	for _, c := range []*carrier{n.up, n.down} {
		if c != nil {
			errs = append(errs, c.stop())
		}
	}
	for _, e := range []*end{n.device, n.broker} {
		if e != nil {
			errs = append(errs, e.close())
		}
	}
	if n.processors > 0 {
		runtime.GOMAXPROCS(n.processors)
	}
	return errors.Join(errs...)
}
