package netns

import (
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// perSource is how many connections come from one address. An address has some 28,000 ports by default, but the kernel looks for
	// a free one by trial, which costs more the fuller the range is, closed connections that still wait included.
	perSource = 4000
	// maxSources is how many addresses are used: 127.0.0.1 to 127.0.0.250.
	maxSources = 250
)

// Spread returns the Place from which n connections are made to addr. Those from this host to a loopback address of IPv4 come from
// as many loopback addresses as they need, in turn, so that the ports of one do not bound them.
func Spread(p Place, addr string, n int) Place {
	to, err := netip.ParseAddrPort(addr)
	if p != Host || err != nil || !to.Addr().Is4() || !to.Addr().IsLoopback() || n <= perSource {
		return p
	}
	s := &spread{}
	for i := range min((n+perSource-1)/perSource, maxSources) {
		s.sources = append(s.sources, netip.AddrFrom4([4]byte{127, 0, 0, byte(1 + i)}))
	}
	return s
}

// portLater leaves the choice of the port to connect, which knows the other end: a port may then serve several connections to
// different ends, as without a source address.
func portLater(_, _ string, c syscall.RawConn) error {
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
	})
	if err != nil {
		return err
	}
	return failed
}
