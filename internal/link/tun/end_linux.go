package tun

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/mqlab/mqlab/internal/link/space"
)

// queueLength is how many packets a TUN device holds for us: enough for the time that a thread may be kept from running.
const queueLength = 10_000

// end is one of the two ends of the link: a namespace, and the TUN device by which it is left.
type end struct {
	*space.Space
	tun    *os.File        // the device, until somebody else has it
	handle *netlink.Handle // in the namespace
	index  int             // of the device
}

// layout says what addresses an end has.
type layout struct {
	address string   // of the device, with its network
	peers   []string // networks behind the link
	anyIP   string   // a network whose every address is local; empty = none
	lo      string   // the network of the loopback interface
}

var (
	deviceLayout = layout{address: "198.18.0.1/16", peers: []string{"198.19.0.0/16"}, anyIP: "198.18.0.0/16", lo: "127.0.0.1/8"}
	brokerLayout = layout{address: "198.19.0.1/16", peers: []string{"198.18.0.0/16", "127.18.0.0/16"}, lo: "127.0.0.1/16"}
)

// newEnd makes a namespace and its way out.
func newEnd(l layout) (e *end, err error) {
	n, err := space.New()
	if err != nil {
		return nil, err
	}
	e = &end{Space: n}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.close())
		}
	}()
	return e, e.Do(func() error {
		if e.tun, err = openTUN(); err != nil {
			return err
		}
		if e.handle, err = netlink.NewHandle(unix.NETLINK_ROUTE); err != nil {
			return fmt.Errorf("netlink: %w", err)
		}
		if err := settle(); err != nil {
			return err
		}
		return e.arrange(l)
	})
}

func (e *end) close() error {
	if e.handle != nil {
		e.handle.Close()
	}
	return errors.Join(e.release(), e.Space.Close())
}

// release closes our descriptor of the device.
func (e *end) release() (err error) {
	if e.tun != nil {
		err = e.tun.Close()
	}
	e.tun = nil
	return err
}

// device is the name of the TUN device in each namespace.
const device = "link0"

// openTUN makes a TUN device in the namespace of the calling thread. Without the flag for offload headers the kernel cuts what it
// sends into segments itself, so that each read is one packet.
func openTUN() (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("/dev/net/tun: %w%s", err, access(err))
	}
	request, err := unix.NewIfreq(device)
	if err == nil {
		request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a TUN device: %w%s", err, space.Hint(err)), unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), device), nil
}

// access says what to do about a device that may not be opened.
func access(err error) string {
	switch {
	case errors.Is(err, unix.EACCES):
		return "; it takes root, or chmod 666 /dev/net/tun by root, as most systems have it"
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENODEV):
		return "; the kernel's module tun is not there"
	}
	return ""
}

// settle makes the namespace one of IPv4 whose connections know nothing of each other.
func settle() error {
	for _, s := range []struct{ name, value string }{
		{"net/ipv6/conf/all/disable_ipv6", "1"},
		{"net/ipv6/conf/default/disable_ipv6", "1"},
		{"net/ipv4/tcp_no_metrics_save", "1"},
		{"net/ipv4/ip_local_port_range", "10000 65000"},
		{"net/ipv4/conf/all/rp_filter", "0"},
		{"net/ipv4/conf/" + device + "/rp_filter", "0"},
		{"net/ipv4/conf/" + device + "/route_localnet", "1"},
	} {
		if err := space.Set(s.name, s.value); err != nil && !(errors.Is(err, unix.ENOENT) && s.name[:8] == "net/ipv6") {
			return fmt.Errorf("setting %s: %w", s.name, err)
		}
	}
	return nil
}

// arrange sets addresses and routes.
func (e *end) arrange(l layout) error {
	h := e.handle
	lo, err := h.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("lo: %w", err)
	}
	tun, err := h.LinkByName(device)
	if err != nil {
		return fmt.Errorf("%s: %w", device, err)
	}
	e.index = tun.Attrs().Index
	if err := errors.Join(h.LinkSetTxQLen(tun, queueLength), h.LinkSetMTU(tun, MTU), e.loopback(lo, l.lo)); err != nil {
		return err
	}
	if err := e.address(tun, l.address); err != nil {
		return err
	}
	if err := h.LinkSetUp(tun); err != nil {
		return fmt.Errorf("bring %s up: %w", device, err)
	}
	for _, peer := range l.peers {
		if err := e.route(netlink.Route{LinkIndex: e.index, Dst: network(peer), Scope: netlink.SCOPE_LINK}); err != nil {
			return err
		}
	}
	if l.anyIP == "" {
		return nil
	}
	return e.route(netlink.Route{
		LinkIndex: lo.Attrs().Index, Dst: network(l.anyIP), Type: unix.RTN_LOCAL, Table: unix.RT_TABLE_LOCAL, Scope: netlink.SCOPE_HOST,
	})
}

// loopback brings the loopback interface up with an address of a network, instead of the one it gets by itself.
func (e *end) loopback(lo netlink.Link, address string) error {
	if err := e.handle.LinkSetUp(lo); err != nil {
		return fmt.Errorf("bring lo up: %w", err)
	}
	old, err := e.handle.AddrList(lo, unix.AF_INET)
	if err != nil {
		return fmt.Errorf("addresses of lo: %w", err)
	}
	for _, a := range old {
		if err := e.handle.AddrDel(lo, &a); err != nil {
			return fmt.Errorf("remove %s from lo: %w", a.IPNet, err)
		}
	}
	return e.address(lo, address)
}

func (e *end) address(to netlink.Link, address string) error {
	prefix := netip.MustParsePrefix(address)
	a := &netlink.Addr{IPNet: &net.IPNet{IP: prefix.Addr().AsSlice(), Mask: net.CIDRMask(prefix.Bits(), 32)}}
	if err := e.handle.AddrAdd(to, a); err != nil {
		return fmt.Errorf("address %s: %w", address, err)
	}
	return nil
}

func (e *end) route(r netlink.Route) error {
	if err := e.handle.RouteAdd(&r); err != nil {
		return fmt.Errorf("route to %s: %w", r.Dst, err)
	}
	return nil
}

func network(prefix string) *net.IPNet {
	p := netip.MustParsePrefix(prefix)
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), 32)}
}

// dropped returns how many packets the device has thrown away because nobody fetched them.
func (e *end) dropped() (uint64, error) {
	l, err := e.handle.LinkByIndex(e.index)
	if err != nil {
		return 0, fmt.Errorf("counters of %s: %w", device, err)
	}
	return l.Attrs().Statistics.TxDropped, nil
}
