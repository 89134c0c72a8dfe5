package amqp091

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/mqlab/mqlab/internal/proto"
)

// Property flags of a content header, and the values of delivery-mode (§4.2.6.1).
const (
	flagHeaders      = 1 << 13
	flagDeliveryMode = 1 << 12
	flagMessageID    = 1 << 7

	modeTransient  = 1
	modePersistent = 2
)

const headerSize = 2 + 2 + 8 + 2 // class, weight, body size, property flags

// properties are what we set of a message's properties.
type properties struct {
	mode uint8
	id   messageID // zero = none
}

// contentSize is how many bytes appendContent needs at most.
func contentSize(body int, frameMax uint32) int {
	frames := body/int(frameMax-frameOverhead) + 1
	return frameOverhead + headerSize + 1 + 1 + messageIDSize + body + frames*frameOverhead
}

// appendContent appends the content header, and the body in frames of up to frameMax bytes.
func appendContent(out []byte, channel uint16, p properties, body []byte, frameMax uint32) []byte {
	flags, size := uint16(flagDeliveryMode), byte(headerSize+1)
	if p.id.kind != 0 {
		flags |= flagMessageID
		size += 1 + messageIDSize
	}
	out = append(out, frameHeader, byte(channel>>8), byte(channel), 0, 0, 0, size, 0, classBasic, 0, 0)
	out = binary.BigEndian.AppendUint64(out, uint64(len(body)))
	out = append(out, byte(flags>>8), byte(flags), p.mode)
	if p.id.kind != 0 {
		out = p.id.append(append(out, messageIDSize))
	}
	out = append(out, frameEnd)
	for most := int(frameMax - frameOverhead); len(body) > 0; {
		n := min(len(body), most)
		out = append(out, frameBody, byte(channel>>8), byte(channel), byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
		out = append(out, body[:n]...)
		out = append(out, frameEnd)
		body = body[n:]
	}
	return out
}

// bodySize reads a content header as far as the size of the body; the properties are what is left in r.
func bodySize(header []byte) (size uint64, r reader, err error) {
	r = reader{rest: header}
	class, _, size := r.u16(), r.u16(), r.u64()
	switch {
	case r.short || class != classBasic:
		return 0, r, fmt.Errorf("amqp091: malformed content header")
	case size > maxMessage:
		return 0, r, fmt.Errorf("amqp091: a message of %d bytes: more than the %d bytes this session handles", size, maxMessage)
	}
	return size, r, nil
}

// messageID tells a returned message: by its delivery tag if it is to be confirmed, else by its token.
type messageID struct {
	kind   byte // idOfTag, idOfToken; 0 = none
	number uint64
}

const (
	idOfTag   = 'c'
	idOfToken = 'n'

	messageIDSize = 1 + 16
)

func (id messageID) append(out []byte) []byte {
	return appendHex(append(out, id.kind), id.number, 16)
}

// appendHex appends the last digits of v in hexadecimal.
func appendHex(out []byte, v uint64, digits int) []byte {
	for shift := 4 * (digits - 1); shift >= 0; shift -= 4 {
		out = append(out, "0123456789abcdef"[v>>shift&15])
	}
	return out
}

// readMessageID finds the message-id of ours among the properties behind the body size.
func readMessageID(r *reader) (id messageID, ok bool) {
	flags := r.u16()
	if flags&flagMessageID == 0 || flags&1 != 0 {
		return id, false
	}
	for flag := uint16(1 << 15); flag > flagMessageID; flag >>= 1 {
		switch {
		case flags&flag == 0:
		case flag == flagHeaders:
			r.longStr()
		case flag == flagDeliveryMode, flag == flagDeliveryMode>>1: // and priority
			r.u8()
		default:
			r.shortStr()
		}
	}
	text := r.shortStr()
	if len(text) != messageIDSize || (text[0] != idOfTag && text[0] != idOfToken) {
		return id, false
	}
	id.number, ok = parseHex(text[1:])
	id.kind = text[0]
	return id, ok
}

// parseHex reads up to 16 hexadecimal digits.
func parseHex(b []byte) (v uint64, ok bool) {
	if len(b) == 0 || len(b) > 16 {
		return 0, false
	}
	for _, c := range b {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		default:
			return 0, false
		}
		v = v<<4 | uint64(c)
	}
	return v, true
}

// found is what follows a method that carries content.
type found uint8

const (
	foundPart  found = iota // not enough bytes to tell
	foundWhole              // the content header, and the body in one frame or none
	foundApart              // something else in between, or a body of several frames
)

// content looks for the whole content of a message behind its method, so that the body need not be copied.
func content(in []byte, channel uint16, limit uint32, header, body *frame) (n int, what found) {
	n, err := cutFrame(in, limit, header)
	switch {
	case err != nil:
		return 0, foundApart
	case n == 0 && len(in) >= frameHead && in[0] != frameHeader:
		return 0, foundApart
	case n == 0:
		return 0, foundPart
	case header.kind != frameHeader || header.channel != channel:
		return 0, foundApart
	}
	size, _, err := bodySize(header.payload)
	if err != nil {
		return 0, foundApart
	}
	*body = frame{}
	if size == 0 {
		return n, foundWhole
	}
	in = in[n:]
	if len(in) < frameHead {
		return 0, foundPart
	}
	if whole, err := frameSize(in, limit); err != nil || uint64(whole) != size+frameOverhead || in[0] != frameBody {
		return 0, foundApart
	}
	m, err := cutFrame(in, limit, body)
	switch {
	case err != nil || (m > 0 && body.channel != channel):
		return 0, foundApart
	case m == 0:
		return 0, foundPart
	}
	return n + m, foundWhole
}

type stage uint8

const (
	idle stage = iota
	wantHeader
	wantBody
)

// assembly puts together a message whose frames do not come in one piece.
type assembly struct {
	ev    proto.Event // what its method said; Topic is the first key bytes of buf
	tag   uint64      // delivery tag
	buf   []byte
	key   int
	left  uint64 // bytes of the body that are missing
	stage stage

	exchange string // server: where it was published
}

// begin notes what a method said, and waits for the content.
func (a *assembly) begin(ev *proto.Event, tag uint64) {
	a.ev, a.tag, a.stage = *ev, tag, wantHeader
	a.buf, a.key = append(a.buf[:0], ev.Topic...), len(ev.Topic)
	a.ev.Topic = nil
}

// header takes the content header and returns its properties.
func (a *assembly) header(f *frame) (r reader, err error) {
	if f.kind != frameHeader || a.stage != wantHeader {
		return r, errFrame(f)
	}
	a.left, r, err = bodySize(f.payload)
	a.stage = wantBody
	return r, err
}

// body takes a part of the body.
func (a *assembly) body(f *frame) error {
	if f.kind != frameBody || a.stage != wantBody {
		return errFrame(f)
	}
	if uint64(len(f.payload)) > a.left {
		return fmt.Errorf("amqp091: a message has %d bytes more than its header says", uint64(len(f.payload))-a.left)
	}
	a.buf = append(a.buf, f.payload...)
	a.left -= uint64(len(f.payload))
	return nil
}

// done reports whether the message is complete, and if so describes it in ev.
func (a *assembly) done(ev *proto.Event) bool {
	if a.stage != wantBody || a.left > 0 {
		return false
	}
	a.stage = idle
	*ev = a.ev
	ev.Topic, ev.Payload = a.buf[:a.key:a.key], slices.Clip(a.buf[a.key:])
	return true
}

// acks are confirmations of what the peer sent, collected to send one for several.
type acks struct {
	tag   uint64 // the last one received
	count uint32 // not yet confirmed
}

// note adds a delivery tag and confirms once there are every of them.
func (a *acks) note(tag uint64, every int, channel uint16, out []byte) []byte {
	a.tag = tag
	a.count++
	if int(a.count) >= every {
		return a.flush(channel, out)
	}
	return out
}

// flush confirms all that were noted.
func (a *acks) flush(channel uint16, out []byte) []byte {
	if a.count == 0 {
		return out
	}
	out = appendAck(out, channel, a.tag, a.count > 1)
	a.count = 0
	return out
}

func appendAck(out []byte, channel uint16, tag uint64, multiple bool) []byte {
	out = append(out, frameMethod, byte(channel>>8), byte(channel), 0, 0, 0, 13, 0, classBasic, 0, byte(basicAck&0xFF))
	out = binary.BigEndian.AppendUint64(out, tag)
	return append(out, bit(multiple, 0), frameEnd)
}
