package netns

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
)

// From returns the Place from which connections come from the sources in turn. It is this host: p must be Host.
func From(p Place, sources []netip.Addr) (Place, error) {
	if p != Host {
		return nil, errors.New("source addresses are those of this host: they cannot be chosen for a network of the lab")
	}
	return &spread{sources: sources}, nil
}

// Sources returns how many addresses connections from p come from, where that was chosen; 0 = it was not.
func Sources(p Place) int {
	if s, ok := p.(*spread); ok {
		return len(s.sources)
	}
	return 0
}

// spread is the host, with several source addresses.
type spread struct {
	host
	sources []netip.Addr
	next    atomic.Uint32
}

func (s *spread) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	n := s.next.Add(1) % uint32(len(s.sources))
	d := net.Dialer{
		LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(s.sources[n], 0)),
		Control:   portLater,
	}
	return d.DialContext(ctx, network, addr)
}
