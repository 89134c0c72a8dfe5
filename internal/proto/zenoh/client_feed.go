package zenoh

import (
	"fmt"

	"github.com/mqlab/mqlab/internal/proto"
)

// Feed consumes one message of the network, or one of the transport that is no Frame.
func (c *Client) Feed(now int64, in, out []byte, ev *proto.Event) (int, []byte, error) {
	*ev = proto.Event{}
	if len(in) == 0 || c.phase == closed {
		return 0, out, nil
	}
	c.alive.heard = true
	if c.phase == initing {
		if wait, err := foreign(in, idInit|flagAck); err != nil {
			c.phase = closed
			return 0, out, err
		} else if wait {
			return 0, out, nil
		}
	}
	n, msgs, whole := c.next(in)
	if !whole {
		return 0, out, nil
	}
	r := reader{in: msgs}
	out, err := c.handle(now, &r, out, ev)
	if err != nil {
		c.phase = closed // the error says all
		return 0, out, err
	}
	c.left -= int32(r.at)
	return n + r.at, out, nil
}

// handle acts on the message at the start of what is left of a batch. A Frame's head and its first message are one.
func (c *Client) handle(now int64, r *reader, out []byte, ev *proto.Event) ([]byte, error) {
	if r.empty() {
		return out, nil
	}
	header := r.byte()
	var err error
	switch kind := header & idMask; {
	case kind >= firstNetwork:
		err = c.network(r, header, ev)
	case kind == idInit && c.phase == initing:
		out, err = c.accepted(r, header, out)
	case kind == idOpen && c.phase == opening:
		err = c.opens(now, r, header, ev)
	case kind == idClose:
		err = c.ends(r, header, ev)
	case kind == idKeepAlive && c.phase == ready:
		r.extensions(header&flagExt != 0, 0)
	case kind == idFrame && c.phase == ready:
		err = c.frame(r, header, ev)
	case kind == idFragment && c.phase == ready:
		err = c.assembled(r, header, ev)
	default:
		err = fmt.Errorf("zenoh: unexpected message of kind 0x%02x", kind)
	}
	if err == nil && r.bad {
		err = errMalformed(header)
	}
	return out, err
}

// accepted handles InitAck.
func (c *Client) accepted(r *reader, header byte, out []byte) ([]byte, error) {
	h, err := readInit(r, header)
	if err != nil || r.bad {
		return out, err
	}
	c.agree(&h)
	answer := handshake{lease: c.cfg.lease(), cookie: h.cookie}
	id := identify(c.name, c.opened)
	answer.first = id.firstNumber(c.mask)
	if c.cfg.User != "" {
		nonce, asked := challenge(h.auth)
		if !asked {
			return out, errNoChallenge
		}
		answer.auth = appendResponse(nil, c.cfg.User, response(nonce, c.cfg.Password))
	}
	c.begins(answer.first)
	c.phase = opening
	return appendOpen(out, 0, &answer), nil
}

// opens handles OpenAck.
func (c *Client) opens(now int64, r *reader, header byte, ev *proto.Event) error {
	if header&flagAck == 0 {
		return fmt.Errorf("zenoh: the peer opens a connection instead of accepting ours")
	}
	h := readOpen(r, header)
	if r.bad {
		return nil
	}
	c.phase = ready
	c.alive.start(now, c.cfg.lease()/LeaseParts, h.lease)
	ev.Kind = proto.Ready
	return nil
}

// ends handles Close.
func (c *Client) ends(r *reader, header byte, ev *proto.Event) error {
	reason := readClose(r, header, c.phase != ready)
	if r.bad {
		return nil
	}
	if reason.Refused {
		return reason
	}
	ev.Kind, ev.Err = proto.Closed, reason
	c.phase = closed
	return nil
}

// frame reads the head of a Frame and handles its first message.
func (c *Client) frame(r *reader, header byte, ev *proto.Event) error {
	r.number(uint64(c.mask))
	r.extensions(header&flagExt != 0, 1<<1)
	c.inFrame = true
	if r.bad || r.empty() || r.in[r.at]&idMask < firstNetwork {
		return nil
	}
	return c.network(r, r.byte(), ev)
}

// assembled handles a Fragment, and the message that it completes.
func (c *Client) assembled(r *reader, header byte, ev *proto.Event) error {
	msg, err := c.fragment(r, header, c.cfg.maxPayload()+maxBatch)
	if err != nil || len(msg) == 0 {
		return err
	}
	whole := reader{in: msg}
	c.inFrame = true
	err = c.network(&whole, whole.byte(), ev)
	c.inFrame = false
	if err == nil && (whole.bad || !whole.empty()) {
		err = errMalformed(msg[0])
	}
	return err
}

// network handles a message of the network, which is within a Frame.
func (c *Client) network(r *reader, header byte, ev *proto.Event) error {
	kind := header & idMask
	if !c.inFrame {
		return fmt.Errorf("zenoh: a message of kind 0x%02x is outside of a frame", kind)
	}
	switch kind {
	case idPush:
		m, err := c.readPush(r, header)
		if err == nil && !r.bad && !m.deleted {
			ev.Kind, ev.Topic, ev.Payload = proto.Delivered, m.key, m.payload
		}
		return err
	case idDeclare:
		d, err := c.readDeclare(r, header)
		if err == nil && !r.bad && d.kind == declareFinal {
			c.answered(d.interest, ev)
		}
		return err
	case idInterest:
		_, _, err := c.readInterest(r, header)
		return err
	case idOAM:
		skipOAM(r, header)
		return nil
	}
	return fmt.Errorf("zenoh: unexpected message of kind 0x%02x", kind)
}

// Explain adds to the end of a connection what probably caused it: a router closes a link that takes a message too slowly which
// must not be dropped, and connections that it has no room for before they are accepted. The mover, which sees the end, asks
// for it.
func (c *Client) Explain(err error) error {
	was := c.phase
	c.phase = closed // what comes later, such as a failed attempt to connect again, has another cause
	switch {
	case was == initing || was == opening:
		return &crowdedError{err}
	case was == closed || c.subs == 0:
		return err
	}
	return fmt.Errorf("%w: the router may have cut off a slow subscriber (queue/congestion_control/block/wait_before_close)", err)
}
