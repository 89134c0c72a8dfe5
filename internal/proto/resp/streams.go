package resp

import (
	"errors"
	"fmt"

	"github.com/mqlab/mqlab/internal/proto"
)

// Streams is a client's side of a connection that adds entries to streams and reads streams in consumer groups.
//
// Publishing appends XADD with the payload in the field d. Subscribing creates the group at the end of the stream, and
// then the client keeps exactly one blocking XREADGROUP under way:
//
//	XGROUP CREATE key group $ MKSTREAM   → the group begins behind the last entry of this moment
//	XREADGROUP … STREAMS key >           → Subscribed; entries that nobody in the group has had
//	                                     → Delivered, one by one
//	XACK key group id …, XREADGROUP …    the entries of one stream in one reply are acknowledged together
//
// No entry added after Subscribed can be missed, even one that is added before the server sees the first read: the group
// remembers the last entry that it delivered, and that was set when it was created. Where the group existed already
// (other members, or an earlier connection) it goes on behind the last entry that it delivered, and what this consumer
// had received but not acknowledged comes first, as Redelivered.
//
// What other members have received and not acknowledged is theirs, unless Config.ClaimIdle says after how long they count as
// gone. Then a reader looks for it when it begins, and whenever a read has brought nothing:
//
//	XAUTOCLAIM key group name idle 0-0   → Delivered, as Redelivered; again until the answer says that there is no more
//
// While a read waits, the server handles nothing else of this connection: messages, subscriptions and barriers wait for
// up to Config.Block. Publish and subscribe on connections of their own. Subscriptions of several groups take turns.
//
// Groups stay in the server when their members have gone, with all that these did not acknowledge.
//
// A subscription of QoS 1 acknowledges what it reports, one of QoS 0 has the server forget it at once (NOACK).
type Streams struct {
	conn
	streams []stream
	groups  []group
	pending []byte // identifiers of entries to be acknowledged, encoded
	last    []byte // identifier of the last entry of the list at hand
	turn    int    // group that is read, or was read last
	within  reading
	waits   int32 // XGROUP CREATE without an answer
	acks    int32 // number of identifiers in pending
	asked   bool  // an XREADGROUP has no complete answer yet
}

// group is a consumer group and how this client reads it.
type group struct {
	name  string
	noAck bool
}

// stream is one subscription.
type stream struct {
	key   []byte
	token uint64
	group int
	after string // when reading what was delivered before: the last identifier; empty when reading new entries
	claim string // from where to look for what others have left; empty = not now
	open  bool   // the group exists
}

var _ proto.Client = (*Streams)(nil)

// NewStreams makes a client that has not connected yet. The name is that of the consumer in its groups; subscriptions
// without a group have a group of this name, so that no two subscribers may have the same.
func NewStreams(cfg *Config, name string) *Streams {
	return &Streams{conn: conn{cfg: cfg, name: name}}
}

// Open appends HELLO, or AUTH and what follows it. The caller subscribes again after Ready.
func (c *Streams) Open(_ int64, out []byte) []byte {
	*c = Streams{conn: c.conn, pending: c.pending[:0], last: c.last[:0]}
	return c.open(out)
}

// Publish appends XADD. With QoS 1 the identifier in the reply is reported as Acked: the entry is in the stream.
func (c *Streams) Publish(m *proto.Message, out []byte) ([]byte, error) {
	if err := c.sendable(m); err != nil {
		return out, err
	}
	out = grow(out, m.Topic, m.Payload)
	if c.cfg.MaxLen == 0 {
		out = append(out, "*5\r\n$4\r\nXADD\r\n"...)
		out = appendBulk(out, m.Topic)
	} else {
		out = append(out, "*8\r\n$4\r\nXADD\r\n"...)
		out = appendBulk(out, m.Topic)
		out = append(out, "$6\r\nMAXLEN\r\n$1\r\n~\r\n"...)
		out = appendNumber(out, c.cfg.MaxLen)
	}
	out = append(out, "$1\r\n*\r\n$1\r\nd\r\n"...)
	out = appendBulk(out, m.Payload)
	c.sent(m)
	return out, nil
}

// Subscribe appends XGROUP CREATE; the topic is the name of one stream. Without a group each subscriber gets everything.
func (c *Streams) Subscribe(s *proto.Subscription, out []byte) ([]byte, error) {
	name := s.Group
	if name == "" {
		name = c.name
	}
	switch {
	case c.phase != ready:
		return out, errNotReady
	case s.QoS > 1:
		return out, errQoS2
	case c.name == "":
		return out, errors.New("redis: who reads a stream needs a name")
	case len(s.Topic) > maxLine:
		return out, errTooLarge("topic", len(s.Topic), maxLine)
	}
	g := c.group(group{name: name, noAck: s.QoS == 0})
	for i := range c.streams {
		if string(c.streams[i].key) == s.Topic && c.groups[c.streams[i].group].name == name {
			return out, fmt.Errorf("redis: already subscribed to %q in group %q", s.Topic, name)
		}
	}
	c.streams = append(c.streams, stream{key: []byte(s.Topic), token: s.Token, group: g})
	c.waits++
	what := command{cause: toSubscribe, n: uint32(len(c.streams) - 1)}
	return c.send(what, out, "XGROUP", "CREATE", s.Topic, name, "$", "MKSTREAM"), nil
}

// group returns the place of g in the list of groups.
func (c *Streams) group(g group) int {
	for i := range c.groups {
		if c.groups[i] == g {
			return i
		}
	}
	c.groups = append(c.groups, g)
	return len(c.groups) - 1
}

// Feed consumes one reply, or one part of the reply to a read: the first line, the head of a stream's list, or an entry.
func (c *Streams) Feed(now int64, in, out []byte, ev *proto.Event) (int, []byte, error) {
	*ev = proto.Event{}
	if wait, err := c.hear(in); wait || err != nil {
		return 0, out, err
	}
	s := scanner{in: in}
	switch {
	case c.within.entries > 0:
		out = c.entry(&s, out, ev)
		return s.end(out)
	case c.within.deleted:
		out = c.deleted(&s, out)
		return s.end(out)
	case c.within.lists > 0:
		out = c.list(&s, out)
		return s.end(out)
	}
	h := s.head()
	if h.kind == '>' || h.kind == '|' { // neither is an answer
		s.skip(s.inside(&h))
		return s.end(out)
	}
	if s.stuck() {
		return s.end(out)
	}
	if c.expects(toRead) && !h.isError() {
		out = c.lists(&s, &h, out)
		return s.end(out)
	}
	if c.expects(toClaim) && !h.isError() {
		out = c.claimed(&s, &h, out)
		return s.end(out)
	}
	refusal := s.reply(&h)
	if s.stuck() {
		return s.end(out)
	}
	cmd, handled, out, err := c.answered(now, &h, refusal, out, ev)
	if !handled {
		out, err = c.answeredStream(&cmd, refusal, out, ev)
	}
	if err != nil {
		return 0, out, err
	}
	return s.at, out, nil
}

// answeredStream acts on answers that only streams have.
func (c *Streams) answeredStream(cmd *command, refusal *ServerError, out []byte, ev *proto.Event) ([]byte, error) {
	switch cmd.cause {
	case toSubscribe:
		return c.created(cmd, refusal, out, ev), nil
	case toAck:
		if refusal != nil {
			ev.Err = refusal
		}
	case toRead, toClaim: // nothing more would arrive
		if refusal != nil {
			return out, refusal
		}
	}
	return out, nil
}

// created reports a subscription. When nothing else is to be created the read goes out.
func (c *Streams) created(cmd *command, refusal *ServerError, out []byte, ev *proto.Event) []byte {
	st := &c.streams[cmd.n]
	c.waits--
	ev.Kind, ev.Token = proto.Subscribed, st.token
	switch {
	case refusal != nil && !refusal.busyGroup():
		ev.Err = refusal
		return c.read(out)
	case refusal != nil && !c.groups[st.group].noAck:
		st.after = "0"
	}
	st.open = true
	c.look(st)
	if !c.groups[st.group].noAck {
		ev.QoS = 1
	}
	return c.read(out)
}
