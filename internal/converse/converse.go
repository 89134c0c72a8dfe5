// Package converse moves bytes between one session and one connection in the goroutine of its caller, for whoever has a single connection
// and time to wait. Engines, which have many, move theirs themselves.
package converse

import (
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/proto"
)

// firstRead is how many bytes are read at once until a unit of the protocol turns out to be longer.
const firstRead = 64 << 10

// Conversation is one connection with its session. Set Conn and Session, then Open it.
type Conversation struct {
	Conn    net.Conn
	Session proto.Client
	In      []byte        // received and not yet fed to the session
	Out     []byte        // to be sent before the next wait
	Every   time.Duration // how often the session's timers are looked at; 0 = never, and deadlines of Conn bound each wait

	buffer []byte
	ev     proto.Event
}

// Open waits until the peer accepts the session.
func (c *Conversation) Open() error {
	c.Out = c.Session.Open(clock.Now(), c.Out)
	return c.Await(proto.Ready)
}

// Send lets encode append to what is to be sent, and sends it.
func (c *Conversation) Send(encode func(s proto.Client, out []byte) ([]byte, error)) (err error) {
	if c.Out, err = encode(c.Session, c.Out); err != nil {
		return err
	}
	return c.flush()
}

// Next sends what is to be sent and waits for the next event, which is valid until the next call. An error is final, except that of an
// expired deadline of Conn.
func (c *Conversation) Next() (*proto.Event, error) {
	for {
		n, out, err := c.Session.Feed(clock.Now(), c.In, c.Out, &c.ev)
		c.In, c.Out = c.In[n:], out
		switch {
		case err != nil:
			return nil, err
		case c.ev.Kind != proto.None || c.ev.Err != nil:
			return &c.ev, nil
		case n > 0:
			continue
		}
		if err := c.wait(); err != nil {
			return nil, err
		}
	}
}

// Await returns when the session reports an event of this kind; others pass. What the peer refuses is an error, and so is its goodbye.
func (c *Conversation) Await(kind proto.Kind) error {
	for {
		ev, err := c.Next()
		switch {
		case err != nil:
			return err
		case ev.Kind == proto.Closed:
			return errors.Join(ev.Err, io.ErrUnexpectedEOF)
		case ev.Err != nil:
			return fmt.Errorf("refused: %w", ev.Err)
		case ev.Kind == kind:
			return c.flush()
		}
	}
}

// Goodbye ends the conversation as the protocol wants it. The connection stays to be closed.
func (c *Conversation) Goodbye() error {
	c.Out = c.Session.Close(c.Out)
	return c.flush()
}

func (c *Conversation) flush() error {
	if len(c.Out) == 0 {
		return nil
	}
	_, err := c.Conn.Write(c.Out)
	c.Out = c.Out[:0]
	return err
}

// wait sends what is to be sent and receives at least a byte, or returns when it is time to look at the session's timers again.
func (c *Conversation) wait() (err error) {
	if c.Every > 0 {
		if _, c.Out, err = c.Session.Tick(clock.Now(), c.Out); err != nil {
			return err
		}
		if err := c.Conn.SetReadDeadline(time.Now().Add(c.Every)); err != nil {
			return err
		}
	}
	if err := c.flush(); err != nil {
		return err
	}
	if len(c.In) >= len(c.buffer) {
		c.buffer = make([]byte, max(firstRead, 2*len(c.In)))
	}
	have := copy(c.buffer, c.In)
	n, err := c.Conn.Read(c.buffer[have:])
	c.In = c.buffer[:have+n]
	var late net.Error
	if n > 0 || c.Every > 0 && errors.As(err, &late) && late.Timeout() {
		return nil // a connection that has ended says so again
	}
	return err
}
