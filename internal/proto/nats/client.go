// Package nats speaks the NATS core protocol as sessions without I/O: Client is what the engines drive, Server is the
// broker's side for tests and for the broker with known faults.
//
// The protocol is lines of text with counted payloads behind some of them:
//
//	server: INFO {json}                     client: CONNECT {json}, PING
//	server: PONG                            → Ready
//	                                        client: SUB subject [queue] sid, PING
//	server: PONG                            → Subscribed: whatever is published from now on reaches us
//	                                        client: PUB subject size, payload
//	server: MSG subject sid size, payload   → Delivered
//	server: -ERR 'text'                     → an error in words
//
// Core NATS acknowledges nothing. A server handles the lines of one connection in order, so the PONG to a PING proves
// that everything sent before it was handled; connecting, subscribing and Barrier all rest on that.
//
// See https://docs.nats.io/reference/reference-protocols/nats-protocol.
package nats

import (
	"errors"
	"fmt"
	"math"

	"github.com/mqlab/mqlab/internal/proto"
)

// room is what Room returns: NATS has no flow control of its own.
const room = math.MaxInt32

type phase uint8

const (
	awaitInfo phase = iota
	connecting
	ready
)

// Client is a client's side of a connection. It needs about 150 bytes when idle.
//
// An -ERR after which the server keeps the connection (permissions, invalid subject) is reported as an event of kind
// None with Err set, unless it answers a subscription. Entering lame duck mode is reported in the same way.
type Client struct {
	Name string // given to the server by CONNECT

	cfg       *Config
	headers   []byte // of the message delivered last
	reply     []byte // subject to which that message may be answered
	pings     pings
	keepAlive proto.KeepAlive
	refused   error // why the subscription that the next PONG is about was refused
	limit     int32 // largest message, headers included
	phase     phase
	noHeaders bool // the server does not take HPUB
	lameDuck  bool
	// noResponders has the server answer for a request that nobody hears.
	noResponders bool
}

var _ proto.Client = (*Client)(nil)

// NewClient makes a client that has not connected yet.
func NewClient(cfg *Config) *Client { return &Client{cfg: cfg, Name: cfg.Name} }

// Open appends nothing: the server speaks first. Subscriptions of an earlier connection are gone.
func (c *Client) Open(_ int64, out []byte) []byte {
	pings := c.pings
	pings.reset()
	*c = Client{Name: c.Name, cfg: c.cfg, pings: pings, limit: maxMessage, noResponders: c.noResponders}
	c.keepAlive.Start(0, 0)
	return out
}

// Close appends nothing: NATS has no goodbye.
func (c *Client) Close(out []byte) []byte { return out }

// Room is the same large number for every QoS once the client is ready.
func (c *Client) Room(uint8) int {
	if c.phase != ready {
		return 0
	}
	return room
}

// Need returns how many bytes the unit at the start of in occupies; 0 = not known yet, or about to be refused by Feed.
func (c *Client) Need(in []byte) int { return need(in) }

// Headers is the header block of the message that Feed delivered last; nil if it had none. It is valid as long as the
// event's payload.
func (c *Client) Headers() []byte { return c.headers }

var (
	errNotReady = errors.New("nats: not connected")
	errQoS      = errors.New("nats: core NATS has no acknowledgements: only QoS 0 is possible")
	errNoHeader = errors.New("nats: the server does not accept message headers")
)

// Publish appends PUB, or HPUB if the configuration has headers.
func (c *Client) Publish(m *proto.Message, out []byte) ([]byte, error) {
	if m.QoS > 0 {
		return out, errQoS
	}
	if err := c.sendable(m); err != nil {
		return out, err
	}
	return appendMessage(out, c.verb(), m.Topic, "", c.cfg.Headers, m.Payload), nil
}

// verb is what publishes, with the blank behind it.
func (c *Client) verb() string {
	if len(c.cfg.Headers) > 0 {
		return "HPUB "
	}
	return "PUB "
}

// sendable reports why m cannot be sent to this server.
func (c *Client) sendable(m *proto.Message) error {
	if c.phase != ready {
		return errNotReady
	}
	if err := checkSubject(m.Topic); err != nil {
		return err
	}
	if len(c.cfg.Headers) > 0 && c.noHeaders {
		return errNoHeader
	}
	if size := len(c.cfg.Headers) + len(m.Payload); size > int(c.limit) {
		return fmt.Errorf("nats: message of %d bytes is above the limit of %d bytes (max_payload)", size, c.limit)
	}
	return nil
}

// Subscribe appends SUB and a PING whose PONG confirms it. The token serves as the subscription's sid: it must be unique
// among the subscriptions of this connection, and below 10^19. Delivered events carry it.
func (c *Client) Subscribe(s *proto.Subscription, out []byte) ([]byte, error) {
	if c.phase != ready {
		return out, errNotReady
	}
	if s.QoS > 0 {
		return out, errQoS
	}
	if s.Token >= 1e19 {
		return out, fmt.Errorf("nats: subscription token %d is too large for a sid", s.Token)
	}
	if err := checkPattern([]byte(s.Topic)); err != nil {
		return out, err
	}
	if err := checkGroup(s.Group); err != nil {
		return out, err
	}
	out = append(out, "SUB "...)
	out = append(out, s.Topic...)
	if s.Group != "" {
		out = append(out, ' ')
		out = append(out, s.Group...)
	}
	out = append(out, ' ')
	out = appendUint(out, s.Token)
	out = append(out, "\r\n"...)
	return c.ping(ping{cause: toSubscribe, token: s.Token}, out), nil
}

// Plain implements proto.Plain: the server assigns nothing to a message.
func (c *Client) Plain(uint8) (trailer string, ok bool) { return "\r\n", true }

// Barrier appends a PING. Its PONG, reported as an event of kind Barrier with the same token, proves that the server
// has handled everything sent before.
func (c *Client) Barrier(token uint64, out []byte) []byte {
	return c.ping(ping{cause: toBarrier, token: token}, out)
}

func (c *Client) ping(p ping, out []byte) []byte {
	c.pings.push(p)
	return append(out, "PING\r\n"...)
}

// Tick sends keep-alive PINGs.
func (c *Client) Tick(now int64, out []byte) (int64, []byte, error) {
	next, send, err := c.keepAlive.Tick(now, c.cfg.KeepAlive)
	if err != nil {
		return next, out, fmt.Errorf("nats: %w", err)
	}
	if send {
		out = c.ping(ping{cause: toKeepAlive}, out)
	}
	return next, out, nil
}

// Feed consumes one operation of the server.
func (c *Client) Feed(now int64, in, out []byte, ev *proto.Event) (int, []byte, error) {
	*ev = proto.Event{}
	if len(in) > 0 { // even a part of a unit is a sign of life
		c.keepAlive.Heard()
	}
	if c.phase == awaitInfo {
		if wait, err := foreign(in); wait || err != nil {
			return 0, out, err
		}
	}
	line, n, err := cutLine(in)
	if n == 0 {
		return 0, out, err
	}
	o, args := cutOp(line)
	switch o {
	case opMsg, opHmsg:
		if c.phase != ready {
			return 0, out, errUnexpected(o, line)
		}
		n, err = c.deliver(o, args, in, n, ev)
	case opPing:
		out = append(out, "PONG\r\n"...)
	case opPong:
		c.pong(now, ev)
	case opInfo:
		out, err = c.info(args, out, ev)
	case opErr:
		err = c.error(args, ev)
	case opOK:
	default:
		err = errUnexpected(o, line)
	}
	return n, out, err
}

func (c *Client) deliver(o op, args, in []byte, n int, ev *proto.Event) (int, error) {
	var f frame
	if err := parseFrame(o, args, &f); err != nil {
		return 0, err
	}
	sid, ok := parseUint(f.sid)
	if !ok {
		return 0, malformed(o, args)
	}
	headers, payload, unit, err := f.body(o, in, n)
	if unit == 0 {
		return 0, err
	}
	c.headers, c.reply = headers, f.reply
	ev.Kind, ev.Token, ev.Topic, ev.Payload = proto.Delivered, sid, f.subject, payload
	return unit, nil
}

func (c *Client) pong(now int64, ev *proto.Event) {
	if c.pings.empty() {
		return
	}
	p := c.pings.oldest()
	c.pings.pop()
	switch p.cause {
	case toConnect:
		c.phase = ready
		c.keepAlive.Start(now, c.cfg.KeepAlive)
		ev.Kind = proto.Ready
	case toSubscribe:
		ev.Kind, ev.Token, ev.Err = proto.Subscribed, p.token, c.refused
		c.refused = nil
	case toBarrier:
		ev.Kind, ev.Token = proto.Barrier, p.token
	case toKeepAlive:
		c.keepAlive.Answered()
	}
}

func (c *Client) info(args, out []byte, ev *proto.Event) ([]byte, error) {
	i, err := parseInfo(args)
	if err != nil {
		return out, err
	}
	c.limit, c.noHeaders = i.limit(), !i.Headers
	if i.LameDuck && !c.lameDuck {
		c.lameDuck = true
		ev.Err = errors.New("nats: server enters lame duck mode: it is going to close this connection")
	}
	if c.phase != awaitInfo {
		return out, nil
	}
	if i.TLSRequired && !c.cfg.TLS {
		return out, errors.New("nats: server requires TLS: use tls://")
	}
	if out, err = c.appendConnect(out); err != nil {
		return out, err
	}
	c.phase = connecting
	return c.ping(ping{cause: toConnect}, out), nil
}

// error handles -ERR. Since the server works in order and each SUB is followed by its own PING, the refusal of a
// subscription always concerns the PING that is answered next.
func (c *Client) error(args []byte, ev *proto.Event) error {
	e := parseErr(args)
	if e.fatal || c.phase != ready {
		return e
	}
	if !c.pings.empty() {
		if p := c.pings.oldest(); p.cause == toSubscribe && e.refuses(p.token) {
			c.refused = e
			return nil
		}
	}
	ev.Err = e
	return nil
}
