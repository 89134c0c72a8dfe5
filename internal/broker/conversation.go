package broker

import (
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/proto"
)

// conversation moves bytes between a session and a connection, and waits. The connection's deadlines bound that.
type conversation struct {
	conn    net.Conn
	session proto.Client
	in, out []byte
}

// open connects and waits until the peer accepts.
func (c *conversation) open() error {
	c.out = c.session.Open(clock.Now(), c.out)
	return c.await(proto.Ready)
}

// send lets encode append to what is sent, and sends it.
func (c *conversation) send(encode func(s proto.Client, out []byte) ([]byte, error)) (err error) {
	if c.out, err = encode(c.session, c.out); err != nil {
		return err
	}
	return c.flush()
}

func (c *conversation) flush() error {
	_, err := c.conn.Write(c.out)
	c.out = c.out[:0]
	return err
}

// await returns when the session reports an event of this kind; others pass.
func (c *conversation) await(kind proto.Kind) error {
	var more [4096]byte
	for {
		if len(c.out) > 0 {
			if err := c.flush(); err != nil {
				return err
			}
		}
		var ev proto.Event
		n, out, err := c.session.Feed(clock.Now(), c.in, c.out, &ev)
		c.in, c.out = c.in[n:], out
		switch {
		case err != nil:
			return err
		case ev.Kind == proto.Closed:
			return errors.Join(ev.Err, io.ErrUnexpectedEOF)
		case ev.Err != nil:
			return fmt.Errorf("refused: %w", ev.Err)
		case ev.Kind == kind:
			return nil
		case n > 0 || len(c.out) > 0:
			continue
		}
		n, err = c.conn.Read(more[:])
		if err != nil {
			return err
		}
		c.in = append(c.in, more[:n]...)
	}
}

// goodbye ends the conversation as the protocol wants it. The connection stays to be closed.
func (c *conversation) goodbye() error {
	c.out = c.session.Close(c.out)
	return c.flush()
}
