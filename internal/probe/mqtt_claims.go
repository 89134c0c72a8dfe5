package probe

import (
	"encoding/binary"
	"errors"
	"time"
)

// claims is what a broker says about itself in the properties of its CONNACK (MQTT 5, §3.2.2.3); nil = not said.
type claims struct {
	sessionExpiry  *uint32 // seconds; 0xFFFFFFFF = never
	receiveMaximum *uint32
	maxQoS         *uint32
	retain         *uint32
	maxPacket      *uint32 // bytes
	wildcards      *uint32
	shared         *uint32
	keepAlive      *uint32 // seconds
}

var errClaims = errors.New("the CONNACK cannot be read")

// readClaims reads the CONNACK of a connection that was accepted.
func readClaims(packet []byte) (c claims, err error) {
	const fixed = 4 // type and length, flags, code; no CONNACK of a broker that accepts needs a longer length, except by text
	if len(packet) < fixed+1 || packet[0] != 0x20 {
		return c, errClaims
	}
	_, n := binary.Uvarint(packet[1:]) // the variable byte integer of MQTT, §1.5.5
	if n <= 0 || len(packet) < 1+n+2 {
		return c, errClaims
	}
	rest := packet[1+n+2:]
	length, n := binary.Uvarint(rest)
	if n <= 0 || length > uint64(len(rest)-n) {
		return c, errClaims
	}
	for rest = rest[n : n+int(length)]; len(rest) > 0; {
		if rest, err = c.property(rest); err != nil {
			return c, err
		}
	}
	return c, nil
}

// property reads one property and returns what follows it.
func (c *claims) property(b []byte) ([]byte, error) {
	id, b := b[0], b[1:]
	var into *(*uint32)
	size := 0
	switch id {
	case 0x11:
		into, size = &c.sessionExpiry, 4
	case 0x13:
		into, size = &c.keepAlive, 2
	case 0x21:
		into, size = &c.receiveMaximum, 2
	case 0x22: // topic alias maximum
		size = 2
	case 0x24:
		into, size = &c.maxQoS, 1
	case 0x25:
		into, size = &c.retain, 1
	case 0x27:
		into, size = &c.maxPacket, 4
	case 0x28:
		into, size = &c.wildcards, 1
	case 0x29: // subscription identifiers
		size = 1
	case 0x2A:
		into, size = &c.shared, 1
	case 0x12, 0x15, 0x16, 0x1A, 0x1C, 0x1F: // texts
		size = textSize(b)
	case 0x26: // user property: two texts
		size = textSize(b)
		size += textSize(b[min(size, len(b)):])
	default:
		return nil, errClaims
	}
	if size > len(b) {
		return nil, errClaims
	}
	if into != nil {
		v := uint32(0)
		for _, x := range b[:size] {
			v = v<<8 | uint32(x)
		}
		*into = &v
	}
	return b[size:], nil
}

// textSize is how many bytes a text takes with its length.
func textSize(b []byte) int {
	if len(b) < 2 {
		return 2
	}
	return 2 + int(binary.BigEndian.Uint16(b))
}

// forever is the session expiry that means never (§3.1.2.11.2).
const forever = 0xFFFFFFFF

// expiryWords words a session expiry.
func expiryWords(seconds uint32) string {
	if seconds == forever {
		return "never"
	}
	return (time.Duration(seconds) * time.Second).String()
}
