package instrument

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/mqtt"
	"github.com/mqlab/mqlab/internal/proto/nats"
)

// Client is a library's connection, seen from the broker.
type Client struct {
	socket     *net.TCPConn
	conn       net.Conn // of the socket, with TLS if that is asked for
	raw        *rawSocket
	mu         sync.Mutex // guards what follows, and the order of what is written
	session    proto.Server
	out        []byte
	topic      []byte
	sub        uint64
	subscribed chan struct{}
	ended      chan struct{}
	connected  int64 // when it was accepted; 0 = not yet
	heardAt    int64 // when its subscription came; 0 = not yet
	pings      []int64
	err        error // why it ended
}

// Connected is when the client's connection was accepted, ns; 0 = not yet.
func (c *Client) Connected() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.connected
}

// Subscribed is when the client subscribed, ns; 0 = not yet.
func (c *Client) Subscribed() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.heardAt
}

// Pings are when the client asked whether the broker is there.
func (c *Client) Pings() []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.pings)
}

// Ended is closed when the connection has ended.
func (c *Client) Ended() <-chan struct{} { return c.ended }

// Cut ends the connection at once, as a broken network does: what is in the socket is gone.
func (c *Client) Cut() error {
	if err := c.socket.SetLinger(0); err != nil {
		return err
	}
	err := c.socket.Close()
	<-c.ended
	return err
}

func newClient(conn net.Conn, config *tls.Config, session proto.Server) (*Client, error) {
	socket, ok := conn.(*net.TCPConn)
	if !ok {
		return nil, fmt.Errorf("%T is no TCP connection", conn)
	}
	c := &Client{socket: socket, conn: conn, session: session, subscribed: make(chan struct{}), ended: make(chan struct{})}
	if err := socket.SetNoDelay(true); err != nil {
		return nil, err
	}
	c.out = session.Open(clock.Now(), nil)
	if config != nil {
		if _, upgrades := session.(*nats.Server); upgrades { // its one greeting is in plain text, and says that the rest is not
			greeting := nats.AppendInfo(nil, &nats.Info{ServerID: "MQLAB", Version: "2.0.0", Proto: 1, TLSRequired: true, MaxPayload: maxPayload})
			if _, err := conn.Write(greeting); err != nil {
				return nil, err
			}
			c.out = nil
		}
		c.conn = tls.Server(conn, config)
	} else {
		raw, err := newRawSocket(socket)
		if err != nil {
			return nil, err
		}
		c.raw = raw
	}
	if err := c.flush(); err != nil {
		return nil, err
	}
	go c.read()
	return c, nil
}

// flush writes what is in out, with the lock held or before anybody else knows of c.
func (c *Client) flush() (err error) {
	if len(c.out) > 0 {
		if c.raw != nil {
			err = c.raw.write(c.out)
		} else {
			_ = c.conn.SetWriteDeadline(time.Now().Add(hanging)) // a connection of TCP has deadlines
			_, err = c.conn.Write(c.out)
		}
		c.out = c.out[:0]
	}
	return err
}

// read feeds the session with what the client sends, until it ends.
func (c *Client) read() {
	defer close(c.ended)
	buffer := make([]byte, 1<<16)
	n := 0
	for {
		got, err := c.conn.Read(buffer[n:])
		if err != nil {
			c.end(err)
			return
		}
		n += got
		used, err := c.feed(buffer[:n])
		if err != nil {
			c.end(err)
			return
		}
		if n = copy(buffer, buffer[used:n]); n == len(buffer) {
			buffer = append(buffer, make([]byte, len(buffer))...)
		}
	}
}

func (c *Client) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
		c.err = err
	}
}

// feed hands bytes to the session and answers.
func (c *Client) feed(in []byte) (used int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var ev proto.Event
	for {
		n, out, err := c.session.Feed(clock.Now(), in[used:], c.out, &ev)
		c.out = out
		if n > 0 && c.pinged(in[used:]) {
			c.pings = append(c.pings, clock.Now())
		}
		used += n
		if err != nil {
			return used, errors.Join(err, c.flush())
		}
		c.note(&ev)
		if n == 0 && ev.Kind == proto.None {
			return used, c.flush()
		}
	}
}

// pinged: the packet at the begin of in asks whether the broker is there (MQTT 3.1.1, 3.12: PINGREQ).
func (c *Client) pinged(in []byte) bool {
	_, is := c.session.(*mqtt.Server)
	return is && in[0] == 0xC0
}

// Tick does what the protocol does by time; an error ends the connection, as that of a client that was silent for too long.
func (c *Client) Tick() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, out, err := c.session.Tick(clock.Now(), c.out)
	c.out = out
	if err != nil {
		return errors.Join(err, c.socket.Close())
	}
	return c.flush()
}

// note keeps what an event tells, with the lock held.
func (c *Client) note(ev *proto.Event) {
	switch {
	case ev.Kind == proto.Ready:
		c.connected = clock.Now()
	case ev.Kind == proto.Subscribed && c.topic == nil:
		c.topic, c.sub, c.heardAt = append([]byte{}, ev.Topic...), ev.Token, clock.Now()
		close(c.subscribed)
	}
}

// Room is how many messages of a QoS the client's window takes now.
func (c *Client) Room(qos uint8) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session.Room(qos)
}

// Send writes one message. It returns when it began to. Without wait, which needs a plain connection, it writes what the socket takes at
// once; ErrFull = nothing was written, as socket or window are full.
func (c *Client) Send(payload []byte, qos uint8, wait bool) (began int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for waited := time.Duration(0); c.session.Room(qos) == 0; waited += windowPoll {
		if !wait {
			return 0, ErrFull
		}
		if waited >= hanging {
			return 0, errHangs
		}
		c.mu.Unlock()
		time.Sleep(windowPoll)
		c.mu.Lock()
		select {
		case <-c.ended:
			return 0, gone(c.err)
		default:
		}
	}
	if len(c.out) > 0 && !wait {
		return 0, ErrFull // the rest of the message before
	}
	out, err := c.session.Publish(&proto.Message{Topic: c.topic, Payload: payload, QoS: qos, Sub: c.sub}, c.out)
	if err != nil {
		return 0, err
	}
	c.out = out
	began = clock.Now()
	if wait {
		return began, c.flush()
	}
	n, err := c.raw.writeNow(c.out)
	if n == 0 {
		c.out = c.out[:0]
		return 0, errors.Join(err, ErrFull)
	}
	c.out = append(c.out[:0], c.out[n:]...)
	return began, err
}

// Flush writes the rest of a message that a full socket took only the begin of.
func (c *Client) Flush() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.flush()
}

// windowPoll is how often a full window is looked at again; nothing is measured then but the client's own pace.
const windowPoll = 50 * time.Microsecond

// hanging is how long a client may take no byte and no message, before it counts as one that hangs.
const hanging = 15 * time.Second

// Errors of Send.
var (
	ErrFull  = errors.New("the client takes no more now")
	errGone  = errors.New("the client is gone")
	errHangs = fmt.Errorf("the client read and acknowledged nothing for %v", hanging)
)

// gone is errGone, with why the connection ended if that is known; a line.
func gone(why error) error {
	if why == nil {
		return errGone
	}
	return fmt.Errorf("%w: %w", errGone, why)
}

// Grow makes the socket's send buffer as large as the system allows, and returns its size in bytes.
func (c *Client) Grow(bytes int) (int, error) { return grow(c.socket, bytes) }

// Err is why the connection ended; nil = it stands, or the client closed it in order.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close ends the connection.
func (c *Client) Close() error {
	err := c.conn.Close()
	<-c.ended
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
