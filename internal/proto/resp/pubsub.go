package resp

import (
	"fmt"
	"strings"

	"github.com/mqlab/mqlab/internal/proto"
)

// PubSub is a client's side of a connection that publishes to channels and subscribes to them. It needs about 150 bytes
// when idle.
//
// A refused PUBLISH of QoS 0 is reported as an event of kind None with Err set. Delivered events carry no token: the
// server names the channel only. A channel that is subscribed to by its name and by a pattern is delivered twice.
//
// Where the server speaks RESP2 only, a connection that has subscribed cannot publish any more.
type PubSub struct {
	conn
	subscriber bool // a subscription was asked for
}

var _ proto.Client = (*PubSub)(nil)

// NewPubSub makes a client that has not connected yet. The server shows name, if there is one, in its list of clients.
func NewPubSub(cfg *Config, name string) *PubSub {
	return &PubSub{conn: conn{cfg: cfg, name: name}}
}

// Open appends HELLO, or AUTH and what follows it. Subscriptions of an earlier connection are gone.
func (c *PubSub) Open(_ int64, out []byte) []byte {
	c.subscriber = false
	return c.open(out)
}

const publish = "*3\r\n$7\r\nPUBLISH\r\n"

// Publish appends PUBLISH. With QoS 1 the reply is reported as Acked, whatever the number of receivers in it.
func (c *PubSub) Publish(m *proto.Message, out []byte) ([]byte, error) {
	if err := c.sendable(m); err != nil {
		return out, err
	}
	if c.subscriber && !c.resp3 {
		return out, fmt.Errorf("redis: with RESP2 a connection that has subscribed cannot publish")
	}
	out = grow(out, m.Topic, m.Payload)
	out = append(out, publish...)
	out = appendBulk(out, m.Topic)
	out = appendBulk(out, m.Payload)
	c.sent(m)
	return out, nil
}

// Subscribe appends SUBSCRIBE, or PSUBSCRIBE if the filter has a *. In a pattern * stands for any characters, '/'
// included, and ? [ ] \ have their meaning, too; otherwise the filter is the name of a channel. Whatever QoS is asked for,
// pub/sub delivers at most once: the confirmation says QoS 0.
func (c *PubSub) Subscribe(s *proto.Subscription, out []byte) ([]byte, error) {
	switch {
	case c.phase != ready:
		return out, errNotReady
	case s.QoS > 1:
		return out, errQoS2
	case s.Group != "":
		return out, fmt.Errorf("redis: pub/sub has no groups: %q cannot be shared; streams can", s.Topic)
	case len(s.Topic) > maxLine:
		return out, errTooLarge("topic", len(s.Topic), maxLine)
	}
	verb := "SUBSCRIBE"
	if isPattern(s.Topic) {
		verb = "PSUBSCRIBE"
	}
	c.subscriber = true
	return c.send(command{cause: toSubscribe, token: s.Token}, out, verb, s.Topic), nil
}

func isPattern(filter string) bool { return strings.IndexByte(filter, '*') >= 0 }

// Feed consumes one reply or one push of the server.
func (c *PubSub) Feed(now int64, in, out []byte, ev *proto.Event) (int, []byte, error) {
	*ev = proto.Event{}
	if wait, err := c.hear(in); wait || err != nil {
		return 0, out, err
	}
	s := scanner{in: in}
	h := s.head()
	switch {
	case s.stuck():
		return s.end(out)
	case h.kind == '>' || h.kind == '*' && !c.resp3 && c.phase == ready:
		if h.n < 1 {
			return 0, out, errTooLittle
		}
		return c.pushed(now, &s, h.n, out, ev)
	case h.kind == '|': // attributes: they are about the reply that follows
		s.skip(2 * h.n)
		return s.end(out)
	}
	refusal := s.reply(&h)
	if s.stuck() {
		return s.end(out)
	}
	cmd, handled, out, err := c.answered(now, &h, refusal, out, ev)
	if !handled {
		if refusal == nil { // a subscription is confirmed by a push
			return 0, out, errUnasked
		}
		ev.Kind, ev.Token, ev.Err = proto.Subscribed, cmd.token, refusal
	}
	if err != nil {
		return 0, out, err
	}
	return s.at, out, nil
}

// end returns what Feed returns when there is nothing to tell.
func (s *scanner) end(out []byte) (int, []byte, error) {
	if s.stuck() {
		return 0, out, s.err
	}
	return s.at, out, nil
}

// pushed handles an array of n values that is no answer, or one that RESP2 sends in the place of an answer.
func (c *PubSub) pushed(now int64, s *scanner, n int64, out []byte, ev *proto.Event) (int, []byte, error) {
	kind := s.bulk()
	if s.stuck() {
		return s.end(out)
	}
	switch string(kind) {
	case "message":
		c.deliver(s, n-1, 2, ev)
	case "pmessage":
		c.deliver(s, n-1, 3, ev)
	case "subscribe", "psubscribe":
		if s.skip(n - 1); !s.stuck() {
			s.err = c.confirm(ev)
		}
	case "pong":
		if s.skip(n - 1); !s.stuck() {
			out, s.err = c.pong(now, out, ev)
		}
	default:
		s.skip(n - 1)
	}
	return s.end(out)
}

// deliver reads the pattern, if want is 3, the channel and the payload.
func (c *PubSub) deliver(s *scanner, n, want int64, ev *proto.Event) {
	if n != want || c.phase != ready {
		s.err = errTooLittle
		return
	}
	if want == 3 {
		s.bulk()
	}
	topic := s.bulk()
	payload := s.bulk()
	if !s.stuck() {
		ev.Kind, ev.Topic, ev.Payload = proto.Delivered, topic, payload
	}
}

// confirm reports the subscription that waits for it.
func (c *PubSub) confirm(ev *proto.Event) error {
	if c.queue.empty() || c.queue.oldest().cause != toSubscribe {
		return errUnasked
	}
	ev.Kind, ev.Token = proto.Subscribed, c.queue.oldest().token
	c.queue.pop()
	return nil
}

// pong handles the answer of RESP2 to a PING of a subscriber.
func (c *PubSub) pong(now int64, out []byte, ev *proto.Event) ([]byte, error) {
	if c.queue.empty() {
		return out, errUnasked
	}
	if cause := c.queue.oldest().cause; cause != toKeepAlive && cause != toBarrier {
		return out, errUnasked
	}
	_, _, out, err := c.answered(now, &head{}, nil, out, ev)
	return out, err
}

// Explain adds to the end of a connection what probably caused it: a server closes without a word when a subscriber
// reads too slowly. The mover, which sees the end, asks for it.
func (c *PubSub) Explain(err error) error {
	served := c.phase == ready
	c.phase = closed // what comes later, such as a failed attempt to connect again, has another cause
	if !served || !c.subscriber {
		return err
	}
	return fmt.Errorf("%w: the server may have cut off a slow subscriber (client-output-buffer-limit pubsub)", err)
}
