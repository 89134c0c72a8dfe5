package amqp091

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
)

// ServerConfig is what all connections of a server share. It is only read.
type ServerConfig struct {
	User, Password string        // what a client must present; both empty = anybody may connect
	Heartbeat      time.Duration // proposed; 0 = as the client likes
	FrameMax       int           // largest frame, bytes; 0 = 128 KiB
	MaxMessage     int           // largest body, bytes; 0 = 128 MiB
	ConfirmEvery   int           // confirm so many messages at once, or what one read has brought if that is less; 0 = 1
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

type serverPhase uint8

const (
	serverHeader serverPhase = iota // the protocol header comes first
	serverStart
	serverTune
	serverOpen
	serverReady
	serverEnded
)

// Server is a broker's side of one connection. It accepts every declaration and confirms what is published; routing is
// the caller's.
//
// Subscribed reports a consumer. Its Topic is the key with which the consumer's queue was bound on this connection, or
// the name of the queue if it was not; Queue and Group tell more. A queue can have one binding. Delivered has QoS 1 for a
// message that is confirmed; Exchange says where it was published.
//
// When Feed fails, the bytes it appended hold the connection.close that tells the peer why.
type Server struct {
	cfg         *ServerConfig
	channels    map[uint16]*peerChannel
	consumers   map[uint64]*consumer  // by our token
	queues      map[string]*peerQueue // that this connection has declared or used
	lastToken   uint64
	exchange    string // of the message delivered last
	heartbeat   heartbeat
	frameMax    uint32
	unconfirmed int // channels with messages that are not confirmed yet
	phase       serverPhase
}

// peerChannel is an open channel of the peer.
type peerChannel struct {
	number     uint16
	prefetch   uint16
	sent       tags   // deliveries to be acknowledged
	published  uint64 // delivery tag of the message published last
	received   acks
	incoming   assembly
	queue      string // declared last
	confirming bool
	paused     bool // by channel.flow
	closing    bool // channel.close was sent; all is ignored until it is answered
}

// peerQueue is a queue as far as its declaration on this connection tells.
type peerQueue struct {
	exchange, key string
	bound         bool
	exclusive     bool
}

// consumer is a subscription of the peer.
type consumer struct {
	tag     string
	queue   string
	channel *peerChannel
	noAck   bool
}

// NewServer makes the server's side of a connection that is not open yet.
func NewServer(cfg *ServerConfig) *Server { return &Server{cfg: cfg} }

// Open appends nothing: the client speaks first.
func (s *Server) Open(_ int64, out []byte) []byte {
	*s = Server{
		cfg: s.cfg, frameMax: s.cfg.frameMax(),
		channels: map[uint16]*peerChannel{}, consumers: map[uint64]*consumer{}, queues: map[string]*peerQueue{},
	}
	s.heartbeat.start(0, 0)
	return out
}

// Close appends connection.close, as a broker that shuts down.
func (s *Server) Close(out []byte) []byte {
	if s.phase == serverHeader || s.phase == serverEnded {
		return out
	}
	s.phase = serverEnded
	return appendClose(s.confirmAll(out), 0, replyForced, "CONNECTION_FORCED - shutdown", 0)
}

// Need returns how many bytes the unit at the start of in occupies; 0 = not known yet, or about to be refused by Feed.
// Feed may want more than that: the header and the body of a message are taken together with its method.
func (s *Server) Need(in []byte) int {
	if s.phase == serverHeader {
		return len(protocolHeader)
	}
	n, err := frameSize(in, max(s.frameMax, minFrame))
	if err != nil {
		return 0
	}
	return n
}

// Tick sends heartbeats.
func (s *Server) Tick(now int64, out []byte) (int64, []byte, error) {
	return s.heartbeat.tick(now, out)
}

// Queue is the name of the queue that a subscription of the peer consumes from; empty = there is no such subscription.
func (s *Server) Queue(token uint64) string {
	if c := s.consumers[token]; c != nil {
		return c.queue
	}
	return ""
}

// Group is the name of the queue that a subscription of the peer may share with others; empty if the queue is exclusive.
func (s *Server) Group(token uint64) string {
	name := s.Queue(token)
	if q := s.queues[name]; q != nil && q.exclusive {
		return ""
	}
	return name
}

// Exchange is where the message that Feed delivered last was published.
func (s *Server) Exchange() string { return s.exchange }

// Room is the least that the prefetch limits of the peer leave. Without acknowledgements there is no limit.
func (s *Server) Room(qos uint8) int {
	if s.phase != serverReady {
		return 0
	}
	least := room
	for _, c := range s.consumers {
		switch ch := c.channel; {
		case ch.paused:
			return 0
		case qos > 0 && !c.noAck && ch.prefetch > 0:
			least = min(least, max(0, int(ch.prefetch)-ch.sent.left))
		}
	}
	return least
}

// Publish delivers m to the peer's subscription m.Sub.
func (s *Server) Publish(m *proto.Message, out []byte) ([]byte, error) {
	c := s.consumers[m.Sub]
	switch {
	case s.phase != serverReady:
		return out, ErrNotReady
	case c == nil || c.channel.closing:
		return out, fmt.Errorf("amqp091: the peer has no subscription %d", m.Sub)
	case m.QoS > 1:
		return out, errQoS
	case m.QoS == 1 && c.noAck:
		return out, errors.New("amqp091: the peer consumes without acknowledgements")
	case len(m.Topic) > 255:
		return out, errTopic
	case !c.noAck && c.channel.prefetch > 0 && c.channel.sent.left >= int(c.channel.prefetch):
		return out, ErrNoRoom
	}
	state := uint8(tagSilent)
	switch {
	case c.noAck:
		state = tagSettled
	case m.QoS == 1:
		state = tagOpen
	}
	tag := c.channel.sent.add(m.Token, state)
	s.heartbeat.wrote = true
	exchange := s.queues[c.queue].exchange
	out = slices.Grow(out, frameOverhead+20+len(c.tag)+len(exchange)+len(m.Topic)+contentSize(len(m.Payload), s.frameMax))
	out, start := beginMethod(out, c.channel.number, basicDeliver)
	out = appendShort(out, c.tag)
	out = appendU64(out, tag)
	out = append(out, bit(m.Redelivered, 0))
	out = appendShort(out, exchange)
	out = appendShort(out, m.Topic)
	out = endFrame(out, start)
	return appendContent(out, c.channel.number, properties{mode: modeTransient}, m.Payload, s.frameMax), nil
}

// confirmAll confirms what was published and not confirmed yet, on all channels.
func (s *Server) confirmAll(out []byte) []byte {
	if s.unconfirmed == 0 {
		return out
	}
	for _, ch := range s.channels {
		out = ch.received.flush(ch.number, out)
	}
	s.unconfirmed = 0
	return out
}
