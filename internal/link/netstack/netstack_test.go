package netstack

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/link"
)

// open makes a link that is the same both ways.
func open(t *testing.T, p link.Params) *Network {
	t.Helper()
	n, err := Open(t.Context(), link.Config{Profile: link.Profile{Up: p, Down: p}, Seed: 1})
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

// serve is a broker on this host that answers each connection.
func serve(t *testing.T, answer func(net.Conn)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
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
			go answer(c)
		}
	}()
	return l.Addr().String()
}

func echo(c net.Conn) {
	_, _ = io.Copy(c, c)
	_ = c.Close()
}

func dial(t *testing.T, n *Network, addr string) net.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c, err := n.Device().Dial(ctx, "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return c
}

// patience is after how long a connection counts as one that stands still.
const patience = 90 * time.Second

// TestCarries: bytes arrive both ways over a link that loses, duplicates and reorders packets; every packet is accounted for.
func TestCarries(t *testing.T) {
	n := open(t, link.Params{Delay: 5 * time.Millisecond, Jitter: 2 * time.Millisecond, Loss: 0.05, Duplicate: 0.02})
	c := dial(t, n, serve(t, echo))
	sent := strings.Repeat("0123456789", 20_000)
	go func() {
		_, _ = io.WriteString(c, sent)
		_ = c.(interface{ CloseWrite() error }).CloseWrite()
	}()
	if got, err := io.ReadAll(c); err != nil || string(got) != sent {
		t.Fatalf("%d bytes came back of %d, %v", len(got), len(sent), err)
	}
	up, down := n.Counters()
	for _, x := range []struct {
		name string
		link.Counters
	}{{"up", up}, {"down", down}} {
		if sum := x.Carried.Packets + x.Lost.Packets + x.QueueDropped.Packets + x.Outage.Packets + x.InFlight.Packets; sum != x.Offered.Packets {
			t.Errorf("%s: offered %d is not the sum %d: %+v", x.name, x.Offered.Packets, sum, x.Counters)
		}
		if x.Lost.Packets == 0 || x.Offered.Bytes < uint64(len(sent)) || x.Overrun.Packets != 0 {
			t.Errorf("%s: %+v", x.name, x.Counters)
		}
	}
	if again, _ := n.Retransmitted(); again < up.Lost.Packets/2 {
		t.Errorf("%d segments were sent again, though %d were lost", again, up.Lost.Packets)
	}
}

// TestDelays: connecting takes a round trip and so does a question; no wait is shorter than the link allows.
func TestDelays(t *testing.T) {
	const delay = 30 * time.Millisecond
	n := open(t, link.Params{Delay: delay})
	addr := serve(t, echo)
	start := time.Now()
	c := dial(t, n, addr)
	connected := time.Since(start)
	start = time.Now()
	if _, err := io.WriteString(c, "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	for what, took := range map[string]time.Duration{"connecting": connected, "a question": time.Since(start)} {
		if took < 2*delay {
			t.Errorf("%s took %v, less than a round trip of %v", what, took, 2*delay)
		}
	}
	if late := n.Facts().Late; late.Packets == 0 || late.P50 < 0 {
		t.Errorf("lateness: %+v", late)
	}
}

// TestRefused: a port on which nobody listens refuses over the link, too.
func TestRefused(t *testing.T) {
	n := open(t, link.Params{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if _, err := n.Device().Dial(t.Context(), "tcp", l.Addr().String()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dialling a free port: %v, want a refusal", err)
	}
}

// TestReset: what the broker aborts is reset at the client.
func TestReset(t *testing.T) {
	n := open(t, link.Params{Delay: time.Millisecond})
	c := dial(t, n, serve(t, func(c net.Conn) {
		_, _ = io.ReadFull(c, make([]byte, 1))
		_ = c.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
	}))
	if _, err := io.WriteString(c, "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the client saw %v, want a reset", err)
	}
}

// TestDown: in an outage nothing gets through and nobody is told; afterwards TCP goes on.
func TestDown(t *testing.T) {
	n := open(t, link.Params{Delay: time.Millisecond})
	arrived := make(chan byte, 10)
	c := dial(t, n, serve(t, func(c net.Conn) {
		b := make([]byte, 1)
		for {
			if _, err := c.Read(b); err != nil {
				return
			}
			arrived <- b[0]
		}
	}))
	if _, err := io.WriteString(c, "a"); err != nil {
		t.Fatal(err)
	}
	<-arrived
	if err := n.Down(true); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, "b"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := n.Device().Dial(ctx, "tcp", "127.0.0.1:1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("dialling in an outage: %v", err)
	}
	if up, _ := n.Counters(); up.Outage.Packets == 0 || len(arrived) > 0 {
		t.Errorf("%d packets vanished, %d bytes arrived", up.Outage.Packets, len(arrived))
	}
	if err := n.Down(false); err != nil {
		t.Fatal(err)
	}
	if b := <-arrived; b != 'b' {
		t.Errorf("%c arrived after the outage", b)
	}
}

// TestManyLosses: no connection stands still for good, whatever it loses. With other settings of the stacks' TCP some do.
func TestManyLosses(t *testing.T) {
	lossy := link.Params{Delay: 2 * time.Millisecond, Jitter: time.Millisecond}
	n := open(t, lossy)
	addr := serve(t, echo)
	conns := make([]net.Conn, 40)
	for i := range conns {
		conns[i] = dial(t, n, addr) // before anything is lost: a SYN that was lost slows a connection down for long
	}
	lossy.Loss, lossy.Duplicate = 0.05, 0.02
	if err := n.Change(lossy, lossy); err != nil {
		t.Fatal(err)
	}
	sent := strings.Repeat("0123456789", 10_000)
	var all sync.WaitGroup
	for _, c := range conns {
		go func() {
			_, _ = io.WriteString(c, sent)
			_ = c.(interface{ CloseWrite() error }).CloseWrite()
		}()
		all.Go(func() {
			if got, err := io.ReadAll(c); err != nil || string(got) != sent {
				t.Errorf("%d bytes came back of %d, %v", len(got), len(sent), err)
			}
		})
	}
	all.Wait()
}

func TestCongestionControl(t *testing.T) {
	for _, asked := range []string{"", "reno"} {
		n, err := Open(t.Context(), link.Config{CongestionControl: asked})
		if err != nil {
			t.Fatal(err)
		}
		if got := n.Facts().CongestionControl; got != "reno" {
			t.Errorf("asked for %q: %q is in force", asked, got)
		}
		_ = n.Close()
	}
	if _, err := Open(t.Context(), link.Config{CongestionControl: "cubic"}); err == nil || !strings.Contains(err.Error(), "netstack has reno only") {
		t.Errorf("cubic: %v", err)
	}
}

// TestLimits: what this backend cannot do it says.
func TestLimits(t *testing.T) {
	n := open(t, link.Params{})
	if err := n.Device().Command(t.Context(), os.Args[0]).Run(); !errors.Is(err, errNoProgram) {
		t.Errorf("a program behind the link: %v", err)
	}
	if _, err := n.Device().Listen(t.Context(), "tcp", ":0"); !errors.Is(err, errNoListener) {
		t.Errorf("listening behind the link: %v", err)
	}
	if err := n.Change(link.Params{Loss: 2}, link.Params{}); err == nil || !strings.HasPrefix(err.Error(), "up: loss") {
		t.Errorf("loss 2: %v", err)
	}
}

// TestDatagrams: UDP passes, as it is.
func TestDatagrams(t *testing.T) {
	l, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go func() {
		b := make([]byte, 100)
		for {
			n, from, err := l.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = l.WriteTo(b[:n], from)
		}
	}()
	n := open(t, link.Params{Delay: time.Millisecond})
	c, err := n.Device().Dial(t.Context(), "udp", l.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := io.WriteString(c, "hello"); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 100)
	if size, err := c.Read(b); err != nil || string(b[:size]) != "hello" {
		t.Errorf("%q came back, %v", b[:size], err)
	}
	if up, down := n.Counters(); up.Carried != (link.Count{Packets: 1, Bytes: 33}) || down.Carried != up.Carried {
		t.Errorf("carried %+v up, %+v down, want one packet of 28 + 5 bytes each", up.Carried, down.Carried)
	}
}
