//go:build linux

package loop

import (
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/engine/loop/uring"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/needs"
	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/stamp"
)

// plain is a session whose messages are nothing but their payload; the peer accepts by one byte.
type plain struct{}

func (plain) Open(_ int64, out []byte) []byte { return append(out, "hello"...) }

func (plain) Feed(_ int64, in, out []byte, ev *proto.Event) (int, []byte, error) {
	*ev = proto.Event{}
	if len(in) > 0 {
		ev.Kind = proto.Ready
	}
	return len(in), out, nil
}

func (plain) Tick(_ int64, out []byte) (int64, []byte, error) { return math.MaxInt64, out, nil }
func (plain) Close(out []byte) []byte                         { return append(out, "bye"...) }
func (plain) Room(uint8) int                                  { return math.MaxInt }

func (plain) Publish(m *proto.Message, out []byte) ([]byte, error) {
	return append(out, m.Payload...), nil
}
func (plain) Subscribe(*proto.Subscription, []byte) ([]byte, error) { return nil, nil }

// direct dials at once.
type direct struct{ addr string }

func (d direct) Dial(_ int64, began func(int64), done func(engine.Dialled, error)) {
	go func() {
		began(clock.Now())
		c, err := net.Dial("tcp", d.addr)
		done(engine.Dialled{Conn: c}, err)
	}()
}

// peer accepts n connections, and gives each to serve once it was greeted.
func peer(t *testing.T, n int, serve func(c *net.TCPConn) error) (addr string, wait func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	for range n {
		served.Go(func() {
			c, err := l.Accept()
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = c.Close() }()
			hello := make([]byte, 5)
			if _, err := io.ReadFull(c, hello); err != nil || string(hello) != "hello" {
				t.Errorf("greeted by %q, %v", hello, err)
			}
			if _, err := c.Write([]byte{1}); err != nil {
				t.Error(err)
			}
			if err := serve(c.(*net.TCPConn)); err != nil {
				t.Error(err)
			}
		})
	}
	return l.Addr().String(), func() { served.Wait(); _ = l.Close() }
}

const (
	testRun  = 5
	testSize = 200
)

// start runs a loop of n publishers, and returns it once they are ready.
func start(t *testing.T, cfg Config, n int, addr string, apart bool) (l *Loop, stop func()) {
	t.Helper()
	settings := engine.Settings{
		Run: testRun, Payload: engine.NewPayload(make([]byte, testSize), false, 1),
		Emit: func(*ledger.Window) {},
	}
	l, err := New(cfg, settings, direct{addr})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	for i := range n {
		l.Add(engine.ClientSpec{Session: plain{}, Publish: &engine.PublishSpec{Stream: uint32(i), Topic: []byte("t"), Closed: true, Apart: apart}}, nil)
	}
	go func() { ended <- l.Run(ctx) }()
	l.Do(func(int64) {
		for i := range n {
			l.Dial(i, 0)
		}
	})
	for l.Progress().Ready < n {
		time.Sleep(time.Millisecond)
	}
	return l, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// on runs f on the loop's thread and waits for it.
func on(l *Loop, f func(now int64)) {
	done := make(chan struct{})
	l.Do(func(now int64) { f(now); close(done) })
	<-done
}

// ways are the ways of sending that work here.
func ways(t *testing.T) map[string]Config {
	m := map[string]Config{"write": {Quantum: time.Millisecond}}
	if err := uring.Probe(); err == nil {
		m["io_uring"] = Config{Quantum: time.Millisecond, Ring: true}
	} else {
		t.Log(err)
	}
	return m
}

// inOrder reads messages until the goodbye, and checks that none is missing, torn or out of place.
func inOrder(c io.Reader) (n uint64, err error) {
	b := make([]byte, testSize)
	for ; ; n++ {
		if _, err := io.ReadFull(c, b[:3]); err != nil || string(b[:3]) == "bye" {
			return n, err
		}
		if _, err := io.ReadFull(c, b[3:]); err != nil {
			return n, err
		}
		var s stamp.Stamp
		if err := stamp.Decode(b, &s); err != nil || s.Seq != n || s.Run != testRun {
			return n, fmt.Errorf("message %d: %+v, %w", n, s, err)
		}
	}
}

// Sockets that are full most of the time, some of them for long, lose, tear and mix up nothing.
func TestEveryByteArrivesInOrder(t *testing.T) {
	for name, cfg := range ways(t) {
		for _, apart := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/%v", name, apart), func(t *testing.T) {
				const n = 100
				var mu sync.Mutex
				total, slow := uint64(0), make(chan struct{})
				at := 0
				addr, wait := peer(t, n, func(c *net.TCPConn) error {
					mu.Lock()
					at++
					stuck := at%10 == 0
					mu.Unlock()
					if stuck {
						<-slow
					}
					got, err := inOrder(c)
					mu.Lock()
					defer mu.Unlock()
					total += got
					return err
				})
				l, stop := start(t, cfg, n, addr, apart)
				on(l, func(now int64) { l.Core.Begin(now, now, now+int64(150*time.Millisecond)); l.Core.Publish() })
				for l.Progress().Sent < 2000 {
					time.Sleep(time.Millisecond)
				}
				close(slow)
				for l.Progress().Waiting > 0 {
					time.Sleep(time.Millisecond)
				}
				var sent uint64
				on(l, func(now int64) { l.Core.CloseBooks(now); sent = l.Core.Progress().Sent })
				time.Sleep(50 * time.Millisecond) // what waits for its socket leaves
				on(l, l.Core.Goodbye)
				stop()
				wait()
				if total != sent {
					t.Errorf("%d messages were sent, %d arrived", sent, total)
				}
			})
		}
	}
}

// Goodbyes are read by the other end, and leave no port in TIME_WAIT on either side.
func TestGoodbyeLeavesNoPortBusy(t *testing.T) {
	for name, cfg := range ways(t) {
		t.Run(name, func(t *testing.T) {
			const n = 50
			addr, wait := peer(t, n, func(c *net.TCPConn) error {
				b, err := io.ReadAll(io.LimitReader(c, 3))
				if string(b) != "bye" {
					return fmt.Errorf("heard %q, %w", b, err)
				}
				return nil
			})
			l, stop := start(t, cfg, n, addr, true)
			on(l, l.Core.Goodbye)
			stop()
			wait()
			table, err := os.ReadFile("/proc/net/tcp")
			if err != nil {
				needs.Installed(t, err)
			}
			_, port, _ := net.SplitHostPort(addr)
			number := 0
			_, _ = fmt.Sscan(port, &number)
			for line := range strings.Lines(string(table)) {
				f := strings.Fields(line)
				if mine := fmt.Sprintf(":%04X", number); len(f) > 3 && f[3] == "06" && (strings.HasSuffix(f[1], mine) || strings.HasSuffix(f[2], mine)) {
					t.Errorf("left behind: %s", line)
				}
			}
		})
	}
}

// A trial may have more loops than connections.
func TestLoopWithoutConnections(t *testing.T) {
	for name, cfg := range ways(t) {
		t.Run(name, func(t *testing.T) {
			l, stop := start(t, cfg, 0, "", true)
			on(l, l.Core.Goodbye)
			stop()
		})
	}
}
