package netem

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/mqlab/mqlab/internal/link/space"
)

// node is a namespace of the row.
type node struct {
	*space.Space
	handle *netlink.Handle
}

// The namespaces, from the devices on. A device has the name of the namespace that it leads to.
var row = []string{"devices", "near", "far", "brokers"}

// toBrokers and toDevices are the networks at the ends: their own addresses, and what devices take for those of their own host.
var (
	toBrokers = []string{"198.19.0.0/16", "127.0.0.1/32"}
	toDevices = []string{"198.18.0.0/16", "127.18.0.0/16"}
)

func newNode() (n *node, err error) {
	s, err := space.New()
	if err != nil {
		return nil, err
	}
	n = &node{Space: s}
	err = n.Do(func() error {
		if n.handle, err = netlink.NewHandle(unix.NETLINK_ROUTE); err != nil {
			return fmt.Errorf("netlink: %w", err)
		}
		var errs []error
		for _, set := range [][2]string{
			{"net/ipv4/ip_forward", "1"},
			{"net/ipv4/tcp_no_metrics_save", "1"},
			{"net/ipv4/ip_local_port_range", "10000 65000"},
			{"net/ipv4/conf/all/rp_filter", "0"},
			{"net/ipv4/conf/default/rp_filter", "0"},
			{"net/ipv4/conf/default/route_localnet", "1"},
			{"net/ipv4/conf/all/send_redirects", "0"},
			{"net/ipv4/conf/default/send_redirects", "0"},
		} {
			if err := space.Set(set[0], set[1]); err != nil {
				errs = append(errs, fmt.Errorf("setting %s: %w", set[0], err))
			}
		}
		if err := space.Set("net/ipv6/conf/default/disable_ipv6", "1"); err != nil && !errors.Is(err, unix.ENOENT) {
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	})
	if err != nil {
		return nil, errors.Join(err, n.close())
	}
	return n, nil
}

func (n *node) close() error {
	if n.handle != nil {
		n.handle.Close()
	}
	return n.Space.Close()
}

// hardware is the address of Ethernet of the device in one namespace of the row that leads to another.
func hardware(in, to int) net.HardwareAddr { return net.HardwareAddr{2, 0, 0, 0, byte(in), byte(to)} }

// between is the address of IP of that device.
func between(in, to int) netip.Addr {
	return netip.AddrFrom4([4]byte{198, 20, byte(min(in, to)), byte(1 + in)})
}

// join makes the pair of devices between two neighbours, each of which knows the other, so that nothing has to be asked for over the link.
func join(nodes []*node, near int) error {
	far := near + 1
	pair := netlink.NewVeth(netlink.LinkAttrs{Name: row[far], MTU: mtu, HardwareAddr: hardware(near, far), TxQLen: 1000})
	pair.PeerName, pair.PeerHardwareAddr, pair.PeerMTU = row[near], hardware(far, near), mtu
	pair.PeerNamespace = netlink.NsFd(nodes[far].FD())
	if err := nodes[near].handle.LinkAdd(pair); err != nil {
		return fmt.Errorf("make the devices between %s and %s: %w", row[near], row[far], err)
	}
	return errors.Join(nodes[near].lead(near, far), nodes[far].lead(far, near))
}

// lead brings the device of one namespace to another up.
func (n *node) lead(in, to int) error {
	l, err := n.handle.LinkByName(row[to])
	if err != nil {
		return fmt.Errorf("device to %s: %w", row[to], err)
	}
	// Whole packets, as of a wire: none that are cut or put together later.
	if err := n.Do(func() error { return wholePackets(row[to]) }); err != nil {
		return fmt.Errorf("device to %s: %w", row[to], err)
	}
	address := &netlink.Addr{IPNet: &net.IPNet{IP: between(in, to).AsSlice(), Mask: net.CIDRMask(24, 32)}}
	neighbour := &netlink.Neigh{
		LinkIndex: l.Attrs().Index, Family: unix.AF_INET, State: netlink.NUD_PERMANENT, IP: between(to, in).AsSlice(), HardwareAddr: hardware(to, in),
	}
	if err := errors.Join(n.handle.AddrAdd(l, address), n.handle.LinkSetUp(l), n.handle.NeighAdd(neighbour)); err != nil {
		return fmt.Errorf("device to %s: %w", row[to], err)
	}
	networks := toBrokers
	if to < in {
		networks = toDevices
	}
	for _, network := range networks {
		if err := n.route(netlink.Route{LinkIndex: l.Attrs().Index, Gw: between(to, in).AsSlice(), Dst: prefix(network)}); err != nil {
			return err
		}
	}
	return nil
}

func (n *node) route(r netlink.Route) error {
	if err := n.handle.RouteReplace(&r); err != nil {
		return fmt.Errorf("route to %s: %w", r.Dst, err)
	}
	return nil
}

func prefix(s string) *net.IPNet {
	p := netip.MustParsePrefix(s)
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), 32)}
}

// ends gives both ends their addresses: every one of their networks for devices, and the loopback interface for brokers, which leaves
// the rest of 127.0.0.0/8 to the link.
func ends(devices, brokers *node) error {
	lo, err := devices.loopback("")
	if err != nil {
		return err
	}
	for _, network := range toDevices {
		err := devices.route(netlink.Route{
			LinkIndex: lo.Attrs().Index, Dst: prefix(network), Type: unix.RTN_LOCAL, Table: unix.RT_TABLE_LOCAL, Scope: netlink.SCOPE_HOST,
		})
		if err != nil {
			return err
		}
	}
	if lo, err = brokers.loopback("127.0.0.1/16"); err != nil {
		return err
	}
	return brokers.address(lo, "198.19.0.1/32")
}

// loopback brings the loopback interface up with an address instead of the one that it gets by itself; empty = with none.
func (n *node) loopback(address string) (netlink.Link, error) {
	lo, err := n.handle.LinkByName("lo")
	if err != nil {
		return nil, fmt.Errorf("lo: %w", err)
	}
	if err := n.handle.LinkSetUp(lo); err != nil {
		return nil, fmt.Errorf("lo: %w", err)
	}
	old, err := n.handle.AddrList(lo, unix.AF_INET)
	if err != nil {
		return nil, fmt.Errorf("lo: %w", err)
	}
	for _, a := range old {
		if err := n.handle.AddrDel(lo, &a); err != nil {
			return nil, fmt.Errorf("lo: %w", err)
		}
	}
	if address == "" {
		return lo, nil
	}
	return lo, n.address(lo, address)
}

func (n *node) address(l netlink.Link, address string) error {
	p := netip.MustParsePrefix(address)
	a := &netlink.Addr{IPNet: &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), 32)}}
	if err := n.handle.AddrAdd(l, a); err != nil {
		return fmt.Errorf("address %s: %w", address, err)
	}
	return nil
}
