package mqtt

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Protocol levels as CONNECT carries them.
const (
	V311 = 4
	V5   = 5
)

// maxRemaining is the largest remaining length (§2.1.4) and so the largest packet without its fixed header.
const maxRemaining = 268_435_455

// Packet types (§2.1.2).
const (
	pktConnect     = 1
	pktConnack     = 2
	pktPublish     = 3
	pktPuback      = 4
	pktPubrec      = 5
	pktPubrel      = 6
	pktPubcomp     = 7
	pktSubscribe   = 8
	pktSuback      = 9
	pktUnsubscribe = 10
	pktUnsuback    = 11
	pktPingreq     = 12
	pktPingresp    = 13
	pktDisconnect  = 14
	pktAuth        = 15
)

var packetNames = [16]string{
	"packet of type 0", "CONNECT", "CONNACK", "PUBLISH", "PUBACK", "PUBREC", "PUBREL", "PUBCOMP",
	"SUBSCRIBE", "SUBACK", "UNSUBSCRIBE", "UNSUBACK", "PINGREQ", "PINGRESP", "DISCONNECT", "AUTH",
}

// Packets that each side may receive, one bit per type.
const (
	exchanged  = 1<<pktPublish | 1<<pktPuback | 1<<pktPubrec | 1<<pktPubrel | 1<<pktPubcomp | 1<<pktDisconnect | 1<<pktAuth
	fromBroker = exchanged | 1<<pktConnack | 1<<pktSuback | 1<<pktUnsuback | 1<<pktPingresp
	fromClient = exchanged | 1<<pktConnect | 1<<pktSubscribe | 1<<pktUnsubscribe | 1<<pktPingreq
)

var (
	errRemainingLength = errors.New("mqtt: the remaining length of a packet has more than four bytes")
	errTrailing        = errors.New("bytes are left behind its last field")
	errShort           = errors.New("a length points beyond the packet")
)

// Need returns the size in bytes of the whole packet that starts at in, or 0 while its fixed header is incomplete (or
// malformed: Feed says how).
func Need(in []byte) int {
	size, _, _ := header(in)
	return size
}

// header decodes the fixed header at the start of in: the size of the whole packet and where its body starts.
// Size 0 without an error means that the header is incomplete.
func header(in []byte) (size, body int, err error) {
	if len(in) < 2 {
		return 0, 0, nil
	}
	if in[1] < 0x80 {
		return 2 + int(in[1]), 2, nil
	}
	n := int(in[1] & 0x7f)
	for i := 1; i < 4; i++ {
		if len(in) < i+2 {
			return 0, 0, nil
		}
		b := in[i+1]
		n |= int(b&0x7f) << (7 * i)
		if b < 0x80 {
			return n + i + 2, i + 2, nil
		}
	}
	return 0, 0, errRemainingLength
}

// frame finds the packet at the start of in and checks all that its fixed header tells, so that nonsense is refused
// before anyone waits for the rest of it. Size 0 means that the header is incomplete.
func frame(in []byte, accepted uint16, maxBytes int) (size, body int, err error) {
	if len(in) == 0 {
		return 0, 0, nil
	}
	if err := checkFirst(in[0], accepted); err != nil {
		return 0, 0, err
	}
	size, body, err = header(in)
	if err == nil && maxBytes > 0 && size > maxBytes {
		err = fmt.Errorf("mqtt: a %s of %d bytes is larger than the %d bytes allowed here",
			packetNames[in[0]>>4], size, maxBytes)
	}
	return size, body, err
}

// checkFirst checks type and flags (§2.1.3).
func checkFirst(first byte, accepted uint16) error {
	kind := first >> 4
	if accepted&(1<<kind) == 0 {
		return fmt.Errorf("mqtt: unexpected %s (first byte 0x%02x)", packetNames[kind], first)
	}
	switch kind {
	case pktPublish:
		if first&0x06 == 0x06 {
			return errors.New("mqtt: a PUBLISH has QoS 3")
		}
		return nil
	case pktPubrel, pktSubscribe, pktUnsubscribe:
		if first&0x0f == 2 {
			return nil
		}
	default:
		if first&0x0f == 0 {
			return nil
		}
	}
	return fmt.Errorf("mqtt: reserved bits of a %s are wrong (first byte 0x%02x)", packetNames[kind], first)
}

// malformed says which packet broke which rule.
func malformed(kind byte, err error) error {
	return fmt.Errorf("mqtt: malformed %s: %w", packetNames[kind], err)
}

// reader reads the fields of a packet. Reading beyond its end yields zeroes and sets short.
type reader struct {
	rest  []byte
	short bool
}

func (r *reader) take(n int) []byte {
	if n > len(r.rest) {
		r.rest, r.short = nil, true
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) u8() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) u16() uint16 {
	if b := r.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (r *reader) u32() uint32 {
	if b := r.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

// bytes reads a two-byte length and that many bytes.
func (r *reader) bytes() []byte { return r.take(int(r.u16())) }

// varint reads a variable byte integer (§1.5.5); too long or not minimal counts as short.
func (r *reader) varint() uint32 {
	var n uint32
	for i := range 4 {
		b := r.u8()
		n |= uint32(b&0x7f) << (7 * i)
		if b < 0x80 {
			r.short = r.short || (i > 0 && b == 0)
			return n
		}
	}
	r.short = true
	return 0
}

// appendHeader appends a fixed header.
func appendHeader(out []byte, first byte, remaining int) []byte {
	return appendVarint(append(out, first), remaining)
}

func appendVarint(out []byte, n int) []byte {
	for n >= 0x80 {
		out = append(out, byte(n)|0x80)
		n >>= 7
	}
	return append(out, byte(n))
}

// varintSize is how many bytes appendVarint needs.
func varintSize(n int) int {
	switch {
	case n < 1<<7:
		return 1
	case n < 1<<14:
		return 2
	case n < 1<<21:
		return 3
	}
	return 4
}

func appendString[T string | []byte](out []byte, s T) []byte {
	return append(append(out, byte(len(s)>>8), byte(len(s))), s...)
}

// appendAck appends a PUBACK, PUBREC, PUBREL or PUBCOMP; 3.1.1 has no reason code.
func appendAck(out []byte, version, kind byte, id uint16, reason byte) []byte {
	first := kind << 4
	if kind == pktPubrel {
		first |= 2
	}
	if version == V5 && reason != 0 {
		return append(out, first, 3, byte(id>>8), byte(id), reason)
	}
	return append(out, first, 2, byte(id>>8), byte(id))
}
