package amqp091

import (
	"errors"

	"github.com/mqlab/mqlab/internal/proto"
)

// message handles basic.deliver and basic.return, at once with their content if that follows in one piece.
func (c *Client) message(m method, r *reader, in []byte, n int, out []byte, ev *proto.Event) (int, []byte, error) {
	tag := uint64(0)
	var err error
	if m == basicDeliver {
		tag, err = readDeliver(m, r, ev)
	} else {
		err = readReturn(m, r, ev)
	}
	if err != nil {
		return 0, out, err
	}
	var header, body frame
	size, what := content(in[n:], clientChannel, c.frameMax, &header, &body)
	switch what {
	case foundPart:
		*ev = proto.Event{}
		return 0, out, nil
	case foundApart:
		if c.incoming == nil {
			c.incoming = new(assembly)
		}
		c.incoming.begin(ev, tag)
		*ev = proto.Event{}
		return n, out, nil
	}
	if ev.Kind == proto.Acked {
		_, props, _ := bodySize(header.payload)
		if tag, err = c.identify(&props, ev); err != nil {
			return 0, out, err
		}
	}
	ev.Payload = body.payload
	return n + size, c.finish(tag, out, ev), nil
}

// assemble adds a frame to a message that comes in pieces.
func (c *Client) assemble(f *frame, out []byte, ev *proto.Event) ([]byte, error) {
	a := c.incoming
	switch {
	case a == nil || a.stage == idle || f.channel != clientChannel:
		return out, errFrame(f)
	case f.kind == frameHeader:
		props, err := a.header(f)
		if err != nil {
			return out, err
		}
		if a.ev.Kind == proto.Acked {
			if a.tag, err = c.identify(&props, &a.ev); err != nil {
				return out, err
			}
		}
	default:
		if err := a.body(f); err != nil {
			return out, err
		}
	}
	if !a.done(ev) {
		return out, nil
	}
	return c.finish(a.tag, out, ev), nil
}

// finish acknowledges a message that is complete, or settles one that was returned.
func (c *Client) finish(tag uint64, out []byte, ev *proto.Event) []byte {
	switch {
	case ev.Kind == proto.Delivered && ev.QoS > 0 && !c.cfg.HoldAcks:
		return c.received.note(tag, c.cfg.AckEvery, clientChannel, out)
	case ev.Kind == proto.Acked && ev.QoS > 0:
		token, ok := c.sent.settle(tag)
		if ev.Token = token; !ok {
			*ev = proto.Event{}
		}
	}
	return out
}

// readDeliver describes in ev what basic.deliver says, and returns the delivery tag.
func readDeliver(m method, r *reader, ev *proto.Event) (tag uint64, err error) {
	consumer := r.shortStr()
	tag = r.u64()
	redelivered := r.u8()&1 != 0
	r.shortStr() // exchange
	topic := r.shortStr()
	token, qos, ok := readConsumerTag(consumer)
	if r.short || !ok {
		return 0, errMalformed(m)
	}
	ev.Kind, ev.Token, ev.QoS, ev.Redelivered, ev.Topic = proto.Delivered, token, qos, redelivered, topic
	return tag, nil
}

// readReturn describes in ev what basic.return says; which message it is about is known from its content header.
func readReturn(m method, r *reader, ev *proto.Event) error {
	e := &ReasonError{What: "broker returned the message", Code: r.u16(), Text: string(r.shortStr())}
	r.shortStr() // exchange
	topic := r.shortStr()
	if r.short {
		return errMalformed(m)
	}
	ev.Kind, ev.Err, ev.Topic = proto.Acked, e, topic
	return nil
}

// identify finds out which message was returned: it is described in ev, or by its delivery tag.
func (c *Client) identify(props *reader, ev *proto.Event) (tag uint64, err error) {
	id, ok := readMessageID(props)
	if !ok || (id.kind == idOfTag && !c.confirms) {
		return 0, errors.New("amqp091: the broker returned a message that is not ours")
	}
	if id.kind == idOfToken {
		ev.Token = id.number
		return 0, nil
	}
	ev.QoS = 1
	return id.number, nil
}
