package amqp10

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mqlab/mqlab/internal/proto"
)

// Feed consumes a protocol header or one frame of the broker. The error is a *ReasonError when the broker refused the
// connection or ended the session; the answer it expects is appended even then.
func (c *Client) Feed(now int64, in, out []byte, ev *proto.Event) (n int, o []byte, err error) {
	*ev = proto.Event{}
	if len(in) > 0 { // even a part of a frame is a sign of life
		c.idle.heard = true
	}
	o = out
	if c.phase == awaitSASL || c.phase == awaitHeader {
		n, err = c.header(in)
	} else {
		var f frame
		if n, err = cutFrame(in, c.receiveMax, &f); n > 0 && !f.empty {
			n, o, err = c.handle(now, &f, n, out, ev)
		}
	}
	if err != nil {
		*ev = proto.Event{}
		return 0, o, err
	}
	if n == len(in) || (n == 0 && ev.Kind == proto.None) { // the next bytes may be long in coming
		o = c.flush(o)
	}
	c.idle.wrote = c.idle.wrote || len(o) > len(out)
	return n, o, nil
}

// header takes a protocol header of the broker.
func (c *Client) header(in []byte) (int, error) {
	want, next := headerSASL, awaitMechanisms
	if c.phase == awaitHeader {
		want, next = headerAMQP, awaitOpen
	}
	if wait, err := foreign(in, want); wait || err != nil {
		return 0, err
	}
	c.phase = next
	return len(want), nil
}

// handle acts on a frame of n bytes.
func (c *Client) handle(now int64, f *frame, n int, out []byte, ev *proto.Event) (int, []byte, error) {
	switch {
	case c.phase == ended: // what was on its way
		return n, out, nil
	case f.what == doClose:
		out, err := c.closed(f, out, ev)
		return n, out, err
	case f.channel != 0:
		return 0, out, fmt.Errorf("amqp10: %s on channel %d, which is not open", f.what, f.channel)
	case c.phase < awaitSender && f.what != doEnd:
		out, err := c.handshake(now, f, out, ev)
		return n, out, err
	}
	var err error
	switch f.what {
	case doTransfer:
		out, err = c.delivered(f, out, ev)
	case doDisposition:
		var done bool
		if done, out, err = c.settled(f, out, ev); !done {
			n = 0
		}
	case doFlow:
		out, err = c.flow(f, out)
		c.started(ev)
	case doAttach:
		out, err = c.answered(f, out, ev)
	case doDetach:
		return c.detached(f, n, out, ev)
	case doEnd:
		return c.sessionEnded(f, out, ev)
	default:
		err = errUnexpected(f.what)
	}
	return n, out, err
}

// handshake handles what the broker says before the session has begun.
func (c *Client) handshake(now int64, f *frame, out []byte, ev *proto.Event) ([]byte, error) {
	switch {
	case f.what == saslMechanisms && c.phase == awaitMechanisms:
		mechanism := c.cfg.mechanism()
		offered, ok, err := readMechanisms(f, mechanism)
		if err != nil {
			return out, err
		}
		if !ok {
			return out, fmt.Errorf("amqp10: the broker does not offer SASL mechanism %s, only %.200s",
				mechanism, strings.Join(offered, " "))
		}
		c.phase = awaitOutcome
		return appendInit(out, mechanism, c.cfg.response(), c.cfg.Host), nil
	case f.what == saslChallenge && c.phase == awaitOutcome:
		return out, errors.New("amqp10: the broker wants a second step of authentication")
	case f.what == saslOutcome && c.phase == awaitOutcome:
		code := f.fields.number(0)
		switch {
		case f.fields.bad:
			return out, errMalformed(saslOutcome)
		case code != 0:
			return out, errSASL(code, c.cfg.mechanism())
		}
		c.phase = awaitHeader
		return c.appendOpen(append(out, headerAMQP...), c.Name, c.cfg.Host, c.cfg.IdleTimeout), nil
	case f.what == doOpen && c.phase == awaitOpen:
		if err := c.open(now, f, c.cfg.IdleTimeout); err != nil {
			return out, err
		}
		c.phase = awaitBegin
		return c.appendBegin(out, false), nil
	case f.what == doBegin && c.phase == awaitBegin:
		if err := c.begin(f); err != nil {
			return out, err
		}
		c.phase = ready
		if !c.cfg.SenderFirst {
			ev.Kind = proto.Ready
			return out, nil
		}
		c.phase = awaitSender
		_, out, err := c.attachSender(nil, out)
		return out, err
	}
	return out, errUnexpected(f.what)
}

// started makes the client ready once the sender that comes first has credit.
func (c *Client) started(ev *proto.Event) {
	if c.phase == awaitSender && c.sender != nil && c.sender.state == attached && c.sender.credit > 0 {
		c.phase = ready
		ev.Kind = proto.Ready
	}
}

// closed handles the broker's close.
func (c *Client) closed(f *frame, out []byte, ev *proto.Event) ([]byte, error) {
	e := readError(&f.fields, "broker closed the connection")
	if f.fields.bad {
		return out, errMalformed(doClose)
	}
	if e == nil {
		e = &ReasonError{What: "broker closed the connection"}
	}
	accepted := c.phase == ready
	c.phase = ended
	out = appendClose(out, "", "")
	if !accepted {
		e.What = "broker refused the connection"
		return out, e
	}
	ev.Kind, ev.Err = proto.Closed, e
	return out, nil
}

// sessionEnded ends the conversation: everything was in that session. If the broker ended it instead of answering a
// subscription, that is reported first.
func (c *Client) sessionEnded(f *frame, out []byte, ev *proto.Event) (int, []byte, error) {
	e := readError(&f.fields, "broker ended the session")
	if f.fields.bad {
		return 0, out, errMalformed(doEnd)
	}
	if e == nil {
		e = &ReasonError{What: "broker ended the session"}
	}
	if l := c.oldestPending(); l != nil && !c.blamed {
		if c.blamed = true; !l.sends {
			ev.Kind, ev.Token, ev.Err = proto.Subscribed, l.token, e
			return 0, out, nil
		}
	}
	c.phase = ended
	out, start := beginFrame(out, doEnd)
	return 0, appendClose(endFrame(out, start, 0), "", ""), e
}
