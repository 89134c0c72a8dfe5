package netns

import (
	"net"
	"net/netip"
	"testing"
)

// TestSpread: many connections come from several addresses in turn; few, and those to elsewhere, do not.
func TestSpread(t *testing.T) {
	l, err := Host.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	addr := l.Addr().String()
	from := map[string]int{}
	p := Spread(Host, addr, 2*perSource+1)
	for range 6 {
		c, err := p.Dial(t.Context(), "tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		from[c.LocalAddr().(*net.TCPAddr).IP.String()]++
	}
	for _, ip := range []string{"127.0.0.1", "127.0.0.2", "127.0.0.3"} {
		if from[ip] != 2 {
			t.Errorf("%d of 6 connections from %s: %v", from[ip], ip, from)
		}
	}
	for _, c := range []struct {
		addr string
		n    int
	}{{addr, perSource}, {"192.0.2.1:1883", 1e6}, {"broker.example:1883", 1e6}, {"[::1]:1883", 1e6}} {
		if p := Spread(Host, c.addr, c.n); p != Host {
			t.Errorf("%d connections to %s are spread", c.n, c.addr)
		}
	}
}

// Addresses that were asked for are used in turn, of both families.
func TestFrom(t *testing.T) {
	for listen, sources := range map[string][]string{
		"127.0.0.1:0": {"127.0.0.7", "127.0.0.9"},
		"[::1]:0":     {"::1"},
	} {
		l, err := Host.Listen(t.Context(), "tcp", listen)
		if err != nil {
			t.Logf("%s: %v", listen, err)
			continue
		}
		defer func() { _ = l.Close() }()
		var list []netip.Addr
		for _, s := range sources {
			list = append(list, netip.MustParseAddr(s))
		}
		p, err := From(Host, list)
		if err != nil || Sources(p) != len(list) {
			t.Fatal(p, err)
		}
		from := map[string]int{}
		for range 2 * len(list) {
			c, err := p.Dial(t.Context(), "tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			from[c.LocalAddr().(*net.TCPAddr).IP.String()]++
		}
		for _, s := range sources {
			if from[s] != 2 {
				t.Errorf("%v", from)
			}
		}
	}
	if _, err := From(nil, nil); err == nil {
		t.Error("sources of another network")
	}
}
