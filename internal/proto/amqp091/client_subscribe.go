package amqp091

import (
	"errors"
	"math/bits"

	"github.com/mqlab/mqlab/internal/proto"
)

// Consumer tags begin with a letter that says whether deliveries are to be acknowledged. The token follows.
const (
	tagAcks   = 'a'
	tagNoAcks = 'n'
)

// Subscribe declares a queue, binds it with the topic as binding key (unless behind the default exchange), and consumes
// from it; all in one go, since a channel works in order. The token serves as consumer tag: it must be unique among the
// subscriptions of this connection. Delivered events carry it.
//
// A refused subscription ends the channel: the event is followed by a final error.
func (c *Client) Subscribe(s *proto.Subscription, out []byte) ([]byte, error) {
	name := c.queueName(s)
	switch {
	case c.phase != ready:
		return out, ErrNotReady
	case s.QoS > 1:
		return out, errQoS
	case len(s.Topic) > 255 || len(name) > 255:
		return out, errTopic
	case s.Topic == "": // the broker would take the name of the queue instead
		return out, errors.New("amqp091: a subscription needs a routing key, or the name of a queue")
	}
	c.heartbeat.wrote = true
	out = c.declare(name, out)
	if c.cfg.Exchange.Name != "" {
		out = c.bind(name, s.Topic, out)
	}
	if c.cfg.Prefetch > 0 && !c.prefetch {
		c.prefetch = true
		out = c.qos(out)
	}
	c.pending = append(c.pending, request{token: s.Token, qos: s.QoS})
	return c.consume(name, s, out), nil
}

// queueName is the queue of a subscription; empty = to be named by the server.
func (c *Client) queueName(s *proto.Subscription) string {
	switch {
	case c.cfg.Exchange.Name == "":
		return s.Topic
	case s.Group != "":
		return s.Group + ":" + s.Topic
	case c.cfg.Queue.durable():
		return c.Name + ":" + s.Topic
	}
	return ""
}

func (c *Client) declare(name string, out []byte) []byte {
	q := &c.cfg.Queue
	out, start := beginMethod(out, clientChannel, queueDeclare)
	out = append(out, 0, 0) // reserved
	out = appendShort(out, name)
	out = append(out, bit(q.durable(), 1)|bit(name == "", 2)|bit(!q.durable(), 3)) // durable, exclusive, auto-delete
	out = appendTable(out, q.arguments())
	return endFrame(out, start)
}

// bind binds a queue. Where its name is empty, the one declared last on the channel is meant; consume likewise.
func (c *Client) bind(name, key string, out []byte) []byte {
	out, start := beginMethod(out, clientChannel, queueBind)
	out = append(out, 0, 0) // reserved
	out = appendShort(out, name)
	out = appendShort(out, c.cfg.Exchange.Name)
	out = appendShort(out, key)
	out = append(out, 0)
	out = appendTable(out, nil)
	return endFrame(out, start)
}

// qos limits each consumer that is added later.
func (c *Client) qos(out []byte) []byte {
	out, start := beginMethod(out, clientChannel, basicQos)
	out = append(out, 0, 0, 0, 0, byte(c.cfg.Prefetch>>8), byte(c.cfg.Prefetch), 0)
	return endFrame(out, start)
}

func (c *Client) consume(name string, s *proto.Subscription, out []byte) []byte {
	out, start := beginMethod(out, clientChannel, basicConsume)
	out = append(out, 0, 0) // reserved
	out = appendShort(out, name)
	out = appendConsumerTag(out, s)
	out = append(out, bit(s.QoS == 0, 1)) // no-ack
	out = appendTable(out, nil)
	return endFrame(out, start)
}

func appendConsumerTag(out []byte, s *proto.Subscription) []byte {
	letter := byte(tagNoAcks)
	if s.QoS > 0 {
		letter = tagAcks
	}
	digits := max(1, (bits.Len64(s.Token)+3)/4)
	return appendHex(append(out, byte(1+digits), letter), s.Token, digits)
}

// readConsumerTag is the reverse of appendConsumerTag.
func readConsumerTag(b []byte) (token uint64, qos uint8, ok bool) {
	if len(b) == 0 || (b[0] != tagAcks && b[0] != tagNoAcks) {
		return 0, 0, false
	}
	if b[0] == tagAcks {
		qos = 1
	}
	token, ok = parseHex(b[1:])
	return token, qos, ok
}

// subscribed handles basic.consume-ok.
func (c *Client) subscribed(m method, r *reader, ev *proto.Event) error {
	token, qos, ok := readConsumerTag(r.shortStr())
	if !ok {
		return errMalformed(m)
	}
	s, err := c.answered(m, false)
	if err != nil || s.token != token || s.qos != qos {
		return errUnexpected(m)
	}
	ev.Kind, ev.Token, ev.QoS = proto.Subscribed, s.token, s.qos
	return nil
}

// cancelled handles a basic.cancel of the broker.
func (c *Client) cancelled(m method, r *reader, out []byte, ev *proto.Event) ([]byte, error) {
	tag := r.shortStr()
	noWait := r.u8()&1 != 0
	token, _, ok := readConsumerTag(tag)
	if !ok || r.short {
		return out, errMalformed(m)
	}
	ev.Token = token
	ev.Err = errors.New("amqp091: broker cancelled the subscription: its queue was deleted or failed")
	if noWait {
		return out, nil
	}
	out, start := beginMethod(out, clientChannel, basicCancelOK)
	return endFrame(appendShort(out, tag), start), nil
}

// closesSubscription reports whether the broker closed the channel because of the oldest unanswered subscription.
func (c *Client) closesSubscription(cause method) bool {
	if c.refused || len(c.pending) == 0 || c.pending[0].barrier {
		return false
	}
	return cause.class() == classQueue || cause == basicConsume || cause == basicQos
}
