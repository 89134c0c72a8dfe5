package amqp10

import (
	"github.com/mqlab/mqlab/internal/proto"
)

// maxLinks is how many links a client may attach.
const maxLinks = 1 << 16

// attached answers an attach. A link without an address to receive from, or without a target, is refused.
func (s *Server) attached(f *frame, out []byte, ev *proto.Event) ([]byte, error) {
	a, err := readAttach(f)
	switch {
	case err != nil:
		return out, err
	case s.byPeer(a.handle) != nil:
		return out, &fault{"amqp:session:handle-in-use", "a link handle is used twice"}
	case len(s.links) >= maxLinks:
		return out, &fault{condResource, "too many links"}
	}
	address, missing := a.targetName, len(a.target) == 0
	if a.receives {
		address, missing = a.sourceName, len(a.sourceName) == 0
	}
	l := s.newLink(link{
		peer: a.handle, state: attached, sends: a.receives, topic: append([]byte(nil), address...),
		settles: a.receives && a.mode == modeSettled, max: a.maxMessage,
	})
	if a.receives && a.hasMode && a.mode == modeUnsettled {
		l.qos = 1
	}
	out = s.answer(l, &a, missing, out)
	switch {
	case missing:
		out = l.appendDetach(out, condNotFound, "there is no address")
		s.drop(l)
	case !l.sends:
		out = s.credited(l, s.cfg.credit(), out)
	default:
		l.token = uint64(l.handle) + 1
		ev.Kind, ev.Token, ev.Topic = proto.Subscribed, l.token, l.topic
		if !l.settles {
			ev.QoS = 1
		}
	}
	return out, nil
}

// answer appends the attach of our side, with the ends of the link as the peer wants them, or null if it is refused.
func (s *Server) answer(l *link, a *attach, refuse bool, out []byte) []byte {
	ends := [2][]byte{a.source, a.target}
	for i, end := range ends {
		if len(end) == 0 || (refuse && (i == 0) == l.sends) {
			ends[i] = []byte{codeNull}
		}
	}
	out, start := beginFrame(out, doAttach)
	out = appendText(out, codeString8, a.name)
	out = appendUint(out, l.handle)
	out = appendBool(out, !l.sends)
	out = append(out, codeUByte, byte(a.mode), codeUByte, 0)
	out = append(append(out, ends[0]...), ends[1]...)
	out = append(out, codeNull, codeNull) // unsettled, incomplete-unsettled
	if l.sends {
		out = appendUint(out, 0)
	} else {
		out = append(out, codeNull)
	}
	out = appendULong(out, s.cfg.maxMessage())
	return endFrame(out, start, 11)
}

// delivered handles a transfer.
func (s *Server) delivered(f *frame, out []byte, ev *proto.Event) ([]byte, error) {
	l, t, err := s.receive(f, s.cfg.maxMessage(), ev)
	switch {
	case err != nil:
		return out, err
	case ev.Kind == proto.None:
		if s.inWindow <= s.inMax/2 {
			out = s.appendFlow(out, nil)
		}
		return out, nil
	case ev.QoS == 1:
		out = s.accept(t.id, s.cfg.ConfirmEvery, out)
	}
	ev.Token = 0
	return s.credited(l, s.cfg.credit(), out), nil
}

// detached answers a detach. It is not consumed until all messages that it leaves unsettled were reported.
func (s *Server) detached(f *frame, n int, out []byte, ev *proto.Event) (int, []byte, error) {
	handle := f.fields.u32(0)
	if f.fields.bad {
		return 0, out, errMalformed(doDetach)
	}
	l := s.byPeer(handle)
	if l == nil { // refused, and therefore detached already
		return n, out, nil
	}
	if s.abandoned(l, ev) {
		return 0, out, nil
	}
	if l.sends {
		ev.Kind, ev.Token = proto.Unsubscribed, l.token
	}
	s.drop(l)
	return n, l.appendDetach(out, "", ""), nil
}

// abandoned reports a message that is unsettled on a link which ends.
func (s *Server) abandoned(l *link, ev *proto.Event) bool {
	if s.sent == nil || !l.sends {
		return false
	}
	token, ok := s.sent.settleLink(l.handle)
	if ok {
		ev.Kind, ev.Token, ev.QoS, ev.Err = proto.Acked, token, 1, errGone
	}
	return ok
}

// ended answers end. It is not consumed until the end of each subscription was reported.
func (s *Server) ended(n int, out []byte, ev *proto.Event) (int, []byte, error) {
	for _, l := range s.links {
		if l == nil {
			continue
		}
		if s.abandoned(l, ev) {
			return 0, out, nil
		}
		if s.drop(l); l.sends {
			ev.Kind, ev.Token = proto.Unsubscribed, l.token
			return 0, out, nil
		}
	}
	out = s.flush(out)
	idle, sendMax := s.idle, s.sendMax
	s.renew(s.cfg.frameMax(), s.cfg.sessionWindow())
	s.idle, s.sendMax, s.phase = idle, sendMax, serverBegin
	out, start := beginFrame(out, doEnd)
	return n, endFrame(out, start, 0), nil
}
