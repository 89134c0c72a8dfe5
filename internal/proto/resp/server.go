package resp

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/mqlab/mqlab/internal/proto"
)

// ServerConfig is what all connections of a server share. It is only read.
type ServerConfig struct {
	User, Password string // what a client must present; no password = anybody may connect; no user = "default"
	MaxPayload     int    // bytes of a counted string; 0 = 512 MiB, as redis-server
	RESP2          bool   // know no HELLO, as before Redis 6
}

func (c *ServerConfig) maxPayload() int64 {
	if c.MaxPayload > 0 {
		return int64(c.MaxPayload)
	}
	return maxBulk
}

func (c *ServerConfig) accepts(user, password string) bool {
	want := c.User
	if want == "" {
		want = "default"
	}
	return user == want && password == c.Password
}

// served is a subscription of the peer.
type served struct {
	filter  string
	token   uint64
	pattern bool
}

// Server is a broker's side of one connection that speaks pub/sub. It knows the subscriptions of its peer and of nobody
// else: routing is the caller's. It answers every PUBLISH by :0, because it cannot know the number of receivers.
//
// Feed may report an event and consume nothing: before Ready, and for all but the last channel of one
// command.
//
// When Feed fails, the bytes it appended hold the error reply that tells the peer why.
type Server struct {
	cfg       *ServerConfig
	subs      []served
	lastToken uint64
	name      string
	args      [][]byte // of the command at hand
	done      int      // channels of the command at hand that were dealt with
	allowed   bool     // the peer has logged in, or need not
	resp3     bool
	ready     bool // Ready was reported
	quit      bool
}

var _ proto.Server = (*Server)(nil)

// NewServer makes the server's side of a connection that is not open yet.
func NewServer(cfg *ServerConfig) *Server { return &Server{cfg: cfg} }

// Open appends nothing: the client speaks first.
func (s *Server) Open(_ int64, out []byte) []byte {
	*s = Server{cfg: s.cfg, allowed: s.cfg.Password == "", args: s.args[:0]}
	return out
}

// Close appends nothing: Redis has no goodbye.
func (s *Server) Close(out []byte) []byte { return out }

// Tick has nothing to do: it is the client's business to find out whether the server lives.
func (s *Server) Tick(_ int64, out []byte) (int64, []byte, error) { return math.MaxInt64, out, nil }

// Name is how the client calls itself.
func (s *Server) Name() string { return s.name }

// Room is the same large number for QoS 0 once the peer is accepted.
func (s *Server) Room(uint8) int {
	if !s.ready {
		return 0
	}
	return math.MaxInt32
}

// Matches tells whether a message on topic is to be delivered to subscription sub of the peer.
func (s *Server) Matches(sub uint64, topic []byte) bool {
	found := s.find(sub)
	switch {
	case found == nil:
		return false
	case found.pattern:
		return Match(found.filter, topic)
	}
	return found.filter == string(topic)
}

func (s *Server) find(token uint64) *served {
	for i := range s.subs {
		if s.subs[i].token == token {
			return &s.subs[i]
		}
	}
	return nil
}

// Publish delivers m to the peer's subscription m.Sub.
func (s *Server) Publish(m *proto.Message, out []byte) ([]byte, error) {
	sub := s.find(m.Sub)
	switch {
	case sub == nil:
		return out, fmt.Errorf("redis: the peer has no subscription %d", m.Sub)
	case m.QoS > 0:
		return out, errors.New("redis: pub/sub delivers with QoS 0 only")
	case len(m.Payload) > maxBulk || len(m.Topic) > maxBulk:
		return out, errTooLarge("message", max(len(m.Payload), len(m.Topic)), maxBulk)
	}
	out = grow(out, m.Topic, m.Payload)
	if sub.pattern {
		out = s.push(out, 4, "pmessage")
		out = appendBulk(out, sub.filter)
	} else {
		out = s.push(out, 3, "message")
	}
	out = appendBulk(out, m.Topic)
	return appendBulk(out, m.Payload), nil
}

// push appends the beginning of what RESP3 sends apart from answers.
func (s *Server) push(out []byte, n int, kind string) []byte {
	first := byte('*')
	if s.resp3 {
		first = '>'
	}
	return appendBulk(appendHead(out, first, n), kind)
}

// appendError appends an error reply with a text, as a server refuses something.
func appendError(out []byte, text string) []byte {
	return fmt.Appendf(out, "-%s\r\n", text)
}

// Feed consumes one command of the client.
func (s *Server) Feed(_ int64, in, out []byte, ev *proto.Event) (int, []byte, error) {
	*ev = proto.Event{}
	if s.quit {
		return 0, out, errors.New("redis: a command follows QUIT")
	}
	if wait, err := foreign(in, "*"); wait || err != nil || len(in) == 0 {
		if err != nil {
			out = appendError(out, "ERR Protocol error: expected '*'")
		}
		return 0, out, err
	}
	n, err := s.read(in)
	if err != nil {
		return 0, appendError(out, "ERR Protocol error: invalid bulk length"), err
	}
	if n == 0 {
		return 0, out, nil
	}
	if len(s.args) == 0 {
		return n, out, nil
	}
	out, more := s.execute(out, ev)
	if more {
		return 0, out, nil
	}
	s.done = 0
	return n, out, nil
}

// read takes the command at the start of in apart; 0 means that more bytes are needed.
func (s *Server) read(in []byte) (int, error) {
	r := scanner{in: in}
	h := r.head()
	s.args = s.args[:0]
	for range h.n {
		word := r.head()
		if !r.stuck() && (word.kind != '$' || word.n < 0 || word.n > s.cfg.maxPayload()) {
			return 0, fmt.Errorf("redis: the client sends %q of length %d where a string of up to %d bytes belongs",
				string(word.kind), word.n, s.cfg.maxPayload())
		}
		b := r.text(&word)
		if r.stuck() {
			break
		}
		s.args = append(s.args, b)
	}
	if r.stuck() {
		return 0, r.err
	}
	return r.at, nil
}

// forget removes a subscription and returns its token, 0 if there is none.
func (s *Server) forget(filter []byte, pattern bool) (token uint64) {
	s.subs = slices.DeleteFunc(s.subs, func(sub served) bool {
		found := sub.filter == string(filter) && sub.pattern == pattern
		if found {
			token = sub.token
		}
		return found
	})
	return token
}
