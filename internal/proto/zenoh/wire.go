package zenoh

import (
	"encoding/binary"
	"fmt"
	"math"
)

const (
	version   = 9
	lengthLen = 2 // of the length before each batch
	maxBatch  = math.MaxUint16
)

// Identities of messages, in the lower five bits of their first byte. Those of the transport and of the network, which
// Frames carry, do not overlap.
const (
	idMask = 0x1f

	idInit      = 0x01
	idOpen      = 0x02
	idClose     = 0x03
	idKeepAlive = 0x04
	idFrame     = 0x05
	idFragment  = 0x06

	idInterest = 0x19
	idPush     = 0x1d
	idDeclare  = 0x1e
	idOAM      = 0x1f

	firstNetwork = idInterest

	idPut = 0x01
	idDel = 0x02
)

// Flags in the upper three bits of the first byte. What 0x20 and 0x40 mean depends on the message.
const (
	flagExt = 0x80 // extensions follow

	flagAck      = 0x20 // Init, Open: it is the answer
	flagSizes    = 0x40 // Init: resolution and batch size follow
	flagSeconds  = 0x40 // Open: the lease is in seconds
	flagSession  = 0x20 // Close: the session as well as this link
	flagReliable = 0x20 // Frame, Fragment
	flagMore     = 0x40 // Fragment: it is not the last one
	flagNamed    = 0x20 // Push, Declare: the key expression has a suffix
	flagSender   = 0x40 // Push, Declare: the key expression's number is its sender's
	flagInterest = 0x20 // Declare: in answer to an Interest
	flagTime     = 0x20 // Put, Del
	flagEncoding = 0x40 // Put
)

// Extensions: identity in the lower four bits, flagMandatory, encoding in two bits, flagExt if another one follows.
const (
	extMask       = 0x0f
	flagMandatory = 0x10
	extNumber     = 0x20
	extBytes      = 0x40
	encodingMask  = 0x60
)

// reader takes a message apart. Once it has read past the end, or something impossible, bad is set and all that it
// returns is zero.
type reader struct {
	in  []byte
	at  int
	bad bool
}

func (r *reader) empty() bool { return r.at >= len(r.in) }

// rest returns all that was not read.
func (r *reader) rest() []byte {
	b := r.in[r.at:]
	r.at = len(r.in)
	return b
}

func (r *reader) byte() byte {
	if r.bad || r.at >= len(r.in) {
		r.bad = true
		return 0
	}
	r.at++
	return r.in[r.at-1]
}

// number reads an integer in groups of seven bits, the lowest first; a ninth byte has eight. It is at most limit.
func (r *reader) number(limit uint64) uint64 {
	var v uint64
	for shift := 0; ; shift += 7 {
		b := r.byte()
		if r.bad {
			return 0
		}
		if shift == 56 {
			v |= uint64(b) << shift
			break
		}
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			break
		}
	}
	if v > limit {
		r.bad = true
		return 0
	}
	return v
}

// bytes reads a counted string.
func (r *reader) bytes() []byte { return r.take(r.number(math.MaxUint32)) }

func (r *reader) take(n uint64) []byte {
	if r.bad || n > uint64(len(r.in)-r.at) {
		r.bad = true
		return nil
	}
	b := r.in[r.at : r.at+int(n) : r.at+int(n)]
	r.at += int(n)
	return b
}

// extension is one of a list behind a message's fields.
type extension struct {
	id    byte
	more  bool
	value uint64
	body  []byte
}

// extension reads one. known has a bit for each identity that the message may have; an unknown one that must not be
// ignored is bad.
func (r *reader) extension(known uint16) (e extension) {
	h := r.byte()
	e.id, e.more = h&extMask, h&flagExt != 0
	switch h & encodingMask {
	case 0:
	case extNumber:
		e.value = r.number(math.MaxUint64)
	case extBytes:
		e.body = r.bytes()
	default:
		r.bad = true
	}
	if h&flagMandatory != 0 && known&(1<<e.id) == 0 {
		r.bad = true
	}
	e.more = e.more && !r.bad
	return e
}

// extensions skips a list of which nothing matters.
func (r *reader) extensions(follow bool, known uint16) {
	for follow && !r.bad {
		follow = r.extension(known).more
	}
}

// appendNumber appends what reader.number reads.
func appendNumber(out []byte, v uint64) []byte {
	for i := 0; i < 8 && v >= 0x80; i++ {
		out = append(out, byte(v)|0x80)
		v >>= 7
	}
	return append(out, byte(v))
}

// appendBytes appends a counted string.
func appendBytes[T ~string | ~[]byte](out []byte, b T) []byte {
	return append(appendNumber(out, uint64(len(b))), b...)
}

// begin appends room for the length of a batch, which end fills in.
func begin(out []byte) []byte { return append(out, 0, 0) }

// end fills in the length of the batch that begins at from.
func end(out []byte, from int) []byte {
	binary.LittleEndian.PutUint16(out[from:], uint16(len(out)-from-lengthLen))
	return out
}

func errMalformed(what byte) error {
	return fmt.Errorf("zenoh: the peer sends a malformed message of kind 0x%02x", what)
}
