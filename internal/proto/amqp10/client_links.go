package amqp10

import (
	"errors"
	"fmt"

	"github.com/mqlab/mqlab/internal/proto"
)

// Subscribe attaches a receiver. The subscription is confirmed when the broker has attached its side, and may deliver
// from then on. Delivered events carry its token.
//
// QoS 0 asks the broker to settle what it sends, QoS 1 not to. Deliveries report what it really did.
func (c *Client) Subscribe(s *proto.Subscription, out []byte) ([]byte, error) {
	t := &c.cfg.Source
	if s.Group != "" {
		t = &c.cfg.Shared
	}
	switch {
	case c.phase != ready:
		return out, ErrNotReady
	case s.QoS > 1:
		return out, errQoS
	case len(s.Topic) > maxName || len(s.Group) > maxName:
		return out, errTopic
	case s.Group != "" && t.Address == "":
		return out, errors.New("amqp10: there is no address for shared subscriptions")
	case t.durable() && s.Topic == "":
		return out, errors.New("amqp10: a durable subscription needs a topic: it is known by it")
	}
	mode := byte(modeSettled)
	if s.QoS == 1 {
		mode = modeUnsettled
	}
	for _, l := range c.links {
		if l != nil && l.stays && t.durable() && string(l.topic) == s.Topic {
			return out, fmt.Errorf("amqp10: there is a durable subscription to %.100q on this connection", s.Topic)
		}
	}
	l := c.newLink(link{token: s.Token, topic: []byte(s.Topic), qos: s.QoS, stays: t.durable()})
	o := l.appendAttach(out, t.append(nil, typeSource, t.address(s.Topic, s.Group)), plainTerminus(typeTarget, c.Name), mode)
	if err := c.fits(l, len(o)-len(out)); err != nil {
		return out, err
	}
	c.idle.wrote = true
	return o, nil
}

// answered handles the broker's attach, which answers one of ours.
func (c *Client) answered(f *frame, out []byte, ev *proto.Event) ([]byte, error) {
	a, err := readAttach(f)
	if err != nil {
		return out, err
	}
	l := c.byName(a.name, a.receives)
	if l == nil {
		return out, fmt.Errorf("amqp10: the broker attached link %.100q, which we had not asked for", a.name)
	}
	l.peer = a.handle
	terminus := a.source
	if l.sends {
		terminus = a.target
	}
	if len(terminus) == 0 {
		l.state = refused
		return out, nil
	}
	l.state = attached
	if l.sends {
		l.credit, l.max = -int32(l.count), a.maxMessage
		l.settles, l.qos = a.mode == modeSettled, 0
		if a.mode == modeUnsettled {
			l.qos = 1
		}
		return out, nil
	}
	l.count = a.initialCount
	ev.Kind, ev.Token, ev.QoS = proto.Subscribed, l.token, l.qos
	return c.credited(l, c.cfg.credit(), out), nil
}

// delivered handles a transfer.
func (c *Client) delivered(f *frame, out []byte, ev *proto.Event) ([]byte, error) {
	l, t, err := c.receive(f, maxMessage, ev)
	switch {
	case err != nil:
		return out, err
	case ev.Kind == proto.None || c.cfg.HoldAcks && ev.QoS == 1:
		if c.inWindow <= c.inMax/2 {
			out = c.appendFlow(out, nil)
		}
		return out, nil
	case ev.QoS == 1:
		out = c.accept(t.id, c.cfg.AckEvery, out)
	}
	return c.credited(l, c.cfg.credit(), out), nil
}

// detached handles the broker's detach. It is not consumed until all messages that it leaves unsettled were reported.
func (c *Client) detached(f *frame, n int, out []byte, ev *proto.Event) (int, []byte, error) {
	r := &f.fields
	handle := r.u32(0)
	r.skip(1) // closed
	what := "broker ended the subscription"
	l := c.byPeer(handle)
	switch {
	case r.bad || l == nil:
		return 0, out, errUnexpected(doDetach)
	case l.sends && l.state == refused:
		what = "broker refused the sender"
	case l.sends:
		what = "broker ended the sender"
	case l.state == refused:
		what = "broker refused the subscription"
	}
	e := readError(r, what)
	switch {
	case r.bad:
		return 0, out, errMalformed(doDetach)
	case e == nil:
		e = &ReasonError{What: what}
	}
	if l.sends {
		if c.sent != nil {
			if token, ok := c.sent.settleLink(l.handle); ok {
				ev.Kind, ev.Token, ev.QoS, ev.Err = proto.Acked, token, 1, e
				return 0, out, nil
			}
		}
		if c.phase == awaitSender {
			return 0, out, e
		}
		c.forgetSender(l)
	}
	if ev.Token, ev.Err = l.token, e; l.state == refused && !l.sends {
		ev.Kind = proto.Subscribed
	}
	c.drop(l)
	return n, l.appendDetach(out, "", ""), nil
}

func (c *Client) forgetSender(l *link) {
	delete(c.senders, string(l.topic))
	if c.sender != l {
		return
	}
	c.sender = nil
	for _, other := range c.senders { // any will do
		c.sender = other
		break
	}
}

// oldestPending is the link that the broker would have answered next, as it works in order.
func (c *Client) oldestPending() *link {
	for _, l := range c.links {
		if l != nil && (l.state == attaching || l.state == refused) {
			return l
		}
	}
	return nil
}
