package tun

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/guard/guardtest"
	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/needs"
	"github.com/mqlab/mqlab/internal/netns"
)

// TestMain lets the test program be run again as what this package and the guard run, and as a lab that gets killed.
func TestMain(m *testing.M) {
	guardtest.Main(m, guard.Verbs{
		broker.Verb:        broker.Main,
		broker.LimitedVerb: broker.Limited,
		labVerb:            func([]string, io.Reader, io.Writer) int { return lab() },
		rootlessVerb:       func([]string, io.Reader, io.Writer) int { return rootless() },
	})
}

// open opens a network for a test, or skips it where there can be none.
func open(t testing.TB, p link.Profile) *Network {
	t.Helper()
	if err := Supported(); err != nil {
		needs.Installed(t, err)
	}
	n, err := Open(context.Background(), link.Config{Profile: p, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// upOnce asks, for a bounded time, for the counters of the way up until they are as they should become, and returns them.
func upOnce(t *testing.T, n *Network, come func(up link.Counters) bool) link.Counters {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		up, _ := n.Counters()
		switch {
		case come(up):
			return up
		case ctx.Err() != nil:
			t.Fatalf("%+v", up)
		}
	}
}

func both(p link.Params) link.Profile { return link.Profile{Name: "test", Up: p, Down: p} }

// greeter listens in a place and sends each client its address as seen from there, and what it receives back.
func greeter(t *testing.T, p netns.Place, addr string) string {
	t.Helper()
	l, err := p.Listen(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.WriteString(c, c.RemoteAddr().String()+"\n")
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}()
		}
	}()
	return l.Addr().String()
}

func dial(t *testing.T, p netns.Place, addr string) net.Conn {
	t.Helper()
	c, err := p.Dial(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// exchange sends size bytes, expects them back, and returns the first line.
func exchange(t *testing.T, c net.Conn, size int) string {
	t.Helper()
	sent := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	go func() {
		_, _ = c.Write(sent)
		_ = c.(*net.TCPConn).CloseWrite()
	}()
	got, err := io.ReadAll(c)
	line, rest, _ := bytes.Cut(got, []byte("\n"))
	if err != nil || !bytes.Equal(rest, sent) {
		t.Fatalf("%d of %d bytes came back: %v", len(rest), len(sent), err)
	}
	return string(line)
}

// TestBrokersSeeLocalClients: what listens on the loopback interface of the broker's namespace is reached through the link, and its
// clients look local, each with an address of its own.
func TestBrokersSeeLocalClients(t *testing.T) {
	n := open(t, both(link.Params{}))
	addr := greeter(t, n.Broker(), "127.0.0.1:0")
	for i, want := range []string{"127.18.0.1", "127.18.0.2", "127.18.0.3"} {
		c := dial(t, n.Device(), addr)
		if got := c.LocalAddr().(*net.TCPAddr).IP.String(); got != deviceAddr(i).String() {
			t.Errorf("connection %d is made from %s", i, got)
		}
		if from := exchange(t, c, 1<<20); netip.MustParseAddrPort(from).Addr().String() != want {
			t.Errorf("the broker sees %s, not %s", from, want)
		}
	}
	outside := greeter(t, n.Broker(), "198.19.0.1:0")
	if from := exchange(t, dial(t, n.Device(), outside), 1<<10); !strings.HasPrefix(from, "198.18.0.4:") {
		t.Errorf("at its own address the broker sees %s", from)
	}
	up, down := n.Counters()
	if up.Offered.Bytes < 3<<20 || down.Offered.Bytes < 3<<20 {
		t.Errorf("the link saw %d and %d bytes", up.Offered.Bytes, down.Offered.Bytes)
	}
	local := greeter(t, n.Broker(), "127.0.0.1:0")
	if from := exchange(t, dial(t, n.Broker(), local), 16); !strings.HasPrefix(from, "127.0.0.1:") {
		t.Errorf("within its namespace the broker sees %s", from)
	}
}

// TestSegmentsAreOfTheLink: no packet is larger than a link carries, and a delayed exchange takes at least the delay.
func TestSegmentsAreOfTheLink(t *testing.T) {
	const delay = 20 * time.Millisecond
	n := open(t, both(link.Params{Delay: delay}))
	var largest, seen atomic.Int64
	n.Observe(func(_ link.Direction, _ int64, size int, packet []byte, _ link.Verdict) {
		seen.Add(1)
		for old := largest.Load(); int64(size) > old && !largest.CompareAndSwap(old, int64(size)); old = largest.Load() {
		}
		if source := netip.AddrFrom4([4]byte(packet[12:16])); packet[0]>>4 == 4 && source != Loopback && !strings.HasPrefix(source.String(), "198.18.") {
			t.Errorf("a packet from %s on the link", source)
		}
	})
	addr := greeter(t, n.Broker(), "127.0.0.1:0")
	start := time.Now()
	c := dial(t, n.Device(), addr)
	if took := time.Since(start); took < 2*delay {
		t.Errorf("connected in %v, less than a round trip", took)
	}
	exchange(t, c, 1<<18)
	n.Counters()
	if largest.Load() != MTU || seen.Load() < 2*(1<<18)/MTU {
		t.Errorf("%d packets, the largest of %d bytes", seen.Load(), largest.Load())
	}
	seen.Store(0)
	n.Packets(func(_ link.Direction, _ int64, bytes int) { seen.Add(int64(bytes)) })
	exchange(t, dial(t, n.Device(), addr), 1<<12)
	n.Counters() // what was seen before is told before it returns
	if seen.Load() < 2*(1<<12) {
		t.Errorf("%d bytes seen", seen.Load())
	}
	n.Packets(nil)
}

// TestLossIsMadeGood: TCP delivers everything through loss and corruption, and the books balance.
func TestLossIsMadeGood(t *testing.T) {
	p := link.Params{Delay: time.Millisecond, Jitter: time.Millisecond, Loss: 0.05, Duplicate: 0.02, Corrupt: 0.02}
	n := open(t, both(p))
	exchange(t, dial(t, n.Device(), greeter(t, n.Broker(), "127.0.0.1:0")), 1<<18)
	for _, c := range counters(n) {
		if c.Lost.Packets == 0 || c.Overrun.Packets != 0 {
			t.Errorf("%+v", c)
		}
		if sum := c.Carried.Packets + c.Lost.Packets + c.QueueDropped.Packets + c.Outage.Packets + c.InFlight.Packets; sum != c.Offered.Packets {
			t.Errorf("%d packets offered, %d accounted for", c.Offered.Packets, sum)
		}
	}
	if late := n.Facts().Late; late.Packets == 0 || late.P50 > late.P99 || late.P99 > late.Max {
		t.Errorf("lateness %+v", late)
	}
}

func counters(n *Network) []link.Counters {
	up, down := n.Counters()
	return []link.Counters{up, down}
}

func TestRefusedAndUnreachable(t *testing.T) {
	n := open(t, both(link.Params{}))
	if _, err := n.Device().Dial(t.Context(), "tcp", "127.0.0.1:9"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("nobody listens: %v", err)
	}
	for addr, want := range map[string]string{
		"broker.example:1": "not an address of IPv4", "[::1]:1": "not an address of IPv4", "127.0.0.1:x": "not a number", "127.0.0.1": "missing port",
		"192.0.2.1:1": "unreachable",
	} {
		if _, err := n.Device().Dial(t.Context(), "tcp", addr); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, expected %q", addr, err, want)
		}
	}
	if _, err := n.Device().Dial(t.Context(), "unix", "/x"); err == nil {
		t.Error("a Unix socket is dialled through the link")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := n.Device().Dial(ctx, "tcp", "127.0.0.1:9"); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
}

// TestOutageIsSilent: nothing gets through, nobody is told, and it ends.
func TestOutageIsSilent(t *testing.T) {
	n := open(t, both(link.Params{}))
	addr := greeter(t, n.Broker(), "127.0.0.1:0")
	if err := n.Down(true); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := n.Device().Dial(ctx, "tcp", addr); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("dialled during an outage: %v", err)
	}
	up, down := n.Counters()
	if up.Outage.Packets == 0 || down.Offered.Packets != 0 {
		t.Errorf("up %+v, down %+v", up, down)
	}
	if err := n.Down(false); err != nil {
		t.Fatal(err)
	}
	exchange(t, dial(t, n.Device(), addr), 1024)
}

func TestChange(t *testing.T) {
	n := open(t, both(link.Params{Loss: 1}))
	addr := greeter(t, n.Broker(), "127.0.0.1:0")
	if err := n.Change(link.Params{}, link.Params{}); err != nil {
		t.Fatal(err)
	}
	exchange(t, dial(t, n.Device(), addr), 1024)
	if err := n.Change(link.Params{Loss: 2}, link.Params{}); err == nil || !strings.Contains(err.Error(), "up: loss is 2") {
		t.Error(err)
	}
}

// TestDatagrams: UDP goes both ways, and a datagram larger than the link's packets in fragments.
func TestDatagrams(t *testing.T) {
	n := open(t, both(link.Params{Delay: time.Millisecond}))
	for _, addr := range []string{"127.0.0.1:0", "198.19.0.1:0"} {
		l, err := n.Broker().(netns.PacketPlace).ListenPacket(t.Context(), "udp4", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		c, err := n.Device().Dial(t.Context(), "udp", l.LocalAddr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		for _, size := range []int{1, 1000, 5000} {
			sent := bytes.Repeat([]byte{byte(size)}, size)
			if _, err := c.Write(sent); err != nil {
				t.Fatal(err)
			}
			buf := make([]byte, 10_000)
			got, from, err := l.ReadFrom(buf)
			if err != nil || !bytes.Equal(buf[:got], sent) {
				t.Fatalf("%s: %d of %d bytes came: %v", addr, got, size, err)
			}
			if _, err := l.WriteTo(buf[:got], from); err != nil {
				t.Fatal(err)
			}
			if got, err := c.Read(buf); err != nil || !bytes.Equal(buf[:got], sent) {
				t.Fatalf("%s: %d of %d bytes came back: %v", addr, got, size, err)
			}
		}
	}
}

// TestCongestionControl is read back from a connection, not believed.
func TestCongestionControl(t *testing.T) {
	n := open(t, both(link.Params{}))
	f := n.Facts()
	if f.Backend != Name || f.CongestionControl != "cubic" && (f.CongestionControl != "reno" || len(f.Why) == 0) {
		t.Errorf("%+v", f)
	}
	c := dial(t, n.Device(), greeter(t, n.Broker(), "127.0.0.1:0"))
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) {
		used, err := unix.GetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION)
		if err != nil || used != f.CongestionControl {
			t.Errorf("a connection uses %q (%v), not %q", used, err, f.CongestionControl)
		}
		if on, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_KEEPALIVE); err != nil || on != 0 {
			t.Errorf("TCP keepalive is %d, %v", on, err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), link.Config{CongestionControl: "nonesuch"})
	if err == nil || !strings.Contains(err.Error(), "congestion control nonesuch is refused") {
		t.Error(err)
	}
}

func TestOpenRefusesNonsense(t *testing.T) {
	_, err := Open(t.Context(), link.Config{Profile: both(link.Params{Loss: 2})})
	if err == nil || !strings.Contains(err.Error(), "loss is 2") {
		t.Error(err)
	}
}

// TestCommand: programs run in the namespace, with their own name, and what is not there is said as ever.
func TestCommand(t *testing.T) {
	n := open(t, both(link.Params{}))
	for name, place := range map[string]netns.Place{"198.18.0.1": n.Device(), "198.19.0.1": n.Broker()} {
		out, err := place.Command(t.Context(), "cat", "/proc/self/net/fib_trie", "/proc/self/comm").CombinedOutput()
		if err != nil || !strings.Contains(string(out), name) || !strings.HasSuffix(string(out), "cat\n") {
			t.Errorf("%s: %s, %v", name, out, err)
		}
	}
	if err := n.Device().Command(t.Context(), "no-such-program").Run(); err == nil || !strings.Contains(err.Error(), "no-such-program") {
		t.Error(err)
	}
}
