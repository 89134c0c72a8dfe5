package mqtt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/mqlab/mqlab/internal/proto"
)

// ErrNoRoom is returned by Publish when flow control lets no further message through; see Room.
var ErrNoRoom = errors.New("mqtt: no room: as many messages are unacknowledged as flow control allows")

// ErrNotReady is returned by Publish and Subscribe before the peer has accepted the connection and after its goodbye.
var ErrNotReady = errors.New("mqtt: not connected")

// TooLargeError says that the peer does not take a packet of this size.
type TooLargeError struct {
	Peer        string // broker or client
	Size, Limit int    // whole packet, bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("mqtt: a packet of %d bytes exceeds the %s's limit of %d bytes", e.Size, e.Peer, e.Limit)
}

// exchange is what client and server do alike: carry application messages in both directions and confirm them.
type exchange struct {
	*terms
	*held         // never nil; to be changed through hold only
	number uint32 // of a client among those of its Config
	ready  bool   // the connection is accepted and nobody said goodbye
	server bool
	wrote  bool // something was sent since the last Tick
}

// terms are what both sides agreed on. Clients of one Config share those that are alike, and must not change them.
type terms struct {
	cfg       *Config // of a client
	maxBytes  uint32  // largest packet the peer accepts; 0 = no limit
	limit     uint16  // unacknowledged messages allowed: our window, and the receive maximum of the peer
	grant     uint16  // unacknowledged messages that we allow the peer
	keepAlive uint16  // seconds, the broker's wish included
	version   byte
	maxQoS    byte // that the peer accepts
	noRetain  bool // the peer refuses retained messages
	noShared  bool // the broker has no shared subscriptions
	holdAcks  bool
}

// held is what has a packet identifier.
type held struct {
	out *inflight // packet identifiers of ours; nil until the first is needed
	in  *idSet    // the peer's QoS 2 messages between PUBLISH and PUBREL; nil until the first
}

// nothingHeld is that of all that hold nothing. It is never changed.
var nothingHeld = &held{}

// hold returns a held that may be changed.
func (x *exchange) hold() *held {
	if x.held == nothingHeld {
		x.held = &held{}
	}
	return x.held
}

// letGo gives back a held in which nothing is left.
func (x *exchange) letGo() {
	if *x.held == *nothingHeld {
		x.held = nothingHeld
	}
}

func (x *exchange) peer() string {
	if x.server {
		return "client"
	}
	return "broker"
}

// reset forgets the session: everything unacknowledged in either direction.
func (x *exchange) reset() {
	x.in.clear()
	if x.out != nil {
		*x.out = inflight{}
	}
}

// room implements proto.Publisher.
func (x *exchange) room(qos uint8) int {
	switch {
	case !x.ready:
		return 0
	case qos == 0:
		return math.MaxInt
	case x.out == nil:
		return int(x.limit)
	case x.out.unreported():
		return 0
	}
	return max(0, int(x.limit)-x.out.wire)
}

// publish implements proto.Publisher.
func (x *exchange) publish(m *proto.Message, out []byte) ([]byte, error) {
	remaining := 2 + len(m.Topic) + len(m.Payload)
	first := byte(pktPublish<<4) | m.QoS<<1
	if m.Retain {
		first |= 1
	}
	if x.version == V5 {
		remaining++
	}
	if m.QoS > 0 {
		remaining += 2
	}
	if err := x.publishable(m, remaining); err != nil {
		return out, err
	}
	var id uint16
	if m.QoS > 0 {
		var err error
		if id, err = x.occupy(m); err != nil {
			return out, err
		}
		if m.Redelivered {
			first |= 8
		}
	}
	x.wrote = true
	out = appendHeader(out, first, remaining)
	out = append(out, byte(len(m.Topic)>>8), byte(len(m.Topic)))
	out = append(out, m.Topic...)
	if m.QoS > 0 {
		out = append(out, byte(id>>8), byte(id))
	}
	if x.version == V5 {
		out = append(out, 0)
	}
	return append(out, m.Payload...), nil
}

// publishable says what forbids m: the state of the connection, the protocol, or a limit of the peer.
func (x *exchange) publishable(m *proto.Message, remaining int) error {
	switch {
	case !x.ready:
		return ErrNotReady
	case len(m.Topic) == 0:
		return fmt.Errorf("mqtt: cannot publish: %w", errTopicEmpty)
	case len(m.Topic) > 65535:
		return fmt.Errorf("mqtt: cannot publish: %w", errTopicLong)
	case m.QoS > 2:
		return fmt.Errorf("mqtt: cannot publish: there is no QoS %d", m.QoS)
	case m.QoS > x.maxQoS:
		return fmt.Errorf("mqtt: the %s accepts messages up to QoS %d, not %d", x.peer(), x.maxQoS, m.QoS)
	case m.Retain && x.noRetain:
		return fmt.Errorf("mqtt: the %s does not keep retained messages", x.peer())
	case remaining > maxRemaining:
		return fmt.Errorf("mqtt: a payload of %d bytes is larger than an MQTT packet can be", len(m.Payload))
	}
	if size := 1 + varintSize(remaining) + remaining; x.maxBytes > 0 && size > int(x.maxBytes) {
		return &TooLargeError{Peer: x.peer(), Size: size, Limit: int(x.maxBytes)}
	}
	return nil
}

// occupy finds the packet identifier for m: that of its first try if m was reported as Resend, else a new one.
func (x *exchange) occupy(m *proto.Message) (uint16, error) {
	if x.out == nil {
		x.hold().out = new(inflight)
	}
	if m.Redelivered {
		if id, err := x.out.again(m.Token, m.QoS); id != 0 || err != nil {
			return id, err
		}
	}
	if x.out.unreported() || x.out.wire >= int(x.limit) {
		return 0, ErrNoRoom
	}
	id := x.out.take(m.Token, slotQoS1+m.QoS-1)
	if id == 0 {
		return 0, ErrNoRoom
	}
	x.out.wire++
	return id, nil
}

// readPublish decodes a PUBLISH into ev and returns its packet identifier (0 for QoS 0).
func (x *exchange) readPublish(first byte, body []byte, ev *proto.Event) (id uint16, err error) {
	qos := first >> 1 & 3
	if len(body) < 2 {
		return 0, malformed(pktPublish, errShort)
	}
	n := 2 + int(binary.BigEndian.Uint16(body))
	if n > len(body) {
		return 0, malformed(pktPublish, errShort)
	}
	topic, rest := body[2:n:n], body[n:]
	if err := checkTopic(topic); err != nil {
		return 0, malformed(pktPublish, err)
	}
	if qos > 0 {
		if len(rest) < 2 {
			return 0, malformed(pktPublish, errShort)
		}
		if id = binary.BigEndian.Uint16(rest); id == 0 {
			return 0, malformed(pktPublish, errZeroID)
		}
		rest = rest[2:]
	} else if first&8 != 0 {
		return 0, malformed(pktPublish, errors.New("DUP is set on QoS 0"))
	}
	if x.version == V5 {
		if rest, err = afterProperties(rest); err != nil {
			return 0, malformed(pktPublish, err)
		}
	}
	ev.Kind, ev.QoS, ev.Topic, ev.Payload = proto.Delivered, qos, topic, rest
	ev.Retained, ev.Redelivered = first&1 != 0, first&8 != 0
	return id, nil
}

var errZeroID = errors.New("its packet identifier is 0")

// afterProperties checks the properties of a PUBLISH and returns what follows them.
func afterProperties(b []byte) ([]byte, error) {
	if len(b) > 0 && b[0] == 0 {
		return b[1:], nil
	}
	r := reader{rest: b}
	p := openProperties(&r, pktPublish)
	for {
		v, ok, err := p.next()
		if err != nil || !ok {
			return r.rest, err
		}
		if v.id == propTopicAlias {
			return nil, errors.New("it uses a topic alias, which was not offered")
		}
	}
}

// confirm answers a PUBLISH of QoS 1 or 2 with a reason. A QoS 2 message that was received before, or one refused,
// is taken out of ev.
func (x *exchange) confirm(id uint16, reason byte, out []byte, ev *proto.Event) ([]byte, error) {
	kind := byte(pktPuback)
	if ev.QoS == 2 {
		kind = pktPubrec
		switch {
		case x.in.has(id):
			*ev = proto.Event{}
			reason = 0
		case reason >= 0x80:
		case x.version == V5 && x.in.len() >= int(x.grant):
			return out, fmt.Errorf("mqtt: %s exceeded the receive maximum of %d", x.peer(), x.grant)
		default:
			if x.in == nil {
				x.hold().in = new(idSet)
			}
			x.in.add(id)
		}
	}
	if reason >= 0x80 {
		*ev = proto.Event{}
	}
	if x.holdAcks {
		return out, nil
	}
	return appendAck(out, x.version, kind, id, reason), nil
}

// readAck decodes a PUBACK, PUBREC, PUBREL or PUBCOMP.
func (x *exchange) readAck(kind byte, body []byte) (id uint16, code byte, text string, err error) {
	r := reader{rest: body}
	id = r.u16()
	if x.version == V5 && len(r.rest) > 0 {
		code = r.u8()
		if len(r.rest) > 0 {
			text, err = checkProperties(&r, kind)
		}
	}
	switch {
	case err != nil:
	case r.short:
		err = errShort
	case len(r.rest) > 0:
		err = errTrailing
	case id == 0:
		err = errZeroID
	}
	if err != nil {
		err = malformed(kind, err)
	}
	return id, code, text, err
}

// acked handles the four packets that confirm messages.
func (x *exchange) acked(kind byte, body, out []byte, ev *proto.Event) ([]byte, error) {
	id, code, text, err := x.readAck(kind, body)
	if err != nil {
		return out, err
	}
	state, or := uint8(slotQoS1), uint8(slotQoS1)
	switch kind {
	case pktPubrel:
		return x.released(id, out), nil
	case pktPubrec:
		state, or = slotQoS2, slotReleased
	case pktPubcomp:
		state, or = slotReleased, slotReleased
	}
	s := x.out.get(id, state, or)
	if s == nil {
		if x.out.get(id, slotRetired, slotRetired) != nil {
			return out, nil
		}
		return out, fmt.Errorf("mqtt: a %s confirms packet identifier %d, which waits for none", packetNames[kind], id)
	}
	// Some brokers refuse the repetition of a message that they have with "packet identifier in use".
	if kind == pktPubrec && (code < 0x80 || (s.kept && code == reasonIDInUse)) {
		if s.state == slotQoS2 {
			x.out.recorded(id)
		}
		return appendAck(out, x.version, pktPubrel, id, 0), nil
	}
	ev.Kind, ev.Token, ev.QoS = proto.Acked, s.token, 2
	if kind == pktPuback {
		ev.QoS = 1
	}
	if code >= 0x80 {
		ev.Err = reasonError(x.peer()+" refused the message", code, text)
	}
	x.out.settle(id)
	return out, nil
}

// released answers a PUBREL. One for an unknown message is a repetition whose PUBCOMP was lost (§4.3.3).
func (x *exchange) released(id uint16, out []byte) []byte {
	var reason byte
	if !x.in.has(id) {
		reason = reasonIDNotFound
	}
	x.in.remove(id)
	return appendAck(out, x.version, pktPubcomp, id, reason)
}
