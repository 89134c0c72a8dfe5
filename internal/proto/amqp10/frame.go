package amqp10

import (
	"encoding/binary"
	"fmt"
)

// Types of frames (§2.3.2, §5.3.1).
const (
	frameAMQP = 0
	frameSASL = 1
)

const (
	frameHead    = 8   // size, offset of the body, type, channel
	minFrame     = 512 // what every peer accepts (§2.3.1)
	defaultFrame = 128 << 10
	maxMessage   = 512 << 20 // largest message that a session assembles
)

// performative is the descriptor of what a frame says.
type performative byte

const (
	doOpen        performative = 0x10
	doBegin       performative = 0x11
	doAttach      performative = 0x12
	doFlow        performative = 0x13
	doTransfer    performative = 0x14
	doDisposition performative = 0x15
	doDetach      performative = 0x16
	doEnd         performative = 0x17
	doClose       performative = 0x18

	saslMechanisms performative = 0x40
	saslInit       performative = 0x41
	saslChallenge  performative = 0x42
	saslResponse   performative = 0x43
	saslOutcome    performative = 0x44
)

// Descriptors of composite types inside performatives.
const (
	typeError    = 0x1D
	typeReceived = 0x23
	typeAccepted = 0x24
	typeRejected = 0x25
	typeReleased = 0x26
	typeModified = 0x27
	typeSource   = 0x28
	typeTarget   = 0x29
)

var performativeNames = map[performative]string{
	doOpen: "open", doBegin: "begin", doAttach: "attach", doFlow: "flow", doTransfer: "transfer",
	doDisposition: "disposition", doDetach: "detach", doEnd: "end", doClose: "close",
	saslMechanisms: "sasl-mechanisms", saslInit: "sasl-init", saslChallenge: "sasl-challenge",
	saslResponse: "sasl-response", saslOutcome: "sasl-outcome",
}

func (p performative) String() string {
	if name := performativeNames[p]; name != "" {
		return name
	}
	return fmt.Sprintf("performative 0x%02x", byte(p))
}

// frame is one frame: what it says, and the payload behind it. An empty frame is a sign of life and says nothing.
type frame struct {
	kind    uint8
	channel uint16
	empty   bool
	what    performative
	fields  fields
	payload []byte
}

// frameSize is what the frame at the start of in occupies; 0 = not known yet.
func frameSize(in []byte, limit uint32) (int, error) {
	if len(in) < 4 {
		return 0, nil
	}
	size := binary.BigEndian.Uint32(in)
	switch {
	case size > limit:
		return 0, fmt.Errorf("amqp10: a frame of %d bytes exceeds the max-frame-size of %d bytes", size, limit)
	case size < frameHead:
		return 0, fmt.Errorf("amqp10: a frame of %d bytes", size)
	}
	return int(size), nil
}

// cutFrame reads the frame at the start of in. n is the bytes it occupies; 0 without an error means that in holds no
// whole frame yet.
func cutFrame(in []byte, limit uint32, f *frame) (n int, err error) {
	size, err := frameSize(in, limit)
	if size == 0 || size > len(in) {
		return 0, err
	}
	body := 4 * int(in[4])
	if body < frameHead || body > size || in[5] > frameSASL {
		return 0, fmt.Errorf("amqp10: malformed frame head %x", in[:frameHead])
	}
	*f = frame{kind: in[5], channel: binary.BigEndian.Uint16(in[6:])}
	r := reader{rest: in[body:size:size]}
	if len(r.rest) == 0 {
		f.empty = true
		return size, nil
	}
	v := r.value()
	list, ok := v.fields()
	if r.bad || !ok || !v.described {
		return 0, fmt.Errorf("amqp10: malformed frame of %d bytes", size)
	}
	f.what, f.fields, f.payload = performative(v.descriptor), list, r.rest
	if sasl := f.what >= saslMechanisms && f.what <= saslOutcome; sasl != (f.kind == frameSASL) {
		return 0, fmt.Errorf("amqp10: %s in a frame of type %d", f.what, f.kind)
	}
	return size, nil
}

// beginFrame appends the head of a frame and of the performative in it; endFrame completes both.
func beginFrame(out []byte, what performative) (o []byte, start int) {
	start = len(out)
	kind := byte(frameAMQP)
	if what >= saslMechanisms {
		kind = frameSASL
	}
	out, _ = beginList(append(out, 0, 0, 0, 0, 2, kind, 0, 0), byte(what))
	return out, start
}

func endFrame(out []byte, start, count int) []byte {
	out = endList(out, start+frameHead+3, count)
	binary.BigEndian.PutUint32(out[start:], uint32(len(out)-start))
	return out
}

func appendEmptyFrame(out []byte) []byte { return append(out, 0, 0, 0, frameHead, 2, frameAMQP, 0, 0) }

func errMalformed(p performative) error { return fmt.Errorf("amqp10: malformed %s", p) }

func errUnexpected(p performative) error { return fmt.Errorf("amqp10: unexpected %s", p) }
