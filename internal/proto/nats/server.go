package nats

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
)

// ServerConfig is what all connections of a server share. It is only read.
type ServerConfig struct {
	Name       string
	User       string // with Password: what a client must present; all empty = anybody may connect
	Password   string
	Token      string
	MaxPayload int           // bytes, headers included; 0 = 1 MiB, as nats-server
	KeepAlive  time.Duration // between two PINGs; 0 = none
}

func (c *ServerConfig) maxPayload() int {
	if c.MaxPayload > 0 {
		return min(c.MaxPayload, maxMessage)
	}
	return 1 << 20
}

func (c *ServerConfig) authRequired() bool { return c.User != "" || c.Password != "" || c.Token != "" }

func (c *ServerConfig) accepts(k *connect) bool {
	return !c.authRequired() || k.User == c.User && k.Password == c.Password && k.Token == c.Token
}

// peerSub is a subscription of the peer.
type peerSub struct {
	sid       string // with a blank behind it, as MSG wants it
	group     string
	delivered uint64
	max       uint64 // messages after which it ends; 0 = none
}

// Server is a broker's side of one connection. It knows the subscriptions of its peer and of nobody else: routing is the
// caller's.
//
// When Feed fails, the bytes it appended hold the -ERR that tells the peer why.
type Server struct {
	cfg       *ServerConfig
	subs      map[uint64]*peerSub // by our token
	tokens    map[string]uint64   // by sid
	lastToken uint64
	headers   []byte // of the message delivered last
	reply     []byte
	pings     pings
	keepAlive proto.KeepAlive
	connected bool
	verbose   bool
	noHeaders bool
}

var _ proto.Server = (*Server)(nil)

// NewServer makes the server's side of a connection that is not open yet.
func NewServer(cfg *ServerConfig) *Server { return &Server{cfg: cfg} }

// Open appends INFO.
func (s *Server) Open(now int64, out []byte) []byte {
	*s = Server{cfg: s.cfg, subs: map[uint64]*peerSub{}, tokens: map[string]uint64{}}
	s.keepAlive.Start(now, s.cfg.KeepAlive)
	return AppendInfo(out, &Info{
		ServerID: "MQLAB", ServerName: s.cfg.Name, Version: "2.0.0", Proto: 1, Host: "127.0.0.1",
		Headers: true, MaxPayload: int64(s.cfg.maxPayload()), AuthRequired: s.cfg.authRequired(),
	})
}

// AppendInfo appends an INFO line, as a server may send it at any time.
func AppendInfo(out []byte, info *Info) []byte {
	b, err := json.Marshal(info)
	if err != nil {
		b = []byte("{}") // Info has nothing that could fail to encode
	}
	out = append(out, "INFO "...)
	out = append(out, b...)
	return append(out, "\r\n"...)
}

// Close appends nothing: NATS has no goodbye.
func (s *Server) Close(out []byte) []byte { return out }

// Room is the same large number for every QoS once the peer is connected.
func (s *Server) Room(uint8) int {
	if !s.connected {
		return 0
	}
	return room
}

// Need returns how many bytes the unit at the start of in occupies; 0 = not known yet, or about to be refused by Feed.
func (s *Server) Need(in []byte) int { return need(in) }

// Headers is the header block of the message that Feed delivered last; nil if it had none. It is valid as long as the
// event's payload.
func (s *Server) Headers() []byte { return s.headers }

// Reply is the reply subject of the message that Feed delivered last; it is valid as long as the event's payload.
func (s *Server) Reply() []byte { return s.reply }

// Group is the queue group of a subscription of the peer; empty if it has none.
func (s *Server) Group(token uint64) string {
	if sub := s.subs[token]; sub != nil {
		return sub.group
	}
	return ""
}

// Publish delivers m to the peer's subscription m.Sub.
func (s *Server) Publish(m *proto.Message, out []byte) ([]byte, error) {
	return s.PublishHeaders(m, nil, out)
}

// PublishHeaders is Publish with a header block, for a broker that passes on what Headers returned. A peer without
// support for headers gets the payload alone.
func (s *Server) PublishHeaders(m *proto.Message, headers, out []byte) ([]byte, error) {
	sub := s.subs[m.Sub]
	if sub == nil {
		return out, fmt.Errorf("nats: the peer has no subscription %d", m.Sub)
	}
	if m.QoS > 0 {
		return out, errQoS
	}
	if err := checkSubject(m.Topic); err != nil {
		return out, err
	}
	if s.noHeaders {
		headers = nil
	}
	verb := "MSG "
	if len(headers) > 0 {
		verb = "HMSG "
	}
	if size := len(headers) + len(m.Payload); size > maxMessage {
		return out, fmt.Errorf("nats: message of %d bytes is above the limit of %d bytes", size, maxMessage)
	}
	out = appendMessage(out, verb, m.Topic, sub.sid, headers, m.Payload)
	sub.delivered++
	if sub.delivered == sub.max {
		s.forget(m.Sub)
	}
	return out, nil
}

func (s *Server) forget(token uint64) {
	sid := s.subs[token].sid
	delete(s.tokens, sid[:len(sid)-1])
	delete(s.subs, token)
}

// Tick sends keep-alive PINGs.
func (s *Server) Tick(now int64, out []byte) (int64, []byte, error) {
	next, send, err := s.keepAlive.Tick(now, s.cfg.KeepAlive)
	if err != nil {
		return next, appendErr(out, "Stale Connection"), fmt.Errorf("nats: %w", err)
	}
	if send {
		s.pings.push(ping{cause: toKeepAlive})
		out = append(out, "PING\r\n"...)
	}
	return next, out, nil
}

// Feed consumes one operation of the client.
func (s *Server) Feed(_ int64, in, out []byte, ev *proto.Event) (int, []byte, error) {
	*ev = proto.Event{}
	if len(in) > 0 {
		s.keepAlive.Heard()
	}
	line, n, err := cutLine(in)
	if n == 0 {
		if err != nil {
			out = appendErr(out, "Maximum Control Line Exceeded")
		}
		return 0, out, err
	}
	o, args := cutOp(line)
	if !s.connected && (o == opPub || o == opHpub || o == opSub || o == opUnsub) {
		return 0, appendErr(out, "Authorization Violation"), fmt.Errorf("nats: %s before CONNECT", o)
	}
	switch o {
	case opPub, opHpub:
		return s.published(o, args, in, n, out, ev)
	case opSub:
		out, err = s.subscribe(args, out, ev)
	case opUnsub:
		out, err = s.unsubscribe(args, out, ev)
	case opConnect:
		out, err = s.connect(args, out, ev)
	case opPing:
		out = append(out, "PONG\r\n"...)
	case opPong:
		if !s.pings.empty() {
			s.pings.pop()
			s.keepAlive.Answered()
		}
	case opOK:
	default:
		return 0, appendErr(out, "Unknown Protocol Operation"), errUnexpected(o, line)
	}
	return n, out, err
}

func (s *Server) published(o op, args, in []byte, n int, out []byte, ev *proto.Event) (int, []byte, error) {
	var f frame
	if err := parseFrame(o, args, &f); err != nil {
		return 0, appendErr(out, "Parser Error"), err
	}
	if limit := s.cfg.maxPayload(); f.total > limit {
		return 0, appendErr(out, "Maximum Payload Violation"),
			fmt.Errorf("nats: the client sent a message of %d bytes, the limit is %d", f.total, limit)
	}
	headers, payload, unit, err := f.body(o, in, n)
	if unit == 0 {
		if err != nil {
			out = appendErr(out, "Parser Error")
		}
		return 0, out, err
	}
	if checkSubject(f.subject) != nil {
		return unit, appendErr(out, "Invalid Publish Subject"), nil
	}
	s.headers, s.reply = headers, f.reply
	ev.Kind, ev.Topic, ev.Payload = proto.Delivered, f.subject, payload
	return unit, s.ok(out), nil
}

// ok answers an operation of a client that asked for it.
func (s *Server) ok(out []byte) []byte {
	if s.verbose {
		return append(out, "+OK\r\n"...)
	}
	return out
}

func (s *Server) connect(args, out []byte, ev *proto.Event) ([]byte, error) {
	if s.connected {
		return appendErr(out, "Unknown Protocol Operation"), errors.New("nats: a second CONNECT")
	}
	var k connect
	if err := json.Unmarshal(args, &k); err != nil {
		return appendErr(out, "Parser Error"), fmt.Errorf("nats: malformed CONNECT: %w", err)
	}
	if !s.cfg.accepts(&k) {
		return appendErr(out, "Authorization Violation"), errors.New("nats: the client's user, password or token are wrong")
	}
	s.connected = true
	s.verbose = k.Verbose == nil || *k.Verbose
	s.noHeaders = !k.Headers
	ev.Kind = proto.Ready
	return s.ok(out), nil
}

// subscribe handles SUB subject [queue] sid.
func (s *Server) subscribe(args, out []byte, ev *proto.Event) ([]byte, error) {
	subject, rest := cutWord(args)
	sid, rest := cutWord(rest)
	var group []byte
	if len(rest) > 0 {
		group = sid
		sid, rest = cutWord(rest)
	}
	if len(sid) == 0 || len(rest) > 0 {
		return appendErr(out, "Parser Error"), malformed(opSub, args)
	}
	if checkPattern(subject) != nil {
		return appendErr(out, "Invalid Subject"), nil
	}
	if _, known := s.tokens[string(sid)]; known {
		return s.ok(out), nil // as nats-server: the first one stays
	}
	s.lastToken++
	s.subs[s.lastToken] = &peerSub{sid: string(sid) + " ", group: string(group)}
	s.tokens[string(sid)] = s.lastToken
	ev.Kind, ev.Topic, ev.Token = proto.Subscribed, subject, s.lastToken
	return s.ok(out), nil
}

// unsubscribe handles UNSUB sid [max]. With max the subscription ends by itself once that many messages were delivered
// over its life; its token is then unknown to Publish, and no event tells.
func (s *Server) unsubscribe(args, out []byte, ev *proto.Event) ([]byte, error) {
	sid, rest := cutWord(args)
	word, rest := cutWord(rest)
	most, ok := uint64(0), true
	if len(word) > 0 {
		most, ok = parseUint(word)
	}
	if len(sid) == 0 || len(rest) > 0 || !ok {
		return appendErr(out, "Parser Error"), malformed(opUnsub, args)
	}
	token, known := s.tokens[string(sid)]
	if !known {
		return s.ok(out), nil
	}
	sub := s.subs[token]
	if sub.max = most; sub.delivered >= most {
		s.forget(token)
		ev.Kind, ev.Token = proto.Unsubscribed, token
	}
	return s.ok(out), nil
}
