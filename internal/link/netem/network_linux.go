package netem

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/link/space"
	"github.com/mqlab/mqlab/internal/netns"
)

// Network is a link of the kernel's. It is safe for concurrent use.
type Network struct {
	mu     sync.Mutex // of what is set
	nodes  []*node
	set    [2]direction
	places [2]*space.Place
	facts  link.Facts
	close  func() error
}

// Open makes the namespaces and sets the disciplines. The network must be closed.
func Open(_ context.Context, cfg link.Config) (*Network, error) {
	if err := cfg.Profile.Validate(); err != nil {
		return nil, err
	}
	n := &Network{facts: link.Facts{Backend: Name, Why: []string{"the kernel chooses what is lost: two runs never lose the same packets"}}}
	n.close = sync.OnceValue(n.shut)
	if err := n.open(cfg); err != nil {
		return nil, errors.Join(fmt.Errorf("backend netem: %w", err), n.close())
	}
	return n, nil
}

func (n *Network) open(cfg link.Config) error {
	for _, way := range []link.Direction{link.Up, link.Down} {
		if _, err := settings(way, cfg.Profile.Params(way)); err != nil {
			return err
		}
	}
	for range row {
		made, err := newNode()
		if err != nil {
			return err
		}
		n.nodes = append(n.nodes, made)
	}
	for near := range len(row) - 1 {
		if err := join(n.nodes, near); err != nil {
			return err
		}
	}
	devices, brokers := n.nodes[0], n.nodes[len(row)-1]
	if err := ends(devices, brokers); err != nil {
		return err
	}
	used, why, err := devices.Congestion(cfg.CongestionControl)
	if err != nil {
		return err
	}
	if _, _, err := brokers.Congestion(used); err != nil {
		return err
	}
	n.facts.CongestionControl = used
	if why != "" {
		n.facts.Why = append(n.facts.Why, why)
	}
	var connections atomic.Uint32
	next := func() netip.Addr {
		i := connections.Add(1)%65_000 + 1
		return netip.AddrFrom4([4]byte{127, 18, byte(i >> 8), byte(i)})
	}
	n.places = [2]*space.Place{{Space: devices.Space, Source: next}, {Space: brokers.Space}}
	return n.Change(cfg.Profile.Up, cfg.Profile.Down)
}

// Supported says why such a network with losses and delays cannot be had here, by trying; nil = it can.
func Supported() error {
	n, err := newNode()
	if err != nil {
		return fmt.Errorf("backend netem: %w", err)
	}
	lo, err := n.loopback("")
	if err == nil {
		err = n.replace(lo, &emulation{Limit: 1, Delay: 1})
	}
	if err = errors.Join(err, n.close()); err != nil {
		return fmt.Errorf("backend netem: %w", err)
	}
	return nil
}

// Device is where clients live. Each connection comes from the next address of 127.18.0.0/16; 127.0.0.1 is that of brokers.
func (n *Network) Device() netns.Place { return n.places[0] }

// Broker is where brokers live.
func (n *Network) Broker() netns.Place { return n.places[1] }

// Change sets other properties. What waits for the old rate is lost where the discipline changes its kind.
func (n *Network) Change(up, down link.Params) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for way, p := range []link.Params{link.Up: up, link.Down: down} {
		way := link.Direction(way)
		if err := p.Validate(); err != nil {
			return fmt.Errorf("%s: %w", way, err)
		}
		d, err := settings(way, p)
		if err != nil {
			return err
		}
		shape, emulate := hops(way)
		if err := n.at(shape, d.shape != nil, func(on *node, l netlink.Link) error { return on.hold(l, d.shape) }); err != nil {
			return err
		}
		if err := n.at(emulate, d.emulate != nil, func(on *node, l netlink.Link) error { return on.replace(l, d.emulate) }); err != nil {
			return err
		}
		n.set[way] = d
	}
	return nil
}

// at sets the discipline of a hop, or the kernel's default one.
func (n *Network) at(h hop, some bool, set func(*node, netlink.Link) error) error {
	on := n.node(h.space)
	l, err := on.handle.LinkByName(h.device)
	if err != nil {
		return fmt.Errorf("device to %s: %w", h.device, err)
	}
	if some {
		return set(on, l)
	}
	root := &netlink.GenericQdisc{QdiscAttrs: netlink.QdiscAttrs{LinkIndex: l.Attrs().Index, Parent: netlink.HANDLE_ROOT}}
	if err := on.handle.QdiscDel(root); err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("remove the discipline of the device to %s: %w", h.device, err)
	}
	return nil
}

func (n *Network) node(name string) *node {
	for i, of := range row {
		if of == name {
			return n.nodes[i]
		}
	}
	return nil
}

func root(l netlink.Link) netlink.QdiscAttrs {
	return netlink.QdiscAttrs{LinkIndex: l.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT}
}

// hold sets tbf.
func (n *node) hold(l netlink.Link, s *shaping) error {
	q := &netlink.Tbf{QdiscAttrs: root(l), Rate: s.BytesPerSecond, Limit: uint32(s.Limit), Buffer: netlink.Xmittime(s.BytesPerSecond, uint32(s.Burst))}
	return explain("tbf", n.handle.QdiscReplace(q))
}

// replace sets netem.
func (n *node) replace(l netlink.Link, e *emulation) error {
	return explain("netem", n.handle.QdiscReplace(netlink.NewNetem(root(l), netlink.NetemQdiscAttrs{
		Latency: e.Delay, Jitter: e.Jitter, DelayCorr: e.DelayCorrelation, Loss: e.Loss, LossCorr: e.LossCorrelation,
		Duplicate: e.Duplicate, CorruptProb: e.Corrupt, Limit: e.Limit, Rate64: e.BytesPerSecond,
	})))
}

// explain says what a refusal of a discipline means: the kernel has looked for the module itself before it says that it is not there.
func explain(discipline string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.ENOENT):
		return fmt.Errorf("this kernel has no sch_%s; use backend tun", discipline)
	}
	return fmt.Errorf("discipline %s: %w%s", discipline, err, space.Hint(err))
}

// Down begins or ends a silent outage of both directions: packets on their way to the middle of the row vanish. Those beyond arrive.
func (n *Network) Down(down bool) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	kind := unix.RTN_UNICAST
	if down {
		kind = unix.RTN_BLACKHOLE
	}
	for in, networks := range map[int][]string{1: toBrokers, 2: toDevices} {
		to := in + 1
		if in == 2 {
			to = 1
		}
		l, err := n.nodes[in].handle.LinkByName(row[to])
		if err != nil {
			return fmt.Errorf("device to %s: %w", row[to], err)
		}
		for _, network := range networks {
			r := netlink.Route{Dst: prefix(network), Type: kind}
			if !down {
				r.LinkIndex, r.Gw = l.Attrs().Index, between(to, in).AsSlice()
			}
			if err := n.nodes[in].route(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// Counters returns what the disciplines have counted since they were set, in packets; bytes of what they dropped they do not know, nor what
// an outage took. Duplicates are among what was carried.
func (n *Network) Counters() (up, down link.Counters) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.counters(link.Up), n.counters(link.Down)
}

func (n *Network) counters(way link.Direction) (c link.Counters) {
	shape, emulate := hops(way)
	if n.set[way].shape != nil {
		s := n.statistics(shape)
		c.QueueDropped.Packets, c.InFlight.Packets, c.Carried = uint64(s.Queue.Drops), uint64(s.Queue.Qlen), sent(s)
	}
	if n.set[way].emulate != nil {
		s := n.statistics(emulate)
		c.Lost.Packets, c.Carried = uint64(s.Queue.Drops), sent(s)
		c.InFlight.Packets += uint64(s.Queue.Qlen)
	}
	c.Offered.Packets = c.Carried.Packets + c.Lost.Packets + c.QueueDropped.Packets + c.InFlight.Packets
	return c
}

func sent(s *netlink.QdiscStatistics) link.Count {
	packets := uint64(s.Basic.Packets)
	return link.Count{Packets: packets, Bytes: s.Basic.Bytes - packets*etherBytes}
}

// statistics are those of a hop's discipline; none if it is gone.
func (n *Network) statistics(h hop) *netlink.QdiscStatistics {
	none := &netlink.QdiscStatistics{Basic: &netlink.GnetStatsBasic{}, Queue: &netlink.GnetStatsQueue{}}
	on := n.node(h.space)
	l, err := on.handle.LinkByName(h.device)
	if err != nil {
		return none
	}
	all, err := on.handle.QdiscList(l)
	if err != nil {
		return none
	}
	for _, q := range all {
		if a := q.Attrs(); a.Parent == netlink.HANDLE_ROOT && a.Statistics != nil && a.Statistics.Basic != nil && a.Statistics.Queue != nil {
			return a.Statistics
		}
	}
	return none
}

// Facts returns what is known about the network. The kernel does not say how late it is.
func (n *Network) Facts() link.Facts { return n.facts }

// Close ends the network; its namespaces are gone when the last program in them has ended.
func (n *Network) Close() error { return n.close() }

func (n *Network) shut() error {
	var errs []error
	for _, of := range n.nodes {
		errs = append(errs, of.close())
	}
	return errors.Join(errs...)
}
