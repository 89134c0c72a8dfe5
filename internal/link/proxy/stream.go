package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/link/splice"
)

// stream is one connection. Network.mu guards all of it but the connections themselves.
type stream struct {
	network     *Network
	id          uint32
	addr        string
	near        net.Conn // our end of the client's connection
	far         net.Conn // to the broker; nil = not yet
	connected   chan error
	outstanding [2]int // bytes that were offered and not yet read at the other end
	inbox       [2]inbox
	heard       int64 // when it last sent something
	forgotten   bool  // nothing of it gets through
	reset       bool  // the client is to see a reset
	aborted     bool  // the client wants the broker to see one
	over        int   // directions in which nothing follows
	ended       bool
}

// inbox is what has arrived and was not taken.
type inbox struct {
	bytes.Buffer
	over bool // nothing follows
}

// reach is within how much time a broker must take a connection: it is as near as the loopback interface, or one hop away.
const reach = 10 * time.Second

// devices is where clients live.
type devices struct{ network *Network }

// Userland implements netns.Userland.
func (devices) Userland() string { return "link backend proxy" }

// Dial implements netns.Place for tcp.
func (d devices) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if network != "tcp" && network != "tcp4" && network != "tcp6" {
		return nil, net.UnknownNetworkError(network)
	}
	near, client := net.Pipe()
	s, err := d.network.open(addr, near)
	if err != nil {
		return nil, err
	}
	select {
	case err = <-s.connected:
	case <-ctx.Done():
		err = ctx.Err()
	case <-d.network.ctx.Done():
		err = net.ErrClosed
	}
	if err != nil {
		d.network.mu.Lock()
		defer d.network.mu.Unlock()
		s.end(true)
		return nil, &net.OpError{Op: "dial", Net: network, Addr: address(addr), Err: err}
	}
	s.network.running.Go(func() { s.read(near, link.Up) })
	s.network.running.Go(func() { s.write(near, link.Down) })
	return &end{client, s}, nil
}

// address is a net.Addr that is not looked up.
type address string

// Network implements net.Addr.
func (address) Network() string { return "tcp" }

func (a address) String() string { return string(a) }

// errNoListener and errNoProgram are limits of this backend.
var (
	errNoListener = errors.New("backend proxy: nothing can listen on the side of the devices; use backend tun")
	errNoProgram  = errors.New("backend proxy: other programs cannot run behind the link; let them connect to mqlab link up, or use backend tun")
)

// Listen implements netns.Place: it is an error always.
func (devices) Listen(context.Context, string, string) (net.Listener, error) {
	return nil, errNoListener
}

// Command implements netns.Place: starting the command is an error always.
func (devices) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.Err = errNoProgram
	return c
}

// open begins a stream: its first segment is on its way.
func (n *Network) open(addr string, near net.Conn) (*stream, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, net.ErrClosed
	}
	n.last++
	s := &stream{network: n, id: n.last, addr: addr, near: near, connected: make(chan error, 1), heard: n.now()}
	n.streams[s.id] = s
	n.send(s, link.Up, syn, nil)
	return s, nil
}

// arrived takes a segment; Network.mu is held.
func (s *stream) arrived(d link.Direction, f flag, payload []byte) {
	in := &s.inbox[d]
	switch {
	case f == syn && d == link.Up:
		s.network.running.Go(s.connect)
	case f == syn:
		s.connected <- nil
	case f == refuse:
		s.connected <- os.NewSyscallError("connect", syscall.ECONNREFUSED)
	case f == fin:
		in.over = true
	case f == reset:
		s.reset = s.reset || d == link.Down
		s.end(true)
	default:
		_, _ = in.Write(payload) // never fails
	}
}

// connect reaches for the broker, as its host does when a SYN arrives.
func (s *stream) connect() {
	ctx, cancel := context.WithTimeout(s.network.ctx, reach)
	defer cancel()
	far, err := s.network.brokers.Dial(ctx, "tcp", s.addr)
	n := s.network
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case err != nil:
		n.send(s, link.Down, refuse, nil)
		return
	case s.ended:
		_ = far.Close()
		return
	}
	s.far = far
	n.send(s, link.Down, syn, nil)
	n.running.Go(func() { s.read(far, link.Down) })
	n.running.Go(func() { s.write(far, link.Up) })
}

// read offers what one end sends until it ends.
func (s *stream) read(from net.Conn, d link.Direction) {
	n := s.network
	b := make([]byte, segmentBytes)
	for {
		count, err := from.Read(b)
		n.mu.Lock()
		if !n.room(s, d) {
			n.mu.Unlock()
			return
		}
		if count > 0 {
			n.send(s, d, data, b[:count])
		}
		if err != nil {
			s.stopped(d, err)
			n.mu.Unlock()
			return
		}
		n.mu.Unlock()
	}
}

// stopped offers the end of what one end sends; Network.mu is held.
func (s *stream) stopped(d link.Direction, err error) {
	f := fin
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) || d == link.Up && s.aborted {
		f = reset
	}
	s.network.send(s, d, f, nil)
	if s.forgotten && d == link.Up {
		s.end(true) // the broker's end has nobody to hear from
	}
}

// write hands over what has arrived for one end until nothing follows.
func (s *stream) write(to net.Conn, d link.Direction) {
	n := s.network
	b := make([]byte, segmentBytes)
	for {
		n.mu.Lock()
		in := &s.inbox[d]
		for in.Len() == 0 && !in.over && !s.ended {
			n.changed.Wait()
		}
		if s.ended {
			n.mu.Unlock()
			return
		}
		count, _ := in.Read(b)
		over := count == 0
		n.mu.Unlock()
		if over {
			s.finish(to)
			return
		}
		_, err := to.Write(b[:count])
		n.mu.Lock()
		s.outstanding[d] -= count
		n.changed.Broadcast()
		n.mu.Unlock()
		if err != nil {
			return // its reader sees why
		}
	}
}

// finish tells one end that nothing follows. A pipe cannot be closed by half, so the client's end is closed for good.
func (s *stream) finish(to net.Conn) {
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	} else {
		_ = to.Close()
	}
	s.network.mu.Lock()
	defer s.network.mu.Unlock()
	if s.over++; s.over == 2 {
		s.end(false)
	}
}

// end closes both ends, aborted if need be; Network.mu is held.
func (s *stream) end(abort bool) {
	if s.ended {
		return
	}
	s.ended = true
	delete(s.network.streams, s.id)
	_ = s.near.Close()
	if s.far != nil {
		if abort {
			splice.Abort(s.far)
		} else {
			_ = s.far.Close()
		}
	}
	s.network.changed.Broadcast()
}

// end is the client's connection.
type end struct {
	net.Conn
	stream *stream
}

// RemoteAddr is what was dialled.
func (e *end) RemoteAddr() net.Addr { return address(e.stream.addr) }

// Read implements net.Conn.
func (e *end) Read(b []byte) (int, error) {
	n, err := e.Conn.Read(b)
	return n, e.explain(err)
}

// Write implements net.Conn.
func (e *end) Write(b []byte) (int, error) {
	n, err := e.Conn.Write(b)
	return n, e.explain(err)
}

// SetLinger says how Close ends the connection: 0 = by a reset.
func (e *end) SetLinger(seconds int) error {
	e.stream.network.mu.Lock()
	defer e.stream.network.mu.Unlock()
	e.stream.aborted = seconds == 0
	return nil
}

// explain tells a reset from an end.
func (e *end) explain(err error) error {
	if err == nil {
		return nil
	}
	n := e.stream.network
	n.mu.Lock()
	defer n.mu.Unlock()
	if e.stream.reset {
		return &net.OpError{Op: "read", Net: "tcp", Addr: e.RemoteAddr(), Err: syscall.ECONNRESET}
	}
	return err
}
