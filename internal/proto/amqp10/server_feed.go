package amqp10

import (
	"errors"

	"github.com/mqlab/mqlab/internal/proto"
)

// errGone tells what became of messages whose link or session the client ended.
var errGone = errors.New("amqp10: client detached before it settled the message")

// Feed consumes a protocol header or one frame of the client.
func (s *Server) Feed(now int64, in, out []byte, ev *proto.Event) (n int, o []byte, err error) {
	*ev = proto.Event{}
	if len(in) > 0 {
		s.idle.heard = true
	}
	if s.phase == serverHeader || s.phase == serverHeaderAgain {
		return s.header(in, out)
	}
	o = out
	var f frame
	if n, err = cutFrame(in, s.receiveMax, &f); n > 0 && !f.empty {
		n, o, err = s.handle(now, &f, n, out, ev)
	}
	if err != nil {
		*ev = proto.Event{}
		return 0, s.refuse(err, o), err
	}
	if n == len(in) || (n == 0 && ev.Kind == proto.None) {
		o = s.flush(o)
	}
	s.idle.wrote = s.idle.wrote || len(o) > len(out)
	return n, o, nil
}

// header takes a protocol header. A server that wants another one says so, and hangs up (§2.2).
func (s *Server) header(in, out []byte) (int, []byte, error) {
	guarded := s.cfg.User != "" || s.cfg.Password != ""
	want := headerSASL
	if s.phase == serverHeaderAgain || (!guarded && len(in) > 5 && in[4] == 0 && in[5] == 1) {
		want = headerAMQP
	}
	wait, err := foreign(in, want)
	if err != nil {
		return 0, append(out, want...), err
	}
	if wait {
		return 0, out, nil
	}
	out = append(out, want...)
	s.phase = serverOpen
	if want == headerSASL {
		s.phase = serverInit
		out = appendMechanisms(out, "PLAIN", "ANONYMOUS")
	}
	return len(want), out, nil
}

// handle acts on a frame of n bytes.
func (s *Server) handle(now int64, f *frame, n int, out []byte, ev *proto.Event) (int, []byte, error) {
	var err error
	switch {
	case s.phase == serverEnded:
	case s.phase == serverInit && f.what == saslInit:
		out, err = s.admits(f, out)
	case s.phase == serverOpen && f.what == doOpen:
		if err = s.open(now, f, s.cfg.IdleTimeout); err == nil {
			s.phase = serverBegin
			ev.Kind = proto.Ready
			out = s.appendOpen(out, "mqlab", "", s.cfg.IdleTimeout)
		}
	case s.phase < serverBegin:
		err = errUnexpected(f.what)
	case f.what == doClose:
		out, err = s.closed(f, out, ev)
	case f.channel != 0:
		err = &fault{condNotAllowed, "there is one session only, on channel 0"}
	case s.phase == serverBegin && f.what == doBegin:
		if err = s.begin(f); err == nil {
			s.phase = serverReady
			out = s.appendBegin(out, true)
		}
	case s.phase == serverBegin:
		err = errUnexpected(f.what)
	default:
		return s.session(f, n, out, ev)
	}
	return n, out, err
}

// admits checks who the client is.
func (s *Server) admits(f *frame, out []byte) ([]byte, error) {
	mechanism, response := f.fields.text(), f.fields.text()
	if f.fields.bad {
		return out, errMalformed(saslInit)
	}
	anybody := s.cfg.User == "" && s.cfg.Password == ""
	right := string(mechanism) == "PLAIN" && string(response) == "\x00"+s.cfg.User+"\x00"+s.cfg.Password
	if !anybody && !right {
		return appendOutcome(out, 1), errors.New("amqp10: login was refused")
	}
	s.phase = serverHeaderAgain
	return appendOutcome(out, 0), nil
}

// closed answers close. The reason is an error unless the client just said goodbye.
func (s *Server) closed(f *frame, out []byte, ev *proto.Event) ([]byte, error) {
	e := readError(&f.fields, "client closed the connection")
	if f.fields.bad {
		return out, errMalformed(doClose)
	}
	s.phase = serverEnded
	if ev.Kind = proto.Closed; e != nil {
		ev.Err = e
	}
	return appendClose(out, "", ""), nil
}

// session handles what happens inside a session.
func (s *Server) session(f *frame, n int, out []byte, ev *proto.Event) (int, []byte, error) {
	var err error
	switch f.what {
	case doAttach:
		out, err = s.attached(f, out, ev)
	case doFlow:
		out, err = s.flow(f, out)
	case doTransfer:
		out, err = s.delivered(f, out, ev)
	case doDisposition:
		var done bool
		if done, out, err = s.settled(f, out, ev); !done {
			n = 0
		}
	case doDetach:
		return s.detached(f, n, out, ev)
	case doEnd:
		return s.ended(n, out, ev)
	default:
		err = errUnexpected(f.what)
	}
	return n, out, err
}
