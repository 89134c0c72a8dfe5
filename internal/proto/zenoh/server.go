package zenoh

import (
	"crypto/hmac"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
)

// ServerConfig is what all connections of a server share. It is only read.
type ServerConfig struct {
	User, Password string        // what a client must present; no user = anybody may connect
	Lease          time.Duration // after which a client may take us for dead; 0 = 10 s
	Batch          int           // bytes of the largest batch that we accept, 256 to 65535; 0 = 65535
	MaxPayload     int           // bytes of a message; 0 = 4 GiB
}

func (c *ServerConfig) sizes() initSizes {
	if c.Batch > 0 {
		return initSizes{resolution32, uint16(min(max(c.Batch, minBatch), maxBatch))}
	}
	return initSizes{resolution32, maxBatch}
}

func (c *ServerConfig) maxPayload() uint64 {
	if c.MaxPayload > 0 {
		return uint64(c.MaxPayload)
	}
	return math.MaxUint32
}

func (c *ServerConfig) lease() time.Duration {
	if c.Lease > 0 {
		return c.Lease
	}
	return defaultLease
}

// served is a subscription of the peer.
type served struct {
	token  uint64
	filter string
	prefix string // that the peer declared under scope
	scope  uint16
}

// Server is a router's side of one connection. It knows the subscriptions of its peer and of nobody else: routing is the
// caller's.
//
// When Feed fails, the bytes it appended hold the Close that tells the peer why.
type Server struct {
	link
	cfg    *ServerConfig
	nonce  uint64 // of the challenge
	subs   []served
	phase  phase
	cookie []byte
}

var _ proto.Server = (*Server)(nil)

// NewServer makes the server's side of a connection that is not open yet. nonce is the challenge to a client that must
// present a password; it should not be guessable.
func NewServer(cfg *ServerConfig, nonce uint64) *Server { return &Server{cfg: cfg, nonce: nonce} }

// Open appends nothing: the client speaks first.
func (s *Server) Open(_ int64, out []byte) []byte {
	s.reset()
	s.alive.wait()
	s.subs, s.phase = s.subs[:0], initing
	return out
}

// Close appends Close.
func (s *Server) Close(out []byte) []byte { return appendClose(out, reasonGeneric) }

// Tick sends a KeepAlive where nothing else was sent for a quarter of our lease.
func (s *Server) Tick(now int64, out []byte) (int64, []byte, error) {
	send, err := s.alive.tick(now, s.cfg.lease()/LeaseParts)
	if send && err == nil {
		out = appendKeepAlive(out)
	}
	return s.alive.next, out, err
}

// Room is the same large number for QoS 0 once the peer is accepted.
func (s *Server) Room(uint8) int {
	if s.phase != ready {
		return 0
	}
	return math.MaxInt32
}

// Matches tells whether a message on topic is to be delivered to subscription sub of the peer.
func (s *Server) Matches(sub uint64, topic []byte) bool {
	i := s.find(sub)
	return i >= 0 && Match(s.subs[i].filter, topic)
}

func (s *Server) find(token uint64) int {
	return slices.IndexFunc(s.subs, func(sub served) bool { return sub.token == token })
}

// Publish delivers m to the peer, naming its key as the peer's subscription m.Sub does.
func (s *Server) Publish(m *proto.Message, out []byte) ([]byte, error) {
	i := s.find(m.Sub)
	switch {
	case i < 0:
		return out, fmt.Errorf("zenoh: the peer has no subscription %d", m.Sub)
	case m.QoS > 0:
		return out, errQoS
	case m.Retain:
		return out, errRetain
	case uint64(len(m.Payload)) > s.cfg.maxPayload():
		return out, fmt.Errorf("zenoh: message of %d bytes is above the limit of %d bytes", len(m.Payload), s.cfg.maxPayload())
	}
	sub := &s.subs[i]
	p := push{suffix: m.Topic, payload: m.Payload, reliable: true}
	if n := len(sub.prefix); n > 0 && len(m.Topic) >= n && string(m.Topic[:n]) == sub.prefix {
		p.scope, p.suffix = sub.scope, m.Topic[n:]
	}
	s.alive.sent = true
	return s.appendPush(out, &p), nil
}

// Feed consumes one message of the network, or one of the transport that is no Frame.
func (s *Server) Feed(now int64, in, out []byte, ev *proto.Event) (int, []byte, error) {
	*ev = proto.Event{}
	if len(in) == 0 || s.phase == closed {
		return 0, out, nil
	}
	s.alive.heard = true
	if s.phase == initing {
		if wait, err := foreign(in, idInit); wait || err != nil {
			return 0, out, err
		}
	}
	n, msgs, whole := s.next(in)
	if !whole {
		return 0, out, nil
	}
	r := reader{in: msgs}
	before := len(out)
	out, err := s.handle(now, &r, out, ev)
	if err != nil {
		reason := byte(reasonInvalid)
		if s.phase != ready {
			reason = reasonGeneric // as routers refuse who is not authorised
		}
		return 0, appendClose(out[:before], reason), err
	}
	s.left -= int32(r.at)
	return n + r.at, out, nil
}

// admit handles InitSyn.
func (s *Server) admit(r *reader, header byte, out []byte) ([]byte, error) {
	h, err := readInit(r, header)
	if err != nil || r.bad {
		return out, err
	}
	own := s.cfg.sizes()
	answer := handshake{
		sizes:  initSizes{min(own.resolution, h.sizes.resolution), min(own.batch, h.sizes.batch)},
		cookie: binary.LittleEndian.AppendUint64(nil, s.nonce), patch: min(patch, h.patch),
	}
	if s.cfg.User != "" {
		if len(h.auth) == 0 {
			return out, fmt.Errorf("zenoh: the client presents no user and password")
		}
		answer.auth = appendChallenge(nil, s.nonce)
	}
	s.agree(&answer)
	s.phase, s.cookie = opening, answer.cookie
	return appendInit(out, flagAck, roleRouter, identify("router", 0), &answer), nil
}

// accept handles OpenSyn.
func (s *Server) accept(now int64, r *reader, header byte, out []byte, ev *proto.Event) ([]byte, error) {
	h := readOpen(r, header)
	if r.bad {
		return out, nil
	}
	if string(h.cookie) != string(s.cookie) {
		return out, fmt.Errorf("zenoh: the client returns another cookie than ours")
	}
	answer := handshake{lease: s.cfg.lease()}
	if s.cfg.User != "" {
		user, proof := readResponse(h.auth)
		if user != s.cfg.User || !hmac.Equal(proof, response(s.nonce, s.cfg.Password)) {
			return out, fmt.Errorf("zenoh: user or password of the client are wrong")
		}
		answer.auth = authAsk
	}
	id := identify("router", 0)
	answer.first = id.firstNumber(s.mask)
	s.begins(answer.first)
	s.phase = ready
	s.alive.start(now, s.cfg.lease()/LeaseParts, h.lease)
	ev.Kind = proto.Ready
	return appendOpen(out, flagAck, &answer), nil
}
