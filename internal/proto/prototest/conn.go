// Package prototest is the behaviour that every protocol of the lab must show against real brokers, and the small
// blocking mover that tests use to bring a session to a socket.
//
// A protocol is described once as a [Protocol], a running broker as a [Broker], and [Run] does the rest. [Router] makes a
// broker of the server side of a protocol. [Conn] is useful alone wherever a test wants one session on one net.Conn.
//
// Without sockets, [Cut] checks that it does not matter in what pieces bytes arrive, and [Conversation] that both sides of a
// protocol understand each other.
package prototest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
)

// ErrQuiet is returned by Next when nothing was reported in time.
var ErrQuiet = errors.New("nothing happened in time")

// Conn moves bytes between one session and one net.Conn, in the goroutine of its caller. Errors are final, except ErrQuiet.
type Conn struct {
	session proto.Session
	nc      net.Conn
	in      []byte // received; in[used:] is not consumed
	used    int
	out     []byte
	epoch   time.Time
	tick    int64
	ev      proto.Event
	err     error
}

// Dial connects to a TCP address and opens the session.
func Dial(addr string, s proto.Session) (*Conn, error) {
	nc, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return nil, err
	}
	c := NewConn(nc, s)
	if err := c.Send(nil); err != nil {
		_ = nc.Close()
		return nil, err
	}
	return c, nil
}

// NewConn opens the session on nc; its first bytes leave with the first call of Send or Next.
func NewConn(nc net.Conn, s proto.Session) *Conn {
	c := &Conn{session: s, nc: nc, epoch: time.Now()}
	c.out = s.Open(0, nil)
	return c
}

// now is the session's clock.
func (c *Conn) now() int64 { return int64(time.Since(c.epoch)) }

// Send lets encode append to the output and writes all of it. encode may be nil.
func (c *Conn) Send(encode func(out []byte) ([]byte, error)) error {
	var refused error
	if encode != nil {
		c.out, refused = encode(c.out)
	}
	if len(c.out) > 0 {
		_, err := c.nc.Write(c.out)
		c.out = c.out[:0]
		if err != nil {
			return fmt.Errorf("write: %w", err)
		}
	}
	return refused
}

// Next returns the next event, which is valid until the next call; io.EOF when the peer closed the connection, ErrQuiet
// when nothing was reported within wait.
func (c *Conn) Next(wait time.Duration) (*proto.Event, error) {
	deadline := c.now() + int64(wait)
	for c.err == nil {
		n, out, err := c.session.Feed(c.now(), c.in[c.used:], c.out, &c.ev)
		c.used, c.out, c.err = c.used+n, out, err
		if err := c.Send(nil); err != nil && c.err == nil && c.ev.Kind == proto.None {
			c.err = err
		}
		switch {
		case c.err != nil:
		case c.ev.Kind != proto.None || c.ev.Err != nil:
			if c.ev.Kind == proto.Ready {
				c.tick = 0 // the peer may have set another keep-alive
			}
			return &c.ev, nil
		case n == 0 && c.now() >= deadline:
			return nil, ErrQuiet
		case n == 0:
			c.err = c.read(deadline)
		}
	}
	return nil, c.err
}

// read receives at least a byte, or returns when the session is to be ticked or the deadline is reached.
func (c *Conn) read(deadline int64) error {
	if c.now() >= c.tick {
		next, out, err := c.session.Tick(c.now(), c.out)
		c.tick, c.out = next, out
		if err != nil {
			return err
		}
		if err := c.Send(nil); err != nil {
			return err
		}
	}
	c.in = append(c.in[:0], c.in[c.used:]...)
	c.used = 0
	if cap(c.in)-len(c.in) < 4096 {
		c.in = append(make([]byte, 0, 2*cap(c.in)+16384), c.in...)
	}
	if err := c.nc.SetReadDeadline(c.epoch.Add(time.Duration(min(deadline, c.tick)))); err != nil {
		return err
	}
	n, err := c.nc.Read(c.in[len(c.in):cap(c.in)])
	c.in = c.in[:len(c.in)+n]
	switch {
	case n > 0 || errors.Is(err, os.ErrDeadlineExceeded):
		return nil
	case errors.Is(err, io.EOF):
		return io.EOF
	}
	return fmt.Errorf("read: %w", err)
}

// Goodbye ends the conversation as the protocol wants it and closes the socket.
func (c *Conn) Goodbye() error {
	err := c.Send(func(out []byte) ([]byte, error) { return c.session.Close(out), nil })
	return errors.Join(err, c.nc.Close())
}

// Abort closes the socket without a word.
func (c *Conn) Abort() error {
	if tcp, ok := c.nc.(*net.TCPConn); ok {
		if err := tcp.SetLinger(0); err != nil {
			return err
		}
	}
	return c.nc.Close()
}
