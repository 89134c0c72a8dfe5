package amqp10

import (
	"encoding/binary"
	"slices"
)

// outgoing is a message to be sent.
type outgoing struct {
	before, after string // of the topic in its address
	to            []byte // the topic in its address; with the two it makes properties.to
	subject       []byte // properties.subject
	payload       []byte
	settled       bool
	durable       bool
	again         bool // it may have been sent before
}

// held is what could not be sent yet: whole frames, all of one link. There is some while the first message waits for its
// link, and when a message needs more frames than the session window has.
type held struct {
	link   *link
	frames []byte
	sent   int // bytes of frames that have left
}

// transferBytes is the most that a transfer frame takes apart from its part of the message.
const transferBytes = frameHead + 6 + 5 + 5 + 6 + 3

// send appends one message, as many frames of it as flow control lets through; what remains is held.
func (e *endpoint) send(l *link, m *outgoing, out []byte) []byte {
	id := e.nextDelivery
	e.nextDelivery++
	l.credit--
	l.count++
	sections := m.headSize()
	if transferBytes+sections+len(m.payload) <= int(e.sendMax) {
		if e.passes(l) {
			out = slices.Grow(out, transferBytes+sections+len(m.payload))
			return m.appendFrame(out, l.handle, id, m.payload, true, false)
		}
		h := e.hold(l)
		h.frames = m.appendFrame(h.frames, l.handle, id, m.payload, true, false)
		return out
	}
	left := m.payload
	for first := true; first || len(left) > 0; first = false {
		n := int(e.sendMax) - transferBytes
		if first {
			n -= sections
		}
		n = max(0, min(n, len(left)))
		if part, more := left[:n], n < len(left); e.passes(l) {
			out = m.appendFrame(out, l.handle, id, part, first, more)
		} else {
			h := e.hold(l)
			h.frames = m.appendFrame(h.frames, l.handle, id, part, first, more)
		}
		left = left[n:]
	}
	return out
}

// passes takes one frame from the session window, if flow control allows it.
func (e *endpoint) passes(l *link) bool {
	if e.outWindow == 0 || e.held != nil || l.state != attached {
		return false
	}
	e.outWindow--
	e.nextOut++
	return true
}

func (e *endpoint) hold(l *link) *held {
	if e.held == nil {
		e.held = &held{link: l}
	}
	return e.held
}

// release sends held frames as far as flow control now allows.
func (e *endpoint) release(out []byte) []byte {
	h := e.held
	if h == nil || h.link.state != attached || h.link.credit < 0 {
		return out
	}
	for ; e.outWindow > 0 && h.sent < len(h.frames); e.outWindow-- {
		n := int(binary.BigEndian.Uint32(h.frames[h.sent:]))
		out = append(out, h.frames[h.sent:h.sent+n]...)
		h.sent += n
		e.nextOut++
	}
	if h.sent == len(h.frames) {
		e.held = nil
	}
	return out
}

// appendFrame appends a transfer frame with a part of the payload (§2.7.5).
func (m *outgoing) appendFrame(out []byte, handle, id uint32, part []byte, first, more bool) []byte {
	start := len(out)
	out = append(out, 0, 0, 0, 0, 2, frameAMQP, 0, 0, codeDescribed, codeULSmall, byte(doTransfer), codeList8, 0, 5)
	out = appendUint(out, handle)
	out = append(out, codeUint, byte(id>>24), byte(id>>16), byte(id>>8), byte(id))
	if first { // delivery-tag, message-format
		out = append(out, codeBinary8, 4, byte(id>>24), byte(id>>16), byte(id>>8), byte(id), codeUint0)
	} else {
		out = append(out, codeNull, codeNull)
	}
	out = appendBool(out, m.settled)
	if more {
		out = append(out, codeTrue)
		out[start+frameHead+5] = 6
	}
	out[start+frameHead+4] = byte(len(out) - start - frameHead - 5)
	if first {
		out = m.appendHead(out)
	}
	out = append(out, part...)
	binary.BigEndian.PutUint32(out[start:], uint32(len(out)-start))
	return out
}

// Descriptors of the sections of a message (§3.2).
const (
	sectionHeader     = 0x70
	sectionProperties = 0x73
	sectionData       = 0x75
	sectionSequence   = 0x76
	sectionValue      = 0x77
	sectionFooter     = 0x78
)

// headSize is no less than what appendHead appends.
func (m *outgoing) headSize() int {
	const header, properties, data = 12, 3 + 9 + 2 + 5 + 2, 3 + 5
	return header + properties + data + m.toSize() + len(m.subject)
}

func (m *outgoing) toSize() int { return len(m.before) + len(m.to) + len(m.after) }

// appendHead appends all of a message but the payload.
func (m *outgoing) appendHead(out []byte) []byte {
	switch {
	case m.again: // durable, priority, ttl, first-acquirer, delivery-count
		out = appendBool(append(out, codeDescribed, codeULSmall, sectionHeader, codeList8, 7, 5), m.durable)
		out = append(out, codeNull, codeNull, codeNull, codeUintSmall, 1)
	case m.durable:
		out = append(out, codeDescribed, codeULSmall, sectionHeader, codeList8, 2, 1, codeTrue)
	}
	if m.toSize()+len(m.subject) > 0 {
		out = m.appendProperties(out)
	}
	out = append(out, codeDescribed, codeULSmall, sectionData)
	n := len(m.payload)
	if n < 256 {
		return append(out, codeBinary8, byte(n))
	}
	return append(out, codeBinary32, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

func (m *outgoing) appendProperties(out []byte) []byte {
	out = append(out, codeDescribed, codeULSmall, sectionProperties)
	start := len(out)
	short := m.toSize()+len(m.subject) < 240
	if short {
		out = append(out, codeList8, 0, 4)
	} else {
		out = append(out, codeList32, 0, 0, 0, 0, 0, 0, 0, 4)
	}
	out = append(out, codeNull, codeNull) // message-id, user-id
	out = appendTo(out, m)
	if len(m.subject) == 0 {
		out = append(out, codeNull)
	} else {
		out = appendText(out, codeString8, m.subject)
	}
	if short {
		out[start+1] = byte(len(out) - start - 2)
	} else {
		binary.BigEndian.PutUint32(out[start+1:], uint32(len(out)-start-5))
	}
	return out
}

func appendTo(out []byte, m *outgoing) []byte {
	n := m.toSize()
	switch {
	case n == 0:
		return append(out, codeNull)
	case n < 256:
		out = append(out, codeString8, byte(n))
	default:
		out = binary.BigEndian.AppendUint32(append(out, codeString32), uint32(n))
	}
	return append(append(append(out, m.before...), m.to...), m.after...)
}
