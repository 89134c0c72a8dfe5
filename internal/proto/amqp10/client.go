package amqp10

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/mqlab/mqlab/internal/proto"
)

var (
	_ proto.Client = (*Client)(nil)
	_ proto.Server = (*Server)(nil)
)

// ErrNoRoom is returned by Publish when flow control lets no further message through; see Room.
var ErrNoRoom = errors.New("amqp10: no room: link credit or window are used up, or the link is not attached yet")

// ErrNotReady is returned by Publish and Subscribe before the peer has accepted the connection and after its end.
var ErrNotReady = errors.New("amqp10: not connected")

var (
	errQoS     = errors.New("amqp10: there is no QoS 2, only 0 (settled) and 1 (unsettled)")
	errRetain  = errors.New("amqp10: there are no retained messages")
	errTopic   = fmt.Errorf("amqp10: a topic has more than %d bytes, or the address made of it does not fit a frame", maxName)
	errSettled = errors.New("amqp10: the peer wants all messages settled: there is no QoS 1 here")
)

// room is what Room returns where nothing limits.
const room = math.MaxInt32

type phase uint8

const (
	awaitSASL phase = iota // the protocol header of the security layer
	awaitMechanisms
	awaitOutcome
	awaitHeader
	awaitOpen
	awaitBegin
	awaitSender // and credit for it
	ready
	ended
)

// Client is a client's side of a connection. It needs less than 200 bytes when idle, and about 100 more for each link.
//
// A subscription that the broker ends is reported as an event of kind None with Err set and its Token; a sender that it
// ends likewise, after all messages that were unsettled on it.
type Client struct {
	Name string // container-id; a durable subscription is known by it and by its topic

	endpoint
	cfg     *Config
	sender  *link            // the one used last
	senders map[string]*link // by topic, if there are several
	phase   phase
	blamed  bool // the subscription that ended the session was reported
}

// NewClient makes a client that has not connected yet.
func NewClient(cfg *Config, name string) *Client { return &Client{cfg: cfg, Name: name} }

// Open appends the protocol header. Links and unsettled messages of an earlier connection are gone.
func (c *Client) Open(_ int64, out []byte) []byte {
	c.renew(c.cfg.frameMax(), c.cfg.sessionWindow())
	c.sender, c.senders, c.phase, c.blamed = nil, nil, awaitSASL, false
	return append(out, headerSASL...)
}

// Close appends what is still to be settled, and close. What flow control held back is gone.
func (c *Client) Close(out []byte) []byte {
	if c.phase <= awaitHeader || c.phase == ended {
		return out
	}
	c.phase = ended
	return appendClose(c.flush(out), "", "")
}

// appendClose ends the connection; a condition says why.
func appendClose(out []byte, condition, text string) []byte {
	out, start := beginFrame(out, doClose)
	return endFrame(appendError(out, condition, text), start, 1)
}

// Need returns how many bytes the unit at the start of in occupies; 0 = not known yet, or about to be refused by Feed.
func (c *Client) Need(in []byte) int {
	if c.phase == awaitSASL || c.phase == awaitHeader {
		return 0 // whatever answers may be shorter than a protocol header
	}
	return c.need(in)
}

// Room is the least credit of all senders, as far as the session window goes; 0 while a part of a message is held back.
// For QoS 1 it is also the window of the configuration less what is unsettled. Where there is no sender yet there is
// room for one message, which waits for it.
func (c *Client) Room(qos uint8) int {
	if c.phase != ready || qos > 1 || c.held != nil {
		return 0
	}
	n := room
	if qos == 1 && c.cfg.Window > 0 {
		n = max(0, c.cfg.Window-c.InFlight())
	}
	if c.sender == nil {
		return min(n, 1)
	}
	n = min(n, int(min(c.outWindow, room)))
	for _, l := range c.links {
		if l != nil && l.sends {
			n = min(n, max(0, int(l.credit)))
		}
	}
	return n
}

// Publish appends one message; before the first of a topic that has no sender, the attach of one. What flow control does
// not let through yet is kept, at most what Room promised, and leaves when Feed hears from the peer.
func (c *Client) Publish(m *proto.Message, out []byte) ([]byte, error) {
	switch {
	case c.phase != ready:
		return out, ErrNotReady
	case m.QoS > 1:
		return out, errQoS
	case m.Retain:
		return out, errRetain
	case len(m.Topic) > maxName:
		return out, errTopic
	case len(m.Payload) > maxMessage:
		return out, fmt.Errorf("amqp10: a payload of %d bytes is more than %d", len(m.Payload), maxMessage)
	case m.QoS == 1 && c.cfg.Window > 0 && c.InFlight() >= c.cfg.Window:
		return out, ErrNoRoom
	}
	l := c.senderOf(m.Topic)
	if l == nil && c.held == nil {
		var err error
		if l, out, err = c.attachSender(m.Topic, out); err != nil {
			return out, err
		}
	}
	if l == nil || l.credit <= 0 || (c.held != nil && c.held.link != l) {
		return out, ErrNoRoom
	}
	o := outgoing{payload: m.Payload, durable: c.cfg.Durable, again: m.Redelivered}
	switch {
	case c.cfg.Anonymous:
		o.before, o.after, _ = strings.Cut(c.cfg.Target.Address, TopicHere)
		o.to = m.Topic
	case len(l.topic) == 0:
		o.subject = m.Topic
	}
	if err := c.admit(l, &o, m); err != nil {
		return out, err
	}
	c.idle.wrote = true
	return c.send(l, &o, out), nil
}

// senderOf is the sender for a topic; nil = there is none.
func (c *Client) senderOf(topic []byte) *link {
	if l := c.sender; l == nil || c.cfg.oneSender() || bytes.Equal(l.topic, topic) {
		return l
	}
	l := c.senders[string(topic)]
	if l != nil {
		c.sender = l
	}
	return l
}

// attachSender appends the attach of the sender for a topic, which may then have one message in advance.
func (c *Client) attachSender(topic, out []byte) (*link, []byte, error) {
	t := &c.cfg.Target
	address := ""
	l := link{sends: true, credit: 1}
	if !c.cfg.oneSender() {
		l.topic = bytes.Clone(topic)
	}
	if !c.cfg.Anonymous {
		address = t.address(string(topic), "")
	}
	n := c.newLink(l)
	o := n.appendAttach(out, plainTerminus(typeSource, c.Name), t.append(nil, typeTarget, address), modeMixed)
	if err := c.fits(n, len(o)-len(out)); err != nil {
		return nil, out, err
	}
	if c.sender != nil {
		if c.senders == nil {
			c.senders = map[string]*link{string(c.sender.topic): c.sender}
		}
		c.senders[string(topic)] = n
	}
	c.sender = n
	return n, o, nil
}

// admit checks a message against what the peer has said about the link, and gives it the next delivery-id.
func (e *endpoint) admit(l *link, o *outgoing, m *proto.Message) error {
	if l.max > 0 {
		var scratch [1024]byte
		if size := uint64(len(o.appendHead(scratch[:0])) + len(o.payload)); size > l.max {
			return fmt.Errorf("amqp10: a message of %d bytes is larger than the max-message-size of %d bytes", size, l.max)
		}
	}
	state := uint8(deliverySettled)
	switch {
	case m.QoS == 1 && l.settles:
		return errSettled
	case m.QoS == 1:
		state = deliveryOpen
	case l.qos == 1:
		state = deliverySilent
	}
	o.settled = state == deliverySettled
	if e.sent == nil && !o.settled {
		e.sent = new(unsettled)
		e.sent.reset(e.nextDelivery)
	}
	if e.sent != nil {
		e.sent.add(m.Token, l.handle, state)
	}
	return nil
}

// Tick sends empty frames.
func (c *Client) Tick(now int64, out []byte) (int64, []byte, error) {
	return c.idle.tick(now, out)
}
