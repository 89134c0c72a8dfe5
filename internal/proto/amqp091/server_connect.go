package amqp091

import (
	"bytes"
	"errors"

	"github.com/mqlab/mqlab/internal/proto"
)

// fault is an error of the peer that ends the connection with this reply code.
type fault struct {
	code  uint16
	cause method
	text  string
}

func (e *fault) Error() string {
	return "amqp091: " + e.cause.String() + ": " + e.text
}

// header takes the protocol header of the client. A server that wants another version says so, and hangs up (§4.2.2).
func (s *Server) header(in, out []byte) (int, []byte, error) {
	wait, err := foreign(in, protocolHeader)
	if err != nil {
		return 0, append(out, protocolHeader...), err
	}
	if wait {
		return 0, out, nil
	}
	s.phase = serverStart
	out, start := beginMethod(out, 0, connectionStart)
	out = append(out, 0, 9)
	out = appendTable(out, Table{{"product", "mqlab"}, {"version", "1"}, {"capabilities", capabilities}})
	out = appendLong(out, "PLAIN ANONYMOUS")
	out = appendLong(out, "en_US")
	return len(protocolHeader), endFrame(out, start), nil
}

// connection handles methods on channel 0.
func (s *Server) connection(now int64, m method, r *reader, out []byte, ev *proto.Event) ([]byte, error) {
	switch {
	case m == connectionStartOK && s.phase == serverStart:
		return s.startOK(r, out)
	case m == connectionTuneOK && s.phase == serverTune:
		return out, s.tuneOK(now, r)
	case m == connectionOpen && s.phase == serverOpen:
		r.shortStr()
		if r.short {
			return out, errMalformed(m)
		}
		s.phase = serverReady
		ev.Kind = proto.Ready
		out, start := beginMethod(out, 0, connectionOpenOK)
		return endFrame(append(out, 0), start), nil
	case m == connectionClose:
		return s.closed(m, r, out, ev)
	}
	return out, &fault{replyCommandInvalid, m, "it comes out of sequence"}
}

func (s *Server) startOK(r *reader, out []byte) ([]byte, error) {
	r.longStr() // client properties
	mechanism, response := r.shortStr(), r.longStr()
	if r.short {
		return out, errMalformed(connectionStartOK)
	}
	if !s.admits(mechanism, response) {
		return out, &fault{replyAccessRefused, connectionStartOK, "login was refused"}
	}
	s.phase = serverTune
	out, start := beginMethod(out, 0, connectionTune)
	max, beat := s.frameMax, uint16(seconds(s.cfg.Heartbeat))
	out = append(out, 0, 0, byte(max>>24), byte(max>>16), byte(max>>8), byte(max), byte(beat>>8), byte(beat))
	return endFrame(out, start), nil
}

func (s *Server) admits(mechanism, response []byte) bool {
	if s.cfg.User == "" && s.cfg.Password == "" {
		return true
	}
	want := "\x00" + s.cfg.User + "\x00" + s.cfg.Password
	return string(mechanism) == "PLAIN" && bytes.Equal(response, []byte(want))
}

func (s *Server) tuneOK(now int64, r *reader) error {
	r.u16()
	frameMax, beat := r.u32(), r.u16()
	if r.short {
		return errMalformed(connectionTuneOK)
	}
	if frameMax == 0 {
		frameMax = s.frameMax
	}
	if frameMax < minFrame || frameMax > s.frameMax {
		return &fault{replyNotAllowed, connectionTuneOK, "frame_max is not what was offered"}
	}
	s.frameMax, s.phase = frameMax, serverOpen
	s.heartbeat.start(now, beat)
	return nil
}

// closed answers connection.close. The reason is an error unless the client just said goodbye.
func (s *Server) closed(m method, r *reader, out []byte, ev *proto.Event) ([]byte, error) {
	e, _, err := readClose(m, r, "client closed the connection")
	if err != nil {
		return out, err
	}
	s.phase = serverEnded
	ev.Kind = proto.Closed
	if e.Code != replySuccess {
		ev.Err = e
	}
	return appendBare(out, 0, connectionCloseOK), nil
}

// refuse appends the connection.close that tells the peer what err says.
func (s *Server) refuse(err error, out []byte) []byte {
	if s.phase == serverHeader {
		return out
	}
	s.phase = serverEnded
	f := &fault{code: replyFrameError, text: err.Error()}
	errors.As(err, &f)
	name := reasons[f.code].name
	return appendClose(out, 0, f.code, name+" - "+f.text, f.cause)
}
