package zenoh

import (
	"fmt"

	"github.com/mqlab/mqlab/internal/proto"
)

// handle acts on the message at the start of what is left of a batch. A Frame's head and its first message are one.
func (s *Server) handle(now int64, r *reader, out []byte, ev *proto.Event) ([]byte, error) {
	if r.empty() {
		return out, nil
	}
	header := r.byte()
	var err error
	switch kind := header & idMask; {
	case kind >= firstNetwork:
		out, err = s.network(r, header, out, ev)
	case kind == idInit && s.phase == initing:
		out, err = s.admit(r, header, out)
	case kind == idOpen && s.phase == opening:
		out, err = s.accept(now, r, header, out, ev)
	case kind == idClose:
		ev.Kind, ev.Err = proto.Closed, readClose(r, header, false)
		s.phase = closed
	case kind == idKeepAlive && s.phase == ready:
		r.extensions(header&flagExt != 0, 0)
	case kind == idFrame && s.phase == ready:
		r.number(uint64(s.mask))
		r.extensions(header&flagExt != 0, 1<<1)
		s.inFrame = true
		if !r.bad && !r.empty() && r.in[r.at]&idMask >= firstNetwork {
			out, err = s.network(r, r.byte(), out, ev)
		}
	case kind == idFragment && s.phase == ready:
		out, err = s.assembled(r, header, out, ev)
	default:
		err = fmt.Errorf("zenoh: unexpected message of kind 0x%02x", kind)
	}
	if err == nil && r.bad {
		err = errMalformed(header)
	}
	return out, err
}

// assembled handles a Fragment, and the message that it completes.
func (s *Server) assembled(r *reader, header byte, out []byte, ev *proto.Event) ([]byte, error) {
	msg, err := s.fragment(r, header, s.cfg.maxPayload()+maxBatch)
	if err != nil || len(msg) == 0 {
		return out, err
	}
	whole := reader{in: msg}
	s.inFrame = true
	out, err = s.network(&whole, whole.byte(), out, ev)
	s.inFrame = false
	if err == nil && (whole.bad || !whole.empty()) {
		err = errMalformed(msg[0])
	}
	return out, err
}

// network handles a message of the network, which is within a Frame.
func (s *Server) network(r *reader, header byte, out []byte, ev *proto.Event) ([]byte, error) {
	kind := header & idMask
	if !s.inFrame {
		return out, fmt.Errorf("zenoh: a message of kind 0x%02x is outside of a frame", kind)
	}
	switch kind {
	case idPush:
		m, err := s.readPush(r, header)
		if err == nil && uint64(len(m.payload)) > s.cfg.maxPayload() {
			err = fmt.Errorf("zenoh: message of %d bytes is above the limit of %d bytes", len(m.payload), s.cfg.maxPayload())
		}
		if err == nil && !r.bad && !m.deleted {
			ev.Kind, ev.Topic, ev.Payload = proto.Delivered, m.key, m.payload
		}
		return out, err
	case idDeclare:
		d, err := s.readDeclare(r, header)
		if err == nil && !r.bad {
			s.declared(&d, ev)
		}
		return out, err
	case idInterest:
		id, answer, err := s.readInterest(r, header)
		if err == nil && !r.bad && answer {
			start := len(out)
			out = end(appendDeclareFinal(s.beginFrame(out, true), id), start)
		}
		return out, err
	case idOAM:
		skipOAM(r, header)
		return out, nil
	}
	return out, fmt.Errorf("zenoh: unexpected message of kind 0x%02x", kind)
}

// declared notes what the peer declares.
func (s *Server) declared(d *declaration, ev *proto.Event) {
	i := s.find(uint64(d.id))
	switch {
	case d.kind == declareSubscriber && i < 0:
		s.subs = append(s.subs, served{uint64(d.id), string(d.key), s.theirs[d.scope], d.scope})
		ev.Kind, ev.Token, ev.Topic = proto.Subscribed, uint64(d.id), d.key
	case d.kind == undeclareSubscriber && i >= 0:
		ev.Kind, ev.Token = proto.Unsubscribed, s.subs[i].token
		s.subs = append(s.subs[:i], s.subs[i+1:]...)
	}
}
