package amqp10

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
)

// ServerConfig is what all connections of a server share. It is only read.
type ServerConfig struct {
	User, Password string        // what a client must present; both empty = anybody may connect, also without SASL
	IdleTimeout    time.Duration // the client shall not be silent for longer; 0 = it may
	FrameMax       int           // largest frame, bytes; 0 = 128 KiB
	MaxMessage     int           // largest message, bytes; 0 = 128 MiB
	SessionWindow  int           // transfer frames that the client may send before it hears from us; 0 = 65535
	Credit         int           // messages that a sender of the client may have under way; renewed at half; 0 = 100
	ConfirmEvery   int           // settle so many messages at once, or what one read has brought if that is less; 0 = 1
}

func (c *ServerConfig) frameMax() uint32 {
	if c.FrameMax == 0 {
		return defaultFrame
	}
	return uint32(min(max(c.FrameMax, minFrame), math.MaxInt32))
}

func (c *ServerConfig) maxMessage() uint64 {
	if c.MaxMessage == 0 {
		return 128 << 20
	}
	return uint64(min(c.MaxMessage, maxMessage))
}

func (c *ServerConfig) sessionWindow() uint32 {
	if c.SessionWindow == 0 {
		return math.MaxUint16
	}
	return uint32(c.SessionWindow)
}

func (c *ServerConfig) credit() int {
	if c.Credit == 0 {
		return 100
	}
	return c.Credit
}

type serverPhase uint8

const (
	serverHeader serverPhase = iota // the protocol header comes first
	serverInit
	serverHeaderAgain // after authentication
	serverOpen
	serverBegin
	serverReady
	serverEnded
)

// Server is a broker's side of one connection, with one session. It lets clients attach to any address and accepts what
// they send; routing is the caller's.
//
// Subscribed reports a receiver of the client; Topic is the address of its source. Delivered has QoS 1 for a message that
// is settled by us; Topic is its subject, else its address, else the address of the link's target.
//
// When Feed fails, the bytes it appended hold the close that tells the peer why.
type Server struct {
	endpoint
	cfg   *ServerConfig
	phase serverPhase
}

// NewServer makes the server's side of a connection that is not open yet.
func NewServer(cfg *ServerConfig) *Server { return &Server{cfg: cfg} }

// Open appends nothing: the client speaks first.
func (s *Server) Open(_ int64, out []byte) []byte {
	s.renew(s.cfg.frameMax(), s.cfg.sessionWindow())
	s.phase = serverHeader
	return out
}

// Close appends close, as a broker that shuts down.
func (s *Server) Close(out []byte) []byte {
	if s.phase < serverBegin || s.phase == serverEnded {
		return out
	}
	s.phase = serverEnded
	return appendClose(s.flush(out), condForced, "shutdown")
}

// Need returns how many bytes the unit at the start of in occupies; 0 = not known yet, or about to be refused by Feed.
func (s *Server) Need(in []byte) int {
	if s.phase == serverHeader || s.phase == serverHeaderAgain {
		return 0 // whatever comes may be shorter than a protocol header
	}
	return s.need(in)
}

// Tick sends empty frames.
func (s *Server) Tick(now int64, out []byte) (int64, []byte, error) {
	return s.idle.tick(now, out)
}

// Room is the least credit that the receivers of the client have granted, as far as the session window goes.
func (s *Server) Room(_ uint8) int {
	if s.phase != serverReady || s.held != nil {
		return 0
	}
	n := int(min(s.outWindow, room))
	for _, l := range s.links {
		if l != nil && l.sends {
			n = min(n, max(0, int(l.credit)))
		}
	}
	return n
}

// Publish delivers m to the peer's subscription m.Sub. The topic is the subject of the message.
func (s *Server) Publish(m *proto.Message, out []byte) ([]byte, error) {
	l := s.subscription(m.Sub)
	switch {
	case s.phase != serverReady:
		return out, ErrNotReady
	case l == nil:
		return out, fmt.Errorf("amqp10: the peer has no subscription %d", m.Sub)
	case m.QoS > 1:
		return out, errQoS
	case len(m.Topic) > maxName:
		return out, errTopic
	case l.credit <= 0 || (s.held != nil && s.held.link != l):
		return out, ErrNoRoom
	}
	o := outgoing{subject: m.Topic, payload: m.Payload, again: m.Redelivered}
	if err := s.admit(l, &o, m); err != nil {
		return out, err
	}
	s.idle.wrote = true
	return s.send(l, &o, out), nil
}

// subscription is the link of a subscription of the peer; nil = there is none.
func (s *Server) subscription(token uint64) *link {
	if token == 0 || token > uint64(len(s.links)) {
		return nil
	}
	if l := s.links[token-1]; l != nil && l.sends {
		return l
	}
	return nil
}

// fault is an error of the peer that ends the connection with this condition.
type fault struct{ condition, text string }

func (e *fault) Error() string { return "amqp10: " + e.text }

// refuse appends the close that tells the peer what err says.
func (s *Server) refuse(err error, out []byte) []byte {
	before := s.phase
	s.phase = serverEnded
	if before < serverOpen {
		return out
	}
	if before == serverOpen { // close must follow an open (§2.4.1)
		out = s.appendOpen(out, "mqlab", "", 0)
	}
	f := &fault{condFraming, err.Error()}
	errors.As(err, &f)
	return appendClose(out, f.condition, f.text[:min(len(f.text), maxName)])
}
