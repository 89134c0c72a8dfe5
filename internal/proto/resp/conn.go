package resp

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/mqlab/mqlab/internal/proto"
)

type phase uint8

const (
	closed     phase = iota
	greeting         // nothing was received yet
	connecting       // the handshake is under way
	ready
)

// conn is what clients of every kind have in common: handshake, answers in order, flow control, keep-alive.
type conn struct {
	cfg         *Config
	name        string
	queue       queue
	keepAlive   proto.KeepAlive
	unconfirmed int32 // messages of QoS 1
	phase       phase
	resp3       bool
}

var (
	errNotReady  = errors.New("redis: not connected")
	errNoRoom    = errors.New("redis: the window is full")
	errQoS2      = errors.New("redis: there is no exactly-once delivery: only QoS 0 and 1 are possible")
	errRetain    = errors.New("redis: there are no retained messages")
	errUnasked   = errors.New("redis: the server answers what was not asked")
	errTooLittle = errors.New("redis: a message of the server lacks its content")
)

// open appends the first words of a conversation.
func (c *conn) open(out []byte) []byte {
	c.queue = queue{}
	c.keepAlive.Start(0, 0)
	c.unconfirmed, c.phase, c.resp3 = 0, greeting, false
	if c.cfg.RESP2 {
		return c.logIn(out)
	}
	words := []string{"HELLO", "3"}
	if c.cfg.Password != "" {
		user := c.cfg.User
		if user == "" {
			user = "default"
		}
		words = append(words, "AUTH", user, c.cfg.Password)
	}
	if c.name != "" {
		words = append(words, "SETNAME", clean(c.name))
	}
	return c.send(command{cause: toGreet}, out, words...)
}

// logIn goes on without HELLO.
func (c *conn) logIn(out []byte) []byte {
	switch {
	case c.cfg.User != "":
		out = c.send(command{cause: toLogIn}, out, "AUTH", c.cfg.User, c.cfg.Password)
	case c.cfg.Password != "":
		out = c.send(command{cause: toLogIn}, out, "AUTH", c.cfg.Password)
	}
	if c.name != "" {
		out = c.send(command{cause: toName}, out, "CLIENT", "SETNAME", clean(c.name))
	}
	return c.ping(command{cause: toConnect}, out)
}

// clean replaces what Redis does not allow in the name of a client.
func clean(name string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return '_'
		}
		return r
	}, name)
}

func (c *conn) send(what command, out []byte, words ...string) []byte {
	c.queue.push(what)
	return appendCommand(out, words...)
}

func (c *conn) ping(why command, out []byte) []byte {
	c.queue.push(why)
	return append(out, "*1\r\n$4\r\nPING\r\n"...)
}

// Barrier appends a PING. Its answer, reported as an event of kind Barrier with the same token, proves that the server
// has handled everything sent before.
func (c *conn) Barrier(token uint64, out []byte) []byte {
	return c.ping(command{cause: toBarrier, token: token}, out)
}

// Close appends nothing: Redis has no goodbye that means more than closing the connection.
func (c *conn) Close(out []byte) []byte { return out }

// Tick sends keep-alive PINGs.
func (c *conn) Tick(now int64, out []byte) (int64, []byte, error) {
	next, send, err := c.keepAlive.Tick(now, c.cfg.KeepAlive)
	if err != nil {
		return next, out, fmt.Errorf("redis: %w", err)
	}
	if send {
		out = c.ping(command{cause: toKeepAlive}, out)
	}
	return next, out, nil
}

// Room is the window of the configuration less what is not acknowledged, and a large number for QoS 0.
func (c *conn) Room(qos uint8) int {
	switch {
	case c.phase != ready:
		return 0
	case qos == 0 || c.cfg.Window == 0:
		return math.MaxInt32
	}
	return c.cfg.Window - int(c.unconfirmed)
}

// sendable says why a message cannot be published now, or nil.
func (c *conn) sendable(m *proto.Message) error {
	switch {
	case c.phase != ready:
		return errNotReady
	case m.QoS > 1:
		return errQoS2
	case m.Retain:
		return errRetain
	case len(m.Payload) > c.cfg.maxPayload():
		return errTooLarge("message", len(m.Payload), c.cfg.maxPayload())
	case len(m.Topic) > maxLine:
		return errTooLarge("topic", len(m.Topic), maxLine)
	case m.QoS == 1 && c.Room(1) <= 0:
		return errNoRoom
	}
	return nil
}

func errTooLarge(what string, size, limit int) error {
	return fmt.Errorf("redis: %s of %d bytes is above the limit of %d bytes", what, size, limit)
}

// sent notes that the command of a message was appended.
func (c *conn) sent(m *proto.Message) {
	if m.QoS == 0 {
		c.queue.pushRun()
		return
	}
	c.unconfirmed++
	c.queue.push(command{cause: toPublishSure, token: m.Token})
}

// hear notes a sign of life, and fails when the first bytes are not those of Redis. wait asks for more of them.
func (c *conn) hear(in []byte) (wait bool, err error) {
	if len(in) == 0 || c.phase == closed {
		return true, nil
	}
	c.keepAlive.Heard()
	if c.phase != greeting {
		return false, nil
	}
	return foreign(in, "-+*%$:")
}

// reply reads the rest of an answer whose first line was h, without acting on it. The error reply is nil where the
// server did what was asked.
func (s *scanner) reply(h *head) (refusal *ServerError) {
	if h.isError() {
		text := s.text(h)
		if s.stuck() {
			return nil
		}
		return parseError(text)
	}
	s.skip(s.inside(h))
	return nil
}

// answered takes an answer off the queue and acts on it, as far as clients of all kinds do the same about it.
// handled = false leaves it to the caller. Errors are final.
func (c *conn) answered(now int64, h *head, refusal *ServerError, out []byte, ev *proto.Event) (
	cmd command, handled bool, o []byte, err error,
) {
	if c.queue.empty() {
		if refusal != nil {
			return cmd, true, out, refusal
		}
		return cmd, true, out, errUnasked
	}
	cmd = *c.queue.oldest()
	c.queue.pop()
	if c.phase == greeting {
		c.phase = connecting
	}
	if refusal != nil && refusal.fatal() {
		return cmd, true, out, refusal
	}
	switch cmd.cause {
	case toGreet:
		out, err = c.greeted(h, refusal, out)
	case toLogIn:
		if refusal != nil {
			err = refusal
		}
	case toName: // a name is only for show
	case toConnect:
		err = c.connected(now, refusal, ev)
	case toKeepAlive:
		c.keepAlive.Answered()
	case toBarrier:
		ev.Kind, ev.Token = proto.Barrier, cmd.token
	case toPublish:
		if refusal != nil {
			ev.Err = refusal
		}
	case toPublishSure:
		c.unconfirmed--
		ev.Kind, ev.Token, ev.QoS = proto.Acked, cmd.token, 1
		if refusal != nil {
			ev.Err = refusal
		}
	default:
		return cmd, false, out, nil
	}
	return cmd, true, out, err
}

// greeted acts on the answer to HELLO.
func (c *conn) greeted(h *head, refusal *ServerError, out []byte) ([]byte, error) {
	switch {
	case refusal == nil:
		c.resp3 = h.kind == '%'
		return c.ping(command{cause: toConnect}, out), nil
	case refusal.refusesRESP3():
		return c.logIn(out), nil
	}
	return out, refusal
}

// connected acts on the answer to the first PING. A user may lack the permission for PING, and a server that cannot save
// its data refuses even that, but both have accepted us.
func (c *conn) connected(now int64, refusal *ServerError, ev *proto.Event) error {
	if refusal != nil && refusal.Code != "NOPERM" && refusal.Code != "MISCONF" {
		return refusal
	}
	c.phase = ready
	c.keepAlive.Start(now, c.cfg.KeepAlive)
	ev.Kind = proto.Ready
	return nil
}
