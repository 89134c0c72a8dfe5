package faulty

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/proto"
)

// Server lets a Broker serve sockets. One mutex guards the Broker. Each connection has a goroutine that reads and one
// that writes; one goroutine keeps the time.
type Server struct {
	mu      sync.Mutex
	broker  *Broker
	session func() proto.Server
	links   map[int]*link
	kick    chan struct{} // something is due earlier than was thought
	wg      sync.WaitGroup
}

// link is one socket.
type link struct {
	net  net.Conn
	out  []byte        // what the writer has yet to take
	full bool          // the Broker was told so
	wake chan struct{} // out is not empty, or last
	last bool          // nothing follows: close when out is written
	gone chan struct{} // closed when the socket is done with
}

// slowReadBuffer is how much the kernel takes in advance where reading is slow on purpose: a few segments of the loopback
// interface, since a smaller window makes TCP itself stop and go.
const slowReadBuffer = 256 << 10

// fullAt is how many bytes may wait for a writer before the Broker is asked to wait.
const fullAt = 256 << 10

// NewServer returns a Server whose Broker is as cfg says; session makes the broker's side of each connection.
func NewServer(cfg Config, session func() proto.Server) *Server {
	s := &Server{session: session, links: map[int]*link{}, kick: make(chan struct{}, 1)}
	s.broker = New(cfg, s)
	return s
}

// Do runs f with the Broker to itself.
func (s *Server) Do(f func(b *Broker, now int64)) {
	s.mu.Lock()
	f(s.broker, clock.Now())
	s.mu.Unlock()
	s.hurry()
}

func (s *Server) hurry() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// Serve serves the connections that ln accepts until ctx is done, and closes ln. It returns when nothing of its own is
// running any more: nil, or why accepting failed.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	inner, cancel := context.WithCancel(ctx)
	s.wg.Go(func() { s.keepTime(inner) })
	stop := context.AfterFunc(ctx, func() { _ = ln.Close() })
	defer stop()
	err := s.accept(ln)
	cancel()
	_ = ln.Close() // closed already where ctx is done
	s.mu.Lock()
	for id := range s.links {
		s.Hangup(id)
	}
	s.mu.Unlock()
	s.wg.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (s *Server) accept(ln net.Listener) error {
	for id := 0; ; id++ {
		c, err := ln.Accept()
		if err != nil {
			return err
		}
		l := &link{net: c, wake: make(chan struct{}, 1), gone: make(chan struct{})}
		if tcp, ok := c.(*net.TCPConn); ok && s.broker.cfg.Plan.ReadBytesPerS > 0 {
			_ = tcp.SetReadBuffer(slowReadBuffer) // otherwise a full socket only shows later
		}
		s.mu.Lock()
		s.links[id] = l
		s.broker.Accept(id, s.session(), clock.Now())
		s.mu.Unlock()
		s.wg.Go(func() { s.read(id, l) })
		s.wg.Go(func() { s.write(id, l) })
	}
}

// keepTime calls the Broker when something is due.
func (s *Server) keepTime(ctx context.Context) {
	for ctx.Err() == nil {
		s.mu.Lock()
		next := s.broker.Advance(clock.Now())
		s.mu.Unlock()
		s.sleep(next, ctx.Done(), s.kick)
	}
}

const (
	coarse = 1500 * time.Microsecond // how late a timer of the Go runtime may fire
	slice  = 200 * time.Microsecond  // how long a precise sleep is deaf
)

// sleep returns at time at, or shortly before, or when one of the channels speaks.
func (s *Server) sleep(at int64, done, kick <-chan struct{}) {
	now := clock.Now()
	d := time.Duration(min(at-min(now, at), int64(time.Hour)))
	if d <= coarse {
		clock.SleepUntil(min(at, now+int64(slice)))
		return
	}
	timer := time.NewTimer(d - coarse)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-done:
	case <-kick:
	}
}

// read feeds the Broker until the connection ends.
func (s *Server) read(id int, l *link) {
	defer s.end(id, l)
	buf := make([]byte, 64<<10)
	have := 0
	for {
		allowed, ok := s.await(id, l, buf, &have)
		if !ok {
			return
		}
		if have == len(buf) {
			buf = append(buf, make([]byte, len(buf))...)
		}
		n, err := l.net.Read(buf[have:min(len(buf), have+min(allowed, len(buf)))])
		if n > 0 {
			have += n
			s.present(id, buf, &have)
		}
		if err != nil {
			return
		}
	}
}

// await returns once the Broker wants to read, with how many bytes it wants, or not ok when the connection is done with.
// What it did not want before is presented again.
func (s *Server) await(id int, l *link, buf []byte, have *int) (allowed int, ok bool) {
	waited := false
	for {
		if isClosed(l.gone) {
			return 0, false
		}
		s.mu.Lock()
		n, next := s.broker.Allow(id, clock.Now())
		s.mu.Unlock()
		switch {
		case n == 0:
			waited = true
			s.sleep(next, l.gone, nil)
			continue
		case waited && *have > 0:
			waited = false
			s.present(id, buf, have)
			continue
		}
		return n, true
	}
}

// present gives buf[:have] to the Broker and keeps what it does not consume.
func (s *Server) present(id int, buf []byte, have *int) {
	s.mu.Lock()
	used := s.broker.Receive(id, clock.Now(), buf[:*have])
	s.mu.Unlock()
	*have = copy(buf, buf[used:*have])
	s.hurry()
}

func (s *Server) end(id int, l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.links[id] == l {
		delete(s.links, id)
		s.broker.Gone(id)
		s.finish(l)
	}
}

// write writes what Send left until the connection ends.
func (s *Server) write(id int, l *link) {
	defer func() {
		_ = l.net.Close() // also ends the reader
		close(l.gone)
	}()
	var own []byte
	for range l.wake {
		s.mu.Lock()
		own, l.out = l.out, own[:0]
		last := l.last
		s.mu.Unlock()
		if _, err := l.net.Write(own); err != nil || last {
			return
		}
		s.mu.Lock()
		if l.full && len(l.out) < fullAt {
			l.full = false
			s.broker.Writable(id, clock.Now())
		}
		s.mu.Unlock()
	}
}

// Send implements Wire.
func (s *Server) Send(id int, b []byte) (more bool) {
	l := s.links[id]
	if l == nil {
		return false
	}
	l.out = append(l.out, b...)
	l.wakeUp()
	l.full = len(l.out) >= fullAt
	return !l.full
}

// Hangup implements Wire.
func (s *Server) Hangup(id int) {
	if l := s.links[id]; l != nil {
		delete(s.links, id)
		s.finish(l)
	}
}

// finish lets the writer end after what it still has.
func (s *Server) finish(l *link) {
	l.last = true
	_ = l.net.SetWriteDeadline(time.Now().Add(time.Second)) // ends a write that is stuck
	l.wakeUp()
}

func (l *link) wakeUp() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Listen opens a free port of the loopback interface and serves it in the background. stop ends it and returns what
// Serve returned.
func (s *Server) Listen() (addr string, stop func() error, err error) { return listen(s.Serve) }

func listen(serve func(context.Context, net.Listener) error) (addr string, stop func() error, err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, ln) }()
	return ln.Addr().String(), func() error {
		cancel()
		return <-ended
	}, nil
}
