package mqtt

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mqlab/mqlab/internal/proto"
)

// subscribe handles one filter of a SUBSCRIBE (§3.8) per call; the last one is answered with SUBACK.
func (s *Server) subscribe(body, out []byte, ev *proto.Event) ([]byte, error) {
	filter, options, id, err := s.nextFilter(pktSubscribe, body)
	if err != nil {
		return out, malformed(pktSubscribe, err)
	}
	code := options & 3
	switch {
	case s.version == V5 && s.cfg.NoShared && strings.HasPrefix(filter, "$share/"):
		code = reasonNoShared
	case s.cfg.Grant != nil:
		code = s.cfg.Grant(filter, code)
	}
	ev.Kind, ev.Topic, ev.QoS = proto.Subscribed, []byte(filter), code
	if code >= 0x80 {
		if s.version == V311 {
			code = 0x80
		}
		ev.QoS, ev.Err = 0, reasonError("subscription refused", code, "")
	} else {
		ev.Token = s.keep(filter)
	}
	return s.answer(pktSuback, id, code, out), nil
}

// keep notes a subscription and returns its token; one for the same filter replaces the older.
func (s *Server) keep(filter string) uint64 {
	for _, sub := range s.subs {
		if sub.filter == filter {
			return sub.token
		}
	}
	s.lastToken++
	s.subs = append(s.subs, served{filter, s.lastToken})
	return s.lastToken
}

// unsubscribe handles one filter of an UNSUBSCRIBE (§3.10) per call; the last one is answered with UNSUBACK.
func (s *Server) unsubscribe(body, out []byte, ev *proto.Event) ([]byte, error) {
	filter, _, id, err := s.nextFilter(pktUnsubscribe, body)
	if err != nil {
		return out, malformed(pktUnsubscribe, err)
	}
	ev.Kind, ev.Topic = proto.Unsubscribed, []byte(filter)
	code := byte(reasonNoSubscription)
	for i, sub := range s.subs {
		if sub.filter == filter {
			ev.Token, code = sub.token, 0
			s.subs = append(s.subs[:i], s.subs[i+1:]...)
			break
		}
	}
	return s.answer(pktUnsuback, id, code, out), nil
}

// nextFilter decodes the filter at s.at and moves s.at to the one behind it, or to 0 behind the last. The whole packet
// is checked before its first filter is acted on.
func (s *Server) nextFilter(kind byte, body []byte) (filter string, options byte, id uint16, err error) {
	r := reader{rest: body}
	id = r.u16()
	if s.at == 0 {
		s.codes = s.codes[:0]
		if s.at, err = s.checkFilters(kind, body); err != nil {
			s.at = 0
			return "", 0, 0, err
		}
	}
	r.rest = body[s.at:]
	filter = string(r.bytes())
	if kind == pktSubscribe {
		options = r.u8()
	}
	s.at = len(body) - len(r.rest)
	if len(r.rest) == 0 {
		s.at = 0
	}
	return filter, options, id, nil
}

// checkFilters checks a whole SUBSCRIBE or UNSUBSCRIBE and returns where its filters start.
func (s *Server) checkFilters(kind byte, body []byte) (start int, err error) {
	r := reader{rest: body}
	if id := r.u16(); id == 0 && !r.short {
		return 0, errZeroID
	}
	if s.version == V5 {
		p := openProperties(&r, kind)
		for {
			v, ok, err := p.next()
			if err != nil {
				return 0, err
			}
			if !ok {
				break
			}
			if v.id == propSubscriptionID {
				return 0, errors.New("it has a subscription identifier, which was not offered")
			}
		}
	}
	start = len(body) - len(r.rest)
	if !r.short && len(r.rest) == 0 {
		return 0, errors.New("it has no topic filter")
	}
	for !r.short && len(r.rest) > 0 {
		filter := r.bytes()
		if kind == pktSubscribe {
			if err := s.checkOptions(r.u8()); err != nil && !r.short {
				return 0, err
			}
		}
		if r.short {
			break
		}
		if err := checkFilter(string(filter)); err != nil {
			return 0, err
		}
	}
	if r.short {
		return 0, errShort
	}
	return start, nil
}

// checkOptions checks the options of one filter (§3.8.3.1; 3.1.1 has only the QoS).
func (s *Server) checkOptions(options byte) error {
	reserved := byte(0xFC)
	if s.version == V5 {
		reserved = 0xC0
	}
	if options&3 == 3 || options&reserved != 0 || options>>4&3 == 3 {
		return fmt.Errorf("its subscription options are 0x%02x", options)
	}
	return nil
}

// answer notes the code for one filter and appends the whole answer behind the last one.
func (s *Server) answer(kind byte, id uint16, code byte, out []byte) []byte {
	s.codes = append(s.codes, code)
	if s.at > 0 {
		return out
	}
	codes := s.codes
	if s.version == V311 && kind == pktUnsuback {
		codes = nil
	}
	remaining := 2 + len(codes)
	if s.version == V5 {
		remaining++
	}
	out = appendHeader(out, kind<<4, remaining)
	out = append(out, byte(id>>8), byte(id))
	if s.version == V5 {
		out = append(out, 0)
	}
	return append(out, codes...)
}
