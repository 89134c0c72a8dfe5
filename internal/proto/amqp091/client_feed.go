package amqp091

import (
	"errors"

	"github.com/mqlab/mqlab/internal/proto"
)

// Feed consumes one frame of the broker, or the frames of one message. The error is a *ReasonError when the broker
// refused the connection or closed the channel; the answer it expects is appended even then.
func (c *Client) Feed(now int64, in, out []byte, ev *proto.Event) (n int, o []byte, err error) {
	*ev = proto.Event{}
	if len(in) > 0 { // even a part of a frame is a sign of life
		c.heartbeat.heard = true
	}
	if c.phase == awaitStart {
		if wait, err := foreign(in, "\x01\x00\x00"); wait || err != nil {
			return 0, out, err
		}
	}
	var f frame
	o = out
	if n, err = cutFrame(in, c.frameMax, &f); n > 0 {
		n, o, err = c.handle(now, &f, in, n, out, ev)
	}
	if err != nil {
		*ev = proto.Event{}
		return 0, o, err
	}
	if n == len(in) || (n == 0 && ev.Kind == proto.None) { // the next bytes may be long in coming
		o = c.received.flush(clientChannel, o)
	}
	c.heartbeat.wrote = c.heartbeat.wrote || len(o) > len(out)
	return n, o, nil
}

// handle acts on the frame of n bytes at the start of in.
func (c *Client) handle(now int64, f *frame, in []byte, n int, out []byte, ev *proto.Event) (int, []byte, error) {
	if f.kind == frameHeartbeat {
		return n, out, nil
	}
	if f.channel > clientChannel {
		return 0, out, errFrame(f)
	}
	if f.kind != frameMethod {
		out, err := c.assemble(f, out, ev)
		return n, out, err
	}
	m, r, err := f.method()
	switch {
	case err != nil:
		return 0, out, err
	case (m.class() == classConnection) != (f.channel == 0):
		return 0, out, errFrame(f)
	case c.phase == ended:
		return n, out, c.afterEnd(m)
	case f.channel == 0:
		out, err = c.connection(now, m, &r, out, ev)
		return n, out, err
	case c.incoming != nil && c.incoming.stage != idle:
		return 0, out, errUnexpected(m)
	case m == channelClose:
		return c.channelClosed(m, &r, out, ev)
	case c.phase != ready:
		out, err = c.handshake(now, m, &r, out, ev)
		return n, out, err
	case m == basicDeliver || m == basicReturn:
		return c.message(m, &r, in, n, out, ev)
	case m == basicAck || m == basicNack:
		return c.confirmed(m, &r, n, out, ev)
	}
	out, err = c.answer(m, &r, out, ev)
	return n, out, err
}

// connection handles methods that concern the whole connection.
func (c *Client) connection(now int64, m method, r *reader, out []byte, ev *proto.Event) ([]byte, error) {
	switch m {
	case connectionClose:
		what := "broker closed the connection"
		if c.phase != ready {
			what = "broker refused the connection"
		}
		e, _, err := readClose(m, r, what)
		if err != nil {
			return out, err
		}
		out = appendBare(out, 0, connectionCloseOK)
		accepted := c.phase == ready
		c.phase = ended
		if !accepted {
			return out, e
		}
		ev.Kind, ev.Err = proto.Closed, e
		return out, nil
	case connectionBlocked:
		reason := r.shortStr()
		if r.short {
			return out, errMalformed(m)
		}
		c.blocked = &BlockedError{Reason: string(reason)}
		ev.Err = c.blocked
		return out, nil
	case connectionUnblocked:
		c.blocked = nil
		return out, nil
	}
	return c.handshake(now, m, r, out, ev)
}

// afterEnd lets pass what was on its way when the conversation ended.
func (c *Client) afterEnd(m method) error {
	if m == connectionCloseOK {
		return nil
	}
	return errors.New("amqp091: " + m.String() + " follows the end of the conversation")
}

// channelClosed ends the session: everything was on that channel.
func (c *Client) channelClosed(m method, r *reader, out []byte, ev *proto.Event) (int, []byte, error) {
	e, cause, err := readClose(m, r, "broker closed the channel")
	if err != nil {
		return 0, out, err
	}
	if c.closesSubscription(cause) {
		c.refused = true
		ev.Kind, ev.Token, ev.Err = proto.Subscribed, c.pending[0].token, e
		return 0, out, nil
	}
	c.phase = ended
	return 0, appendBare(out, clientChannel, channelCloseOK), e
}

// answer handles what the broker says on an open channel, messages and confirmations apart.
func (c *Client) answer(m method, r *reader, out []byte, ev *proto.Event) ([]byte, error) {
	switch m {
	case queueDeclareOK, queueBindOK, basicQosOK:
		if len(c.pending) == 0 {
			return out, errUnexpected(m)
		}
		return out, nil
	case basicConsumeOK:
		return out, c.subscribed(m, r, ev)
	case basicCancel:
		return c.cancelled(m, r, out, ev)
	case channelFlowOK:
		b, err := c.answered(m, true)
		ev.Kind, ev.Token = proto.Barrier, b.token
		return out, err
	case channelFlow:
		active := r.u8()&1 != 0
		if r.short {
			return out, errMalformed(m)
		}
		c.paused = !active
		return appendFlow(out, channelFlowOK, active), nil
	}
	return out, errUnexpected(m)
}

// confirmed handles basic.ack and basic.nack. It is not consumed until all that it settles was reported.
func (c *Client) confirmed(m method, r *reader, n int, out []byte, ev *proto.Event) (int, []byte, error) {
	tag, multiple := r.u64(), r.u8()&1 != 0
	switch {
	case r.short:
		return 0, out, errMalformed(m)
	case !c.confirms:
		return 0, out, errUnexpected(m)
	}
	if err := c.sent.unknown(m, tag); err != nil {
		return 0, out, err
	}
	token, ok := uint64(0), false
	if multiple {
		token, ok = c.sent.settleUpTo(tag)
	} else {
		token, ok = c.sent.settle(tag)
	}
	if !ok {
		return n, out, nil
	}
	ev.Kind, ev.Token, ev.QoS = proto.Acked, token, 1
	if m == basicNack {
		ev.Err = errNacked
	}
	if multiple {
		n = 0
	}
	return n, out, nil
}
