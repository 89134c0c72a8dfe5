package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/link/alarm"
)

// brokers is a place in memory where every dial reaches answer.
type brokers struct {
	answer func(net.Conn)
	refuse bool
}

func (b brokers) Dial(context.Context, string, string) (net.Conn, error) {
	if b.refuse {
		return nil, syscall.ECONNREFUSED
	}
	near, far := net.Pipe()
	go b.answer(far)
	return near, nil
}

func (brokers) Listen(context.Context, string, string) (net.Listener, error) {
	return nil, net.ErrClosed
}

func (brokers) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, name, args...)
}

// inMemory makes a link in memory, for virtual time.
func inMemory(t *testing.T, up, down link.Params, b brokers) *Network {
	t.Helper()
	n, err := open(link.Config{Profile: link.Profile{Up: up, Down: down}, Seed: 1}, b, 0, alarm.NewCoarse)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func echo(c net.Conn) {
	_, _ = io.Copy(c, c)
	_ = c.Close()
}

func dial(t *testing.T, n *Network) net.Conn {
	t.Helper()
	c, err := n.Device().Dial(t.Context(), "tcp", "broker:1883")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func ask(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, len(text))
	if _, err := io.ReadFull(c, b); err != nil || string(b) != text {
		t.Fatalf("%q came back, %v", b, err)
	}
}

// TestDelay: connecting takes the round trip, and so does a question; to the millisecond that the clock is asked for.
func TestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := inMemory(t, link.Params{Delay: 300 * time.Millisecond}, link.Params{Delay: 200 * time.Millisecond}, brokers{answer: echo})
		defer func() { _ = n.Close() }()
		start := time.Now()
		c := dial(t, n)
		if took := time.Since(start); took != 500*time.Millisecond {
			t.Errorf("connecting took %v", took)
		}
		start = time.Now()
		ask(t, c, "question")
		if took := time.Since(start); took != 500*time.Millisecond {
			t.Errorf("a question took %v", took)
		}
		_ = c.Close()
	})
}

// TestRateIsShared: eight connections get no more together than one does.
func TestRateIsShared(t *testing.T) {
	const rate, each = 256_000, 32_000
	for _, connections := range []int{1, 8} {
		synctest.Test(t, func(t *testing.T) {
			var arrived sync.WaitGroup
			arrived.Add(connections)
			n := inMemory(t, link.Params{Rate: rate}, link.Params{}, brokers{answer: func(c net.Conn) {
				_, _ = io.ReadFull(c, make([]byte, each))
				arrived.Done()
				_, _ = io.Copy(io.Discard, c)
			}})
			defer func() { _ = n.Close() }()
			var list []net.Conn
			for range connections {
				list = append(list, dial(t, n))
			}
			start := time.Now()
			for _, c := range list {
				go func() { _, _ = c.Write(make([]byte, each)) }()
			}
			arrived.Wait()
			segments := (each + segmentBytes - 1) / segmentBytes
			want := time.Duration(float64(connections*(each+segments*headerBytes)*8) / rate * 1e9)
			if took := time.Since(start); took < want-time.Millisecond || took > want+want/50 {
				t.Errorf("%d connections: %v, want %v", connections, took, want)
			}
		})
	}
}

// TestStall: nothing moves, nobody can connect, and what was sent arrives when it is over.
func TestStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := inMemory(t, link.Params{Delay: time.Second}, link.Params{}, brokers{answer: echo})
		defer func() { _ = n.Close() }()
		c := dial(t, n)
		if err := n.Down(true); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := n.Device().Dial(ctx, "tcp", "broker:1883"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("connecting while stalled: %v", err)
		}
		start := time.Now()
		time.AfterFunc(10*time.Second, func() { _ = n.Down(false) })
		ask(t, c, "question")
		if took := time.Since(start); took != 10*time.Second {
			t.Errorf("the question took %v", took)
		}
	})
}

// TestBreaks: what each end sees of each break.
func TestBreaks(t *testing.T) {
	for how, want := range map[link.OutageKind]error{Reset: syscall.ECONNRESET, Finish: io.EOF, HalfOpen: context.DeadlineExceeded} {
		synctest.Test(t, func(t *testing.T) {
			ended := make(chan error, 1)
			n := inMemory(t, link.Params{}, link.Params{}, brokers{answer: func(c net.Conn) {
				_, err := io.Copy(io.Discard, c)
				ended <- err
			}})
			defer func() { _ = n.Close() }()
			c := dial(t, n)
			if err := n.Break(how); err != nil {
				t.Fatal(err)
			}
			<-ended
			got := make(chan error, 1)
			go func() {
				_, err := c.Read(make([]byte, 1))
				got <- err
			}()
			select {
			case err := <-got:
				if !errors.Is(err, want) {
					t.Errorf("%s: the client saw %v, want %v", how, err, want)
				}
			case <-time.After(time.Hour):
				if want != context.DeadlineExceeded {
					t.Errorf("%s: the client saw nothing for an hour", how)
				}
				if _, err := c.Write([]byte("lost")); err != nil {
					t.Errorf("%s: writing: %v", how, err)
				}
			}
		})
	}
}

// TestForget: a connection that was silent for too long is forgotten; one that was not goes on, and so does a new one.
func TestForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := inMemory(t, link.Params{}, link.Params{}, brokers{answer: echo})
		defer func() { _ = n.Close() }()
		n.Forget(time.Minute)
		c := dial(t, n)
		for range 5 {
			time.Sleep(59 * time.Second)
			ask(t, c, "ping")
		}
		time.Sleep(61 * time.Second)
		if _, err := io.WriteString(c, "ping"); err != nil {
			t.Fatal(err)
		}
		_ = c.SetReadDeadline(time.Now().Add(time.Hour))
		if _, err := c.Read(make([]byte, 1)); err == nil || !err.(net.Error).Timeout() {
			t.Errorf("a forgotten connection: %v, want silence", err)
		}
		_ = c.Close()
		ask(t, dial(t, n), "ping")
	})
}

func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := inMemory(t, link.Params{Delay: time.Second}, link.Params{Delay: time.Second}, brokers{refuse: true})
		defer func() { _ = n.Close() }()
		start := time.Now()
		if _, err := n.Device().Dial(t.Context(), "tcp", "broker:1883"); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%v, want a refusal", err)
		}
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// TestChange: what is on its way keeps its time, and nothing overtakes it.
func TestChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := inMemory(t, link.Params{Delay: time.Second}, link.Params{}, brokers{answer: echo})
		defer func() { _ = n.Close() }()
		c := dial(t, n)
		if _, err := io.WriteString(c, "slow"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := n.Change(link.Params{}, link.Params{}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, "fast"); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 8)
		if _, err := io.ReadFull(c, b); err != nil || string(b) != "slowfast" {
			t.Errorf("%q arrived, %v", b, err)
		}
	})
}

// TestUnable: options that need packets are errors that name the option and the backend.
func TestUnable(t *testing.T) {
	for option, p := range map[string]link.Params{
		"loss": {Loss: 0.1}, "duplicate": {Duplicate: 0.1}, "corrupt": {Corrupt: 0.1}, "mode netem": {Mode: link.NetEm},
		"order link": {Order: link.OrderLink},
	} {
		_, err := Open(t.Context(), link.Config{Profile: link.Profile{Down: p}})
		if err == nil || !strings.Contains(err.Error(), "option "+option+" (down): backend proxy") {
			t.Errorf("%s: %v", option, err)
		}
	}
	if _, err := Open(t.Context(), link.Config{CongestionControl: "reno"}); err == nil {
		t.Error("congestion control was accepted")
	}
}

// TestSockets: a real connection of this host, half closed.
func TestSockets(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go func() {
		c, err := l.Accept()
		if err == nil {
			echo(c)
		}
	}()
	n, err := Open(t.Context(), link.Config{Seed: 1, Profile: link.Profile{Up: link.Params{Rate: 8_000_000}}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := n.Device().Dial(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ask(t, c, strings.Repeat("0123456789", 1000))
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("the connection outlived the network")
	}
	if up, down := n.Counters(); up.Carried.Bytes < 10_000 || down.Lost.Packets+up.Lost.Packets > 0 {
		t.Errorf("carried %+v, %+v", up, down)
	}
}
