package netstack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"strconv"
	"sync"

	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
)

// Devices and brokers have the addresses of RFC 2544, which are for benchmarks and routed nowhere.
var (
	deviceNet = netip.MustParsePrefix("198.18.0.0/16")
	brokerNet = netip.MustParsePrefix("198.19.0.0/16")
)

// devices is where clients live: what they dial is reached over the link. Each connection has an address of its own, as of a device
// of its own, until there are more connections than addresses.
type devices struct {
	network *Network
	mu      sync.Mutex
	last    netip.Addr
}

// next returns the address of the next device.
func (d *devices) next() netip.Addr {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.last = d.last.Next(); !deviceNet.Contains(d.last) {
		d.last = deviceNet.Addr().Next()
	}
	return d.last
}

// Userland implements netns.Userland.
func (*devices) Userland() string { return "link backend netstack" }

// Dial implements netns.Place for tcp and udp.
func (d *devices) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	to, err := d.network.hosts.towards(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	from := d.next()
	switch network {
	case "tcp", "tcp4":
		return dialTCP(ctx, d.network.device, from, to)
	case "udp", "udp4":
		near, far := fullAddress(netip.AddrPortFrom(from, 0)), fullAddress(to)
		return gonet.DialUDP(d.network.device, &near, &far, ipv4.ProtocolNumber)
	}
	return nil, net.UnknownNetworkError(network)
}

// errNoListener is a limit of this backend: brokers are reached over the link, devices are not.
var errNoListener = errors.New("backend netstack: nothing can listen on the side of the devices; use backend tun")

// Listen implements netns.Place: it is an error always.
func (*devices) Listen(context.Context, string, string) (net.Listener, error) {
	return nil, errNoListener
}

// errNoProgram is a limit of this backend: the sockets of other programs are the kernel's.
var errNoProgram = errors.New("backend netstack: other programs cannot run behind the link; let them connect to mqlab link up, or use backend tun")

// Command implements netns.Place: starting the command is an error always.
func (*devices) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.Err = errNoProgram
	return c
}

// hosts gives each host of brokers an address on the link.
type hosts struct {
	mu     sync.Mutex
	byName map[string]netip.Addr
	byAddr map[netip.Addr]string
	last   netip.Addr
}

func newHosts() *hosts {
	return &hosts{byName: map[string]netip.Addr{}, byAddr: map[netip.Addr]string{}, last: brokerNet.Addr().Next()}
}

// towards returns where on the link addr is.
func (h *hosts) towards(ctx context.Context, network, addr string) (netip.AddrPort, error) {
	host, service, err := net.SplitHostPort(addr)
	if err != nil {
		return netip.AddrPort{}, err
	}
	port, err := net.DefaultResolver.LookupPort(ctx, network, service)
	if err != nil {
		return netip.AddrPort{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	at, ok := h.byName[host]
	if !ok {
		if at = h.last.Next(); !brokerNet.Contains(at) {
			return netip.AddrPort{}, fmt.Errorf("more than %d hosts behind one link", len(h.byName))
		}
		h.last, h.byName[host], h.byAddr[at] = at, at, host
	}
	return netip.AddrPortFrom(at, uint16(port)), nil
}

// real returns what was dialled as an address of the link; false = nobody has dialled it.
func (h *hosts) real(at netip.AddrPort) (addr string, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	host, ok := h.byAddr[at.Addr()]
	return net.JoinHostPort(host, strconv.Itoa(int(at.Port()))), ok
}
