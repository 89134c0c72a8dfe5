package mqtt

import (
	"errors"
	"fmt"

	"github.com/mqlab/mqlab/internal/proto"
)

var (
	_ proto.Client = (*Client)(nil)
	_ proto.Server = (*Server)(nil)
)

// Client is a client's side of one connection, and across reconnections of one session. It implements proto.Client.
type Client struct {
	exchange
	*seldom  // never nil; to be changed through own only
	nextTick int64
	mute     uint8 // looks of Tick since something was sent
	deaf     uint8 // looks of Tick since something was heard
	heard    bool  // something since the last look
	waiting  bool  // for CONNACK
	opened   bool  // Open was called before
	clean    bool  // a clean start was asked for
}

// seldom is what a client needs while the broker owes it an answer to a PINGREQ, and where it has an identifier of its own.
type seldom struct {
	id        string // as given, or as the broker assigned it; "" = by number
	pingSince int64  // since when the broker owes the answer to a PINGREQ, and anything else, as far as Tick knows
	barrier   uint64 // token of the Barrier asked for last
	pings     uint32 // unanswered PINGREQs
	asked     bool   // a Barrier waits for its answer
}

// nothingSeldom is that of all clients that need none. It is never changed.
var nothingSeldom = &seldom{}

// own returns a seldom that may be changed.
func (c *Client) own() *seldom {
	if c.seldom == nothingSeldom {
		c.seldom = &seldom{}
	}
	return c.seldom
}

// tidy gives back a seldom in which nothing is left.
func (c *Client) tidy() {
	if c.pings == 0 && !c.asked && c.id == "" {
		c.seldom = nothingSeldom
	}
}

// NewClient returns a client with this client identifier, which may be empty (the broker then assigns one if it likes).
// Clients of one Config must be made one after the other.
func NewClient(cfg *Config, id string) *Client {
	c := NewNumbered(cfg, 0)
	if id != "" {
		c.own().id = id
	}
	return c
}

// NewNumbered returns a client whose identifier is cfg.Name(n), which costs less than keeping it.
func NewNumbered(cfg *Config, n uint32) *Client {
	return &Client{exchange: exchange{terms: cfg.initial(), held: nothingHeld, number: n}, seldom: nothingSeldom}
}

// ID is the client identifier: as given, by number, or as the broker assigned it.
func (c *Client) ID() string {
	if c.id == "" && c.cfg.Name != nil {
		return c.cfg.Name(c.number)
	}
	return c.id
}

// Need returns the size of the packet that starts at in; see the function Need.
func (c *Client) Need(in []byte) int { return Need(in) }

// InFlight is how many messages of QoS 1 and 2 are not acknowledged.
func (c *Client) InFlight() int { return c.out.messages() }

// Open implements proto.Session: it appends CONNECT.
func (c *Client) Open(now int64, out []byte) []byte {
	c.ready, c.waiting = false, true
	c.wrote = true
	c.mute, c.deaf = 0, 0
	if c.seldom != nothingSeldom {
		c.pings, c.asked = 0, false
		c.tidy()
	}
	c.terms = c.cfg.initial()
	c.clean = c.cfg.CleanStart && !(c.opened && c.cfg.keepsSession())
	c.opened = true
	if c.out != nil {
		c.out.reopen()
	}
	return appendConnect(out, c.cfg, c.ID(), c.clean)
}

// Feed implements proto.Session. It may report Resend without consuming anything. When the broker refuses the
// connection the error is a *ReasonError.
func (c *Client) Feed(now int64, in, out []byte, ev *proto.Event) (n int, o []byte, err error) {
	*ev = proto.Event{}
	if c.out != nil && c.ready && c.out.report(c.limit, ev) {
		return 0, out, nil
	}
	accepted := uint16(fromBroker)
	if c.waiting {
		accepted = 1<<pktConnack | 1<<pktDisconnect
		if len(in) > 0 && in[0] == pktDisconnect<<4 { // of a broker that is too busy to answer properly
			return c.turnedAway(in, out)
		}
		if wait, err := foreign(in, pktConnack<<4); wait || err != nil {
			return 0, out, err
		}
	}
	size, body, err := frame(in, accepted, c.cfg.MaxPacketBytes)
	if err != nil || size == 0 || size > len(in) {
		return 0, out, err
	}
	o, err = c.handle(now, in[0], in[body:size:size], out, ev)
	if err != nil {
		*ev = proto.Event{}
		return 0, out, err
	}
	c.wrote = c.wrote || len(o) > len(out)
	c.alive(now)
	return size, o, nil
}

// turnedAway words a DISCONNECT that comes instead of CONNACK.
func (c *Client) turnedAway(in, out []byte) (n int, o []byte, err error) {
	size, body, err := frame(in, 1<<pktDisconnect, c.cfg.MaxPacketBytes)
	if err != nil || size == 0 || size > len(in) {
		return 0, out, err
	}
	var ev proto.Event
	v5 := exchange{terms: &terms{version: V5}}
	if err := readDisconnect(&v5, in[body:size:size], &ev); err != nil {
		return 0, out, err
	}
	e, known := ev.Err.(*ReasonError)
	if !known || e.Code == reasonNone { // a goodbye that gives no reason, or one that only a client has
		e = &ReasonError{Words: "it disconnects before it has accepted, without a reason; it may be overloaded"}
	}
	e.What = refusedConnection
	return 0, out, e
}

// handle acts on one whole packet.
func (c *Client) handle(now int64, first byte, body, out []byte, ev *proto.Event) ([]byte, error) {
	kind := first >> 4
	if !c.waiting && !c.ready {
		return out, fmt.Errorf("mqtt: a %s follows the end of the conversation", packetNames[kind])
	}
	switch kind {
	case pktPublish:
		id, err := c.readPublish(first, body, ev)
		if err != nil || id == 0 {
			return out, err
		}
		return c.confirm(id, 0, out, ev)
	case pktPuback, pktPubrec, pktPubrel, pktPubcomp:
		return c.acked(kind, body, out, ev)
	case pktConnack:
		return c.connack(now, body, out, ev)
	case pktSuback:
		return out, c.suback(body, ev)
	case pktPingresp:
		return out, c.pingresp(now, body, ev)
	case pktDisconnect:
		c.ready = false
		return out, readDisconnect(&c.exchange, body, ev)
	}
	return out, fmt.Errorf("mqtt: a %s from the broker answers nothing that was asked", packetNames[kind])
}

// Barrier appends a PINGREQ. When it is answered Feed reports Barrier with this token: the broker has read all that was
// sent before. A Barrier asked for before an earlier one was answered replaces it.
func (c *Client) Barrier(token uint64, out []byte) []byte {
	o := c.own()
	o.barrier, o.asked = token, true
	return c.ping(out)
}

// Close implements proto.Session: it appends DISCONNECT, after which the broker publishes no will.
func (c *Client) Close(out []byte) []byte {
	if !c.ready {
		return out
	}
	c.ready = false
	return append(out, pktDisconnect<<4, 0)
}

// Room implements proto.Publisher: the window of the configuration or the receive maximum of the broker, whichever is
// smaller, less what is unacknowledged. It is 0 for QoS 1 and 2 until all messages of a resumed session were reported as Resend.
func (c *Client) Room(qos uint8) int { return c.room(qos) }

// Publish implements proto.Publisher. Errors: ErrNotReady, ErrNoRoom, *TooLargeError, and limits of the broker in words.
func (c *Client) Publish(m *proto.Message, out []byte) ([]byte, error) { return c.publish(m, out) }

// Plain implements proto.Plain: messages of QoS 0 carry no packet identifier.
func (c *Client) Plain(qos uint8) (trailer string, ok bool) { return "", qos == 0 }

// Subscribe implements proto.Subscriber. A Group makes it a shared subscription.
func (c *Client) Subscribe(s *proto.Subscription, out []byte) ([]byte, error) {
	filter := s.Topic
	if s.Group != "" {
		filter = "$share/" + s.Group + "/" + s.Topic
	}
	if err := checkFilter(filter); err != nil {
		return out, fmt.Errorf("mqtt: cannot subscribe: %w", err)
	}
	switch {
	case !c.ready:
		return out, ErrNotReady
	case s.QoS > 2:
		return out, fmt.Errorf("mqtt: cannot subscribe: there is no QoS %d", s.QoS)
	case s.Group != "" && c.noShared:
		return out, errors.New("mqtt: the broker does not offer shared subscriptions")
	}
	if c.out == nil {
		c.hold().out = new(inflight)
	}
	id := c.out.take(s.Token, slotSubscribing)
	if id == 0 {
		return out, errors.New("mqtt: cannot subscribe: all packet identifiers are in use")
	}
	c.wrote = true
	return appendSubscribe(out, c.cfg, id, filter, s), nil
}

// suback reports what became of a subscription.
func (c *Client) suback(body []byte, ev *proto.Event) error {
	r := reader{rest: body}
	id := r.u16()
	var text string
	if c.version == V5 {
		var err error
		if text, err = checkProperties(&r, pktSuback); err != nil {
			return malformed(pktSuback, err)
		}
	}
	code := r.u8()
	switch {
	case r.short:
		return malformed(pktSuback, errShort)
	case len(r.rest) > 0:
		return malformed(pktSuback, errTrailing)
	case code > 2 && code < 0x80:
		return malformed(pktSuback, fmt.Errorf("it grants QoS %d", code))
	}
	s := c.out.get(id, slotSubscribing, slotSubscribing)
	if s == nil {
		return fmt.Errorf("mqtt: a SUBACK confirms packet identifier %d, which waits for none", id)
	}
	ev.Kind, ev.Token, ev.QoS = proto.Subscribed, s.token, code
	if code >= 0x80 {
		ev.QoS, ev.Err = 0, reasonError("broker refused the subscription", code, text)
	}
	c.out.release(id)
	if c.out.unused() {
		c.hold().out = nil
		c.letGo()
	}
	return nil
}
