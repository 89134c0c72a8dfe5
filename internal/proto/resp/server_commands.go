package resp

import (
	"fmt"
	"strings"

	"github.com/mqlab/mqlab/internal/proto"
)

// execute carries out the command in s.args. more asks to be called again with the same command. Ready is reported before
// the first command that belongs to no handshake; that of our own clients ends with a PING.
func (s *Server) execute(out []byte, ev *proto.Event) (o []byte, more bool) {
	verb := strings.ToUpper(string(s.args[0][:min(len(s.args[0]), 32)]))
	switch {
	case verb == "QUIT":
		s.quit = true
		ev.Kind = proto.Closed
		return append(out, "+OK\r\n"...), false
	case verb == "HELLO" && !s.restricted():
		return s.hello(out), false
	case verb == "AUTH" && !s.restricted():
		return s.auth(out), false
	case !s.allowed:
		return appendError(out, "NOAUTH Authentication required."), false
	case verb == "CLIENT" && !s.restricted():
		return s.client(out), false
	case !s.ready:
		s.ready, ev.Kind = true, proto.Ready
		return out, true
	}
	switch verb {
	case "PING":
		return s.pong(out), false
	case "SUBSCRIBE", "PSUBSCRIBE":
		return s.subscribe(verb, out, ev)
	case "UNSUBSCRIBE", "PUNSUBSCRIBE":
		return s.unsubscribe(verb, out, ev)
	}
	switch {
	case s.restricted():
		return s.refuseSubscriber(verb, out), false
	case verb == "PUBLISH":
		return s.published(out, ev), false
	}
	return appendError(out, fmt.Sprintf("ERR unknown command '%.32s'", printable(s.args[0]))), false
}

// printable keeps a reply to one line.
func printable(b []byte) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return '.'
		}
		return r
	}, string(b))
}

// restricted tells that RESP2 allows nothing but commands about subscriptions.
func (s *Server) restricted() bool { return !s.resp3 && len(s.subs) > 0 }

func (s *Server) refuseSubscriber(verb string, out []byte) []byte {
	return appendError(out, fmt.Sprintf("ERR Can't execute '%s': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / "+
		"RESET are allowed in this context", strings.ToLower(printable([]byte(verb)))))
}

func wrongNumber(verb string, out []byte) []byte {
	return appendError(out, fmt.Sprintf("ERR wrong number of arguments for '%s' command", strings.ToLower(verb)))
}

func (s *Server) published(out []byte, ev *proto.Event) []byte {
	if len(s.args) != 3 {
		return wrongNumber("PUBLISH", out)
	}
	ev.Kind, ev.Topic, ev.Payload = proto.Delivered, s.args[1], s.args[2]
	return append(out, ":0\r\n"...)
}

// pong answers PING [message].
func (s *Server) pong(out []byte) []byte {
	if len(s.args) > 2 {
		return wrongNumber("PING", out)
	}
	switch {
	case s.restricted():
		out = appendBulk(appendHead(out, '*', 2), "pong")
		if len(s.args) == 2 {
			return appendBulk(out, s.args[1])
		}
		return appendBulk(out, "")
	case len(s.args) == 2:
		return appendBulk(out, s.args[1])
	}
	return append(out, "+PONG\r\n"...)
}

// subscribe handles one channel or pattern per call.
func (s *Server) subscribe(verb string, out []byte, ev *proto.Event) ([]byte, bool) {
	if len(s.args) < 2 {
		return wrongNumber(verb, out), false
	}
	pattern := verb == "PSUBSCRIBE"
	s.done++
	filter := s.args[s.done]
	token := s.forget(filter, pattern)
	if token == 0 {
		s.lastToken++
		token = s.lastToken
	}
	s.subs = append(s.subs, served{string(filter), token, pattern})
	ev.Kind, ev.Topic, ev.Token = proto.Subscribed, filter, token
	out = appendBulk(s.push(out, 3, strings.ToLower(verb)), filter)
	return appendCount(out, len(s.subs)), s.done+1 < len(s.args)
}

// unsubscribe handles one channel or pattern per call; without arguments all that there are.
func (s *Server) unsubscribe(verb string, out []byte, ev *proto.Event) ([]byte, bool) {
	pattern := verb == "PUNSUBSCRIBE"
	kind := strings.ToLower(verb)
	if len(s.args) == 1 {
		filter, left := s.oneOf(pattern)
		if left == 0 && s.done == 0 {
			return appendCount(append(s.push(out, 3, kind), "$-1\r\n"...), len(s.subs)), false
		}
		s.done++
		return s.drop(kind, []byte(filter), pattern, out, ev), left > 1
	}
	s.done++
	return s.drop(kind, s.args[s.done], pattern, out, ev), s.done+1 < len(s.args)
}

// oneOf returns a subscription of that kind, and how many there are.
func (s *Server) oneOf(pattern bool) (filter string, n int) {
	for i := range s.subs {
		if s.subs[i].pattern == pattern {
			filter = s.subs[i].filter
			n++
		}
	}
	return filter, n
}

func (s *Server) drop(kind string, filter []byte, pattern bool, out []byte, ev *proto.Event) []byte {
	if token := s.forget(filter, pattern); token > 0 {
		ev.Kind, ev.Topic, ev.Token = proto.Unsubscribed, filter, token
	}
	return appendCount(appendBulk(s.push(out, 3, kind), filter), len(s.subs))
}

func appendCount(out []byte, n int) []byte {
	return append(appendUint(append(out, ':'), uint64(n)), '\r', '\n')
}

// auth handles AUTH [user] password.
func (s *Server) auth(out []byte) []byte {
	if len(s.args) < 2 || len(s.args) > 3 {
		return wrongNumber("AUTH", out)
	}
	user := "default"
	if len(s.args) == 3 {
		user = string(s.args[1])
	}
	if !s.logIn(user, string(s.args[len(s.args)-1])) {
		return appendWrongPassword(out)
	}
	return append(out, "+OK\r\n"...)
}

func appendWrongPassword(out []byte) []byte {
	return appendError(out, "WRONGPASS invalid username-password pair or user is disabled.")
}

func (s *Server) logIn(user, password string) bool {
	ok := s.cfg.Password == "" || s.cfg.accepts(user, password)
	s.allowed = s.allowed || ok
	return ok
}

// client handles CLIENT SETNAME name; of the rest it takes note without doing anything.
func (s *Server) client(out []byte) []byte {
	if len(s.args) == 3 && strings.EqualFold(string(s.args[1]), "SETNAME") {
		s.name = string(s.args[2])
	}
	return append(out, "+OK\r\n"...)
}

// hello handles HELLO [version [AUTH user password] [SETNAME name]].
func (s *Server) hello(out []byte) []byte {
	if s.cfg.RESP2 {
		return appendError(out, "ERR unknown command 'HELLO'")
	}
	resp3 := s.resp3
	if len(s.args) > 1 {
		switch string(s.args[1]) {
		case "2":
			resp3 = false
		case "3":
			resp3 = true
		default:
			return appendError(out, "NOPROTO unsupported protocol version")
		}
	}
	name := s.name
	for rest := s.args[min(2, len(s.args)):]; len(rest) > 0; {
		switch option := strings.ToUpper(string(rest[0])); {
		case option == "AUTH" && len(rest) > 2:
			if !s.logIn(string(rest[1]), string(rest[2])) {
				return appendWrongPassword(out)
			}
			rest = rest[3:]
		case option == "SETNAME" && len(rest) > 1:
			name = string(rest[1])
			rest = rest[2:]
		default:
			return appendError(out, "ERR Syntax error in HELLO option")
		}
	}
	if !s.allowed {
		return appendError(out, "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> "+
			"AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time")
	}
	s.name, s.resp3 = name, resp3
	return s.appendHello(out)
}

// appendHello says what the server is.
func (s *Server) appendHello(out []byte) []byte {
	version := 2
	if s.resp3 {
		out, version = appendHead(out, '%', 7), 3
	} else {
		out = appendHead(out, '*', 14)
	}
	out = appendBulk(appendBulk(out, "server"), "redis")
	out = appendBulk(appendBulk(out, "version"), "7.0.0")
	out = appendCount(appendBulk(out, "proto"), version)
	out = appendCount(appendBulk(out, "id"), 1)
	out = appendBulk(appendBulk(out, "mode"), "standalone")
	out = appendBulk(appendBulk(out, "role"), "master")
	return appendHead(appendBulk(out, "modules"), '*', 0)
}
