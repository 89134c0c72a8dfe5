package mqtt

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
)

// ServerConfig is how a broker's side behaves; many connections may share it, and its functions may then be called at
// the same time. The zero value accepts everything.
type ServerConfig struct {
	// Accept decides on a client: a CONNACK code of the client's version, 0 to accept, and a reason string (MQTT 5). nil accepts all.
	Accept func(c *Connect) (code byte, text string)
	// Grant decides on a subscription: the code for SUBACK, that is the granted QoS or 0x80 and above. nil grants what is asked.
	Grant func(filter string, qos uint8) byte
	// Verdict decides on a message: the reason code for PUBACK or PUBREC (MQTT 5). nil takes all.
	Verdict func(topic []byte, qos uint8) byte

	AssignedID     string        // for a client without identifier; MQTT 5
	ReceiveMaximum int           // unacknowledged messages that the client may have; MQTT 5; 0 = 65,535
	MaxPacketBytes int           // larger packets are an error, and MQTT 5 clients are told so; 0 = what MQTT can express
	KeepAlive      time.Duration // overrides the client's; MQTT 5; 0 = does not
	LimitQoS       bool          // accept messages up to MaxQoS (0 or 1) only; MQTT 5
	MaxQoS         uint8
	NoRetain       bool // refuse retained messages; MQTT 5
	NoShared       bool // refuse shared subscriptions; MQTT 5
	Window         int  // our unacknowledged deliveries; 0 = as many as the client allows
	HoldAcks       bool // never acknowledge a message
}

// Connect is what a client said of itself.
type Connect struct {
	Version        byte
	ID             string
	User           string
	Password       []byte // nil = none
	CleanStart     bool
	KeepAlive      time.Duration
	SessionExpiry  time.Duration // MQTT 5
	ReceiveMaximum int           // MQTT 5; 0 = not given
	MaxPacketBytes int           // MQTT 5; 0 = not given
	Will           *Will
}

// keepsSession reports whether the session is to outlive the connection.
func (c *Connect) keepsSession() bool {
	if c.Version == V5 {
		return c.SessionExpiry > 0
	}
	return !c.CleanStart
}

// Server is a broker's side of one connection, and across reconnections of one session. It routes nothing: its owner
// decides what is published. It implements proto.Server.
type Server struct {
	cfg *ServerConfig
	exchange
	client    Connect
	connected bool // a CONNECT was accepted or refused on this connection
	kept      bool // a session of an earlier connection is still there
	subs      []served
	lastToken uint64
	at        int    // where the next filter of the SUBSCRIBE or UNSUBSCRIBE in progress is; 0 = none is in progress
	codes     []byte // answers to its earlier filters
	heard     int64  // when the last packet came
}

// served is a subscription of the client.
type served struct {
	filter string
	token  uint64
}

// NewServer returns a broker's side for one client.
func NewServer(cfg *ServerConfig) *Server {
	return &Server{cfg: cfg, exchange: exchange{terms: &terms{holdAcks: cfg.HoldAcks}, held: &held{}, server: true}}
}

// Client is what the client said in its last CONNECT; valid after Ready.
func (s *Server) Client() *Connect { return &s.client }

// Need returns the size of the packet that starts at in; see the function Need.
func (s *Server) Need(in []byte) int { return Need(in) }

// InFlight is how many deliveries of QoS 1 and 2 are not acknowledged.
func (s *Server) InFlight() int { return s.out.messages() }

// Open implements proto.Session. A broker says nothing first. What an earlier connection of this Server left is kept
// until the client's CONNECT tells whether it resumes.
func (s *Server) Open(now int64, out []byte) []byte {
	s.ready, s.connected, s.at, s.heard = false, false, 0, now
	if s.out != nil {
		s.out.reopen()
	}
	return out
}

// Feed implements proto.Session. It may report Resend, Subscribed and Unsubscribed without consuming anything. A
// refused client is reported as Closed with the CONNACK in out.
func (s *Server) Feed(now int64, in, out []byte, ev *proto.Event) (n int, o []byte, err error) {
	*ev = proto.Event{}
	if s.out != nil && s.ready && s.out.report(s.limit, ev) {
		return 0, out, nil
	}
	accepted := uint16(fromClient)
	if !s.connected {
		accepted = 1 << pktConnect
		if wait, err := foreign(in, pktConnect<<4); wait || err != nil {
			return 0, out, err
		}
	}
	size, body, err := frame(in, accepted, s.cfg.MaxPacketBytes)
	if err != nil || size == 0 || size > len(in) {
		return 0, out, err
	}
	s.heard = now
	o, err = s.handle(in[0], in[body:size:size], out, ev)
	if err != nil {
		*ev = proto.Event{}
		return 0, out, err
	}
	if s.at > 0 {
		size = 0
	}
	return size, o, nil
}

// handle acts on one whole packet, or on one filter of it.
func (s *Server) handle(first byte, body, out []byte, ev *proto.Event) ([]byte, error) {
	kind := first >> 4
	if s.connected && !s.ready {
		return out, fmt.Errorf("mqtt: a %s follows the end of the conversation", packetNames[kind])
	}
	switch kind {
	case pktConnect:
		return s.accept(body, out, ev)
	case pktPublish:
		return s.received(first, body, out, ev)
	case pktPuback, pktPubrec, pktPubrel, pktPubcomp:
		return s.acked(kind, body, out, ev)
	case pktSubscribe:
		return s.subscribe(body, out, ev)
	case pktUnsubscribe:
		return s.unsubscribe(body, out, ev)
	case pktPingreq:
		if len(body) > 0 {
			return out, malformed(pktPingreq, errTrailing)
		}
		return append(out, pktPingresp<<4, 0), nil
	case pktDisconnect:
		s.ready = false
		return out, readDisconnect(&s.exchange, body, ev)
	}
	return out, fmt.Errorf("mqtt: a %s from the client was not asked for", packetNames[kind])
}

// received handles a message from the client.
func (s *Server) received(first byte, body, out []byte, ev *proto.Event) ([]byte, error) {
	id, err := s.readPublish(first, body, ev)
	if err != nil {
		return out, err
	}
	if s.version == V5 && s.cfg.LimitQoS && ev.QoS > s.cfg.MaxQoS {
		return out, fmt.Errorf("mqtt: client sent QoS %d where at most %d is accepted", ev.QoS, s.cfg.MaxQoS)
	}
	if s.version == V5 && s.cfg.NoRetain && ev.Retained {
		return out, errors.New("mqtt: client sent a retained message where none is accepted")
	}
	if id == 0 {
		return out, nil
	}
	var reason byte
	if s.cfg.Verdict != nil && s.version == V5 {
		reason = s.cfg.Verdict(ev.Topic, ev.QoS)
	}
	return s.confirm(id, reason, out, ev)
}

// Tick implements proto.Session: it fails when the client was silent for one and a half times its keep-alive (§3.1.2.10).
func (s *Server) Tick(now int64, out []byte) (next int64, o []byte, err error) {
	limit := int64(s.client.KeepAlive) * 3 / 2
	switch {
	case !s.ready && !s.connected:
		return now + int64(time.Second), out, nil
	case !s.ready || limit == 0:
		return math.MaxInt64, out, nil
	case now-s.heard > limit:
		return math.MaxInt64, out, fmt.Errorf("mqtt: no packet from the client within %v", time.Duration(limit))
	}
	return s.heard + limit + 1, out, nil
}

// Close implements proto.Session: MQTT 5 clients are told that the server shuts down; 3.1.1 has no goodbye of a broker.
func (s *Server) Close(out []byte) []byte {
	if s.ready && s.version == V5 {
		out = append(out, pktDisconnect<<4, 1, reasonShuttingDown)
	}
	s.ready = false
	return out
}

// Room implements proto.Publisher: as Client.Room, for deliveries.
func (s *Server) Room(qos uint8) int { return s.room(qos) }

// Publish implements proto.Publisher: it delivers m to the client. Redelivered sets the DUP flag of QoS 1 and 2, and
// reuses the packet identifier if the delivery was reported as Resend.
func (s *Server) Publish(m *proto.Message, out []byte) ([]byte, error) { return s.publish(m, out) }
