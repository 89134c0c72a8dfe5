package amqp091

import (
	"github.com/mqlab/mqlab/internal/proto"
)

// Feed consumes the protocol header, one frame of the client, or the frames of one message.
func (s *Server) Feed(now int64, in, out []byte, ev *proto.Event) (n int, o []byte, err error) {
	*ev = proto.Event{}
	if len(in) > 0 {
		s.heartbeat.heard = true
	}
	if s.phase == serverHeader {
		return s.header(in, out)
	}
	var f frame
	o = out
	if n, err = cutFrame(in, s.frameMax, &f); n > 0 {
		n, o, err = s.handle(now, &f, in, n, out, ev)
	}
	if err != nil {
		*ev = proto.Event{}
		return 0, s.refuse(err, out), err
	}
	if n == len(in) || (n == 0 && ev.Kind == proto.None) {
		o = s.confirmAll(o)
	}
	s.heartbeat.wrote = s.heartbeat.wrote || len(o) > len(out)
	return n, o, nil
}

// handle acts on the frame of n bytes at the start of in.
func (s *Server) handle(now int64, f *frame, in []byte, n int, out []byte, ev *proto.Event) (int, []byte, error) {
	if s.phase == serverEnded || f.kind == frameHeartbeat {
		return n, out, nil
	}
	if f.channel == 0 {
		m, r, err := f.method()
		switch {
		case f.kind != frameMethod:
			return 0, out, errFrame(f)
		case err == nil:
			out, err = s.connection(now, m, &r, out, ev)
		}
		return n, out, err
	}
	ch := s.channels[f.channel]
	switch {
	case s.phase != serverReady:
		return 0, out, errFrame(f)
	case ch != nil && ch.closing && f.kind != frameMethod:
		return n, out, nil
	case f.kind != frameMethod:
		return s.assemble(ch, f, n, out, ev)
	}
	m, r, err := f.method()
	if err != nil {
		return 0, out, err
	}
	switch {
	case m == channelOpen:
		out, err = s.openChannel(f.channel, ch, out)
		return n, out, err
	case ch == nil:
		return 0, out, &fault{replyChannelError, m, "the channel is not open"}
	case m == channelCloseOK && ch.closing:
		s.forget(ch)
		return n, out, nil
	case m == channelClose:
		return s.closeChannel(ch, n, out, ev)
	case ch.closing:
		return n, out, nil
	case ch.incoming.stage != idle:
		return 0, out, &fault{replyUnexpectedFrame, m, "the content of a message is missing"}
	case m == basicPublish:
		return s.published(ch, &r, in, n, out, ev)
	case m == basicAck || m == basicNack || m == basicReject:
		return s.acknowledged(ch, m, &r, n, out, ev)
	}
	out, err = s.answer(ch, m, &r, out, ev)
	return n, out, err
}

// published handles basic.publish, at once with its content if that follows in one piece.
func (s *Server) published(ch *peerChannel, r *reader, in []byte, n int, out []byte, ev *proto.Event) (int, []byte, error) {
	r.u16() // reserved
	exchange, topic := r.shortStr(), r.shortStr()
	if r.u8(); r.short {
		return 0, out, errMalformed(basicPublish)
	}
	ev.Kind, ev.Topic = proto.Delivered, topic
	if ch.confirming {
		ev.QoS = 1
	}
	var header, body frame
	size, what := content(in[n:], ch.number, s.frameMax, &header, &body)
	if what == foundPart {
		*ev = proto.Event{}
		return 0, out, nil
	}
	if s.exchange != string(exchange) {
		s.exchange = string(exchange)
	}
	if what == foundApart || uint64(len(body.payload)) > s.cfg.maxMessage() {
		ch.incoming.begin(ev, 0)
		ch.incoming.exchange = s.exchange
		*ev = proto.Event{}
		return n, out, nil
	}
	ev.Payload = body.payload
	return n + size, s.confirm(ch, out), nil
}

// assemble adds a frame to a message that comes in pieces.
func (s *Server) assemble(ch *peerChannel, f *frame, n int, out []byte, ev *proto.Event) (int, []byte, error) {
	if ch == nil {
		return 0, out, errFrame(f)
	}
	a := &ch.incoming
	if f.kind == frameHeader {
		if _, err := a.header(f); err != nil {
			return 0, out, err
		}
		if a.left > s.cfg.maxMessage() {
			a.stage = idle
			return n, s.closing(ch, replyPrecondition, basicPublish, "the message is larger than the limit", out), nil
		}
	} else if err := a.body(f); err != nil {
		return 0, out, err
	}
	if !a.done(ev) {
		return n, out, nil
	}
	s.exchange = a.exchange
	return n, s.confirm(ch, out), nil
}

// confirm confirms a message that is complete, at once or together with others.
func (s *Server) confirm(ch *peerChannel, out []byte) []byte {
	if !ch.confirming {
		return out
	}
	if ch.received.count == 0 {
		s.unconfirmed++
	}
	ch.published++
	out = ch.received.note(ch.published, s.cfg.ConfirmEvery, ch.number, out)
	if ch.received.count == 0 {
		s.unconfirmed--
	}
	return out
}

// acknowledged handles what the client says about deliveries. It is not consumed until all that it settles was reported.
func (s *Server) acknowledged(ch *peerChannel, m method, r *reader, n int, out []byte, ev *proto.Event) (int, []byte, error) {
	tag, bits := r.u64(), r.u8()
	if r.short {
		return 0, out, errMalformed(m)
	}
	if ch.sent.unknown(m, tag) != nil {
		return n, s.closing(ch, replyPrecondition, m, "unknown delivery tag", out), nil
	}
	multiple := bits&1 != 0 && m != basicReject
	token, ok := uint64(0), false
	switch {
	case multiple && tag == 0: // all
		token, ok = ch.sent.settleUpTo(ch.sent.next - 1)
	case multiple:
		token, ok = ch.sent.settleUpTo(tag)
	default:
		token, ok = ch.sent.settle(tag)
	}
	if !ok {
		return n, out, nil
	}
	ev.Kind, ev.Token, ev.QoS = proto.Acked, token, 1
	if m != basicAck {
		ev.Err = errRejected
	}
	if multiple {
		n = 0
	}
	return n, out, nil
}
