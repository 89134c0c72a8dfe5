package capture

import (
	"encoding/binary"
	"hash/maphash"
	"time"
)

// parser cuts a stream of MQTT into control packets. Where it does not know where it is, it takes up at the next segment that begins
// with what must be one.
type parser struct {
	synced bool
	buffer []byte
	skip   int // bytes of a large packet that are still to come
}

// maxBuffered is the largest packet that is kept whole; of larger ones only the begin is looked at.
const maxBuffered = 1 << 16

func (p *parser) lose() { p.synced, p.buffer, p.skip = false, p.buffer[:0], 0 }

// kinds of control packets (MQTT 5, 2.1.2).
const (
	connect    = 1
	publish    = 3
	puback     = 4
	pubrec     = 5
	pingreq    = 12
	pingresp   = 13
	lastPacket = 15
)

// header reads a fixed header. ok is false where it cannot be one; size is 0 where more bytes are needed.
func header(b []byte) (size, length int, ok bool) {
	kind, flags := b[0]>>4, b[0]&15
	switch {
	case kind == 0:
		return 0, 0, false
	case kind == publish:
		if flags&6 == 6 { // QoS 3
			return 0, 0, false
		}
	case kind == 6 || kind == 8 || kind == 10: // PUBREL, SUBSCRIBE, UNSUBSCRIBE
		if flags != 2 {
			return 0, 0, false
		}
	case flags != 0:
		return 0, 0, false
	}
	for i := 1; i < len(b) && i <= 4; i++ {
		length |= int(b[i]&127) << (7 * (i - 1))
		if b[i] < 128 {
			return i + 1, length, plausible(kind, length)
		}
	}
	return 0, 0, len(b) <= 4
}

// plausible: packets that have a fixed or a least length.
func plausible(kind byte, length int) bool {
	switch kind {
	case pingreq, pingresp:
		return length == 0
	case connect:
		return length >= 10
	case publish:
		return length >= 2
	case 14, lastPacket:
		return length < 1<<16
	}
	return length >= 2
}

// whole tells whether a segment is nothing but whole packets, or begins with one that is longer.
func whole(b []byte) bool {
	for len(b) > 0 {
		size, length, ok := header(b)
		if !ok || size == 0 {
			return false
		}
		if size+length > len(b) {
			return b[0]>>4 == publish
		}
		b = b[size+length:]
	}
	return true
}

// feed takes bytes in order, and calls found for each control packet with the part of it that is kept.
func (p *parser) feed(data []byte, found func(b []byte, body int)) (malformed bool) {
	if p.skip > 0 {
		n := min(p.skip, len(data))
		p.skip -= n
		data = data[n:]
	}
	if len(data) == 0 {
		return false
	}
	if !p.synced {
		if !whole(data) {
			return false
		}
		p.synced = true
	}
	p.buffer = append(p.buffer, data...)
	b := p.buffer
	for len(b) > 0 {
		size, length, ok := header(b)
		if !ok {
			p.lose()
			return true
		}
		if size == 0 {
			break
		}
		if size+length > len(b) {
			if size+length <= maxBuffered {
				break
			}
			p.skip = size + length - len(b)
			found(b, size)
			b = nil
			break
		}
		found(b[:size+length], size)
		b = b[size+length:]
	}
	p.buffer = append(p.buffer[:0], b...)
	return false
}

// feed takes bytes of one side.
func (k *Connection) feed(s *Side, fromClient bool, w *piece) {
	data := w.data
	if !k.MQTT && len(data) > 2 && data[0] >= 20 && data[0] <= 23 && data[1] == 3 && data[2] <= 4 { // a TLS record (RFC 8446, 5.1)
		k.TLS = true
	}
	if k.TLS {
		return
	}
	messages := 0
	malformed := s.stream.parser.feed(data, func(b []byte, body int) {
		if k.control(s, fromClient, w, b[0], b[body:]) {
			messages++
		}
	})
	if malformed {
		s.Malformed++
	}
	if messages > 1 {
		s.Coalesced++
	}
}

// control books one control packet; it tells whether that was a message.
func (k *Connection) control(s *Side, fromClient bool, w *piece, first byte, body []byte) bool {
	other := &k.FromClient
	if fromClient {
		other = &k.FromBroker
	}
	switch first >> 4 {
	case connect:
		k.connect(body)
	case publish:
		k.published(s, fromClient, w, first>>1&3, body)
		return true
	case puback, pubrec:
		if len(body) >= 2 {
			other.acked(w.at, binary.BigEndian.Uint16(body))
		}
	case pingreq:
		s.Pings = append(s.Pings, Publish{Sent: w.since})
	case pingresp:
		if n := len(other.Pings); n > 0 && other.Pings[n-1].Acked == 0 {
			other.Pings[n-1].Acked = w.at
		}
	}
	return false
}

// connect reads keepalive and client id of a CONNECT.
func (k *Connection) connect(b []byte) {
	name, rest, ok := text(b)
	if !ok || name != "MQTT" && name != "MQIsdp" || len(rest) < 4 {
		return
	}
	k.MQTT = true
	k.KeepAlive = time.Duration(binary.BigEndian.Uint16(rest[2:])) * time.Second
	version := rest[0]
	rest = rest[4:]
	if version == 5 {
		n, size := 0, 0
		for size < len(rest) && size < 4 {
			n |= int(rest[size]&127) << (7 * size)
			size++
			if rest[size-1] < 128 {
				break
			}
		}
		if n > len(rest)-size {
			return
		}
		rest = rest[size+n:]
	}
	k.ClientID, _, _ = text(rest)
}

// text reads a string with its length.
func text(b []byte) (s string, rest []byte, ok bool) {
	if len(b) < 2 {
		return "", nil, false
	}
	n := int(binary.BigEndian.Uint16(b))
	if n > len(b)-2 {
		return "", nil, false
	}
	return string(b[2 : 2+n]), b[2+n:], true
}

var seed = maphash.MakeSeed()

// maxInBroker is how many messages of the same content are followed through a broker at a time.
const maxInBroker = 1024

// published books a message. What it says tells which message it is on its other connection.
func (k *Connection) published(s *Side, fromClient bool, w *piece, qos uint8, body []byte) {
	k.MQTT = true
	topic, rest, ok := text(body)
	if !ok {
		return
	}
	p := Publish{Sent: w.since, QoS: qos}
	if qos > 0 {
		if len(rest) < 2 {
			return
		}
		s.pending[binary.BigEndian.Uint16(rest)] = len(s.Publishes)
		rest = rest[2:]
	}
	s.Publishes = append(s.Publishes, p)
	var h maphash.Hash
	h.SetSeed(seed)
	_, _ = h.WriteString(topic)
	_, _ = h.Write(lastBytes(rest))
	id := h.Sum64()
	waiting := k.capture.transit[id]
	switch {
	case fromClient && len(waiting) < maxInBroker:
		k.capture.transit[id] = append(waiting, w.at)
	case !fromClient && len(waiting) > 0:
		s.Transit = append(s.Transit, Publish{Sent: waiting[0], Acked: w.at, QoS: qos})
		k.capture.transit[id] = waiting[1:]
	}
}

// lastBytes are the end of a payload: properties of MQTT 5 before it may differ between a message's two connections.
func lastBytes(b []byte) []byte { return b[max(0, len(b)-64):] }

// acked books the acknowledgement of a message with a packet id.
func (s *Side) acked(at int64, id uint16) {
	if i, ok := s.pending[id]; ok {
		s.Publishes[i].Acked = at
		delete(s.pending, id)
	}
}
