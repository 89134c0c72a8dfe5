package zenoh

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// link is what both sides have in common: batches, numbers, fragments, key expressions.
type link struct {
	left       int32  // bytes of the batch at hand that were not consumed
	inFrame    bool   // the batch at hand is within a Frame, so that network messages may follow
	markers    bool   // both sides mark the first Fragment of a message, and dropped ones (patch 1)
	batch      uint16 // bytes of the largest batch that both sides accept
	mask       uint32 // of sequence numbers
	reliable   uint32 // next sequence numbers of what we send
	bestEffort uint32
	ours       []string          // key expressions that we declared; the first is number 1
	theirs     map[uint16]string // those of the peer
	partial    *partials         // messages of which only Fragments have come
	scratch    []byte            // a key expression put together
	alive      alive
}

var (
	errNotReady = errors.New("zenoh: not connected")
	errQoS      = errors.New("zenoh: there are no acknowledgements: only QoS 0 is possible")
	errRetain   = errors.New("zenoh: there are no retained messages")
)

func (l *link) reset() {
	*l = link{ours: l.ours[:0], scratch: l.scratch[:0], batch: maxBatch, mask: snMask(resolution32)}
}

// next returns what is left of the batch at hand, or begins the next one. n bytes of framing stand before it. whole =
// false asks for more bytes.
func (l *link) next(in []byte) (n int, msgs []byte, whole bool) {
	if l.left > 0 {
		return 0, in[:min(int(l.left), len(in))], len(in) >= int(l.left)
	}
	if len(in) < lengthLen {
		return 0, nil, false
	}
	size := int(binary.LittleEndian.Uint16(in))
	if len(in) < lengthLen+size {
		return 0, nil, false
	}
	l.left, l.inFrame = int32(size), false
	return lengthLen, in[lengthLen : lengthLen+size], true
}

// number returns the next sequence number of a channel.
func (l *link) number(reliable bool) uint64 {
	sn := &l.bestEffort
	if reliable {
		sn = &l.reliable
	}
	n := *sn
	*sn = (n + 1) & l.mask
	return uint64(n)
}

// beginFrame appends the start of a batch that holds one Frame.
func (l *link) beginFrame(out []byte, reliable bool) []byte {
	kind := byte(idFrame)
	if reliable {
		kind |= flagReliable
	}
	out = append(begin(out), kind)
	return appendNumber(out, l.number(reliable))
}

// priority and flags in the QoS extension of network messages.
const (
	extQoS          = extNumber | 0x01
	priorityControl = 0
	priorityData    = 5
	dontDrop        = 0x08
)

// push is a message to be sent.
type push struct {
	scope    uint16 // number of a declared key expression; 0 = none
	sender   bool   // … that we declared
	suffix   []byte // the rest of the key
	payload  []byte
	block    bool
	reliable bool
}

// maxPushHead is an upper bound of what a message adds to suffix and payload.
const maxPushHead = 32

// appendPush appends a message in a Frame of its own, or in Fragments if it does not fit into a batch.
func (l *link) appendPush(out []byte, p *push) []byte {
	start := len(out)
	out = slices.Grow(out, maxPushHead+len(p.suffix)+len(p.payload))
	out = l.beginFrame(out, p.reliable)
	head := len(out)
	out = appendPushHead(out, p)
	if len(out)-start+len(p.payload) <= int(l.batch) {
		return end(append(out, p.payload...), start)
	}
	l.scratch = append(l.scratch[:0], out[head:]...)
	l.unnumber(p.reliable)
	return l.appendFragments(out[:start], p.reliable, l.scratch, p.payload)
}

// unnumber gives back the number that was taken last.
func (l *link) unnumber(reliable bool) {
	if reliable {
		l.reliable = (l.reliable - 1) & l.mask
	} else {
		l.bestEffort = (l.bestEffort - 1) & l.mask
	}
}

// appendPushHead appends all of a message but its payload. Without the QoS extension a message is data to be dropped.
func appendPushHead(out []byte, p *push) []byte {
	kind := byte(idPush)
	if p.sender {
		kind |= flagSender
	}
	if len(p.suffix) > 0 {
		kind |= flagNamed
	}
	if p.block {
		kind |= flagExt
	}
	out = appendNumber(append(out, kind), uint64(p.scope))
	if len(p.suffix) > 0 {
		out = appendBytes(out, p.suffix)
	}
	if p.block {
		out = append(out, extQoS, priorityData|dontDrop)
	}
	out = append(out, idPut)
	return appendNumber(out, uint64(len(p.payload)))
}

// key puts a key expression together: a declared one, in whose name sender says, and a suffix.
func (l *link) key(scope uint16, sender bool, suffix []byte) ([]byte, error) {
	if scope == 0 {
		return suffix, nil
	}
	prefix, known := "", false
	if sender {
		prefix, known = l.theirs[scope]
	} else if known = int(scope) <= len(l.ours); known {
		prefix = l.ours[scope-1]
	}
	if !known {
		return nil, fmt.Errorf("zenoh: the peer uses key expression %d, which was not declared", scope)
	}
	l.scratch = append(append(l.scratch[:0], prefix...), suffix...)
	return l.scratch, nil
}

// wireKey reads a key expression as messages carry it.
func (l *link) wireKey(r *reader, header byte) ([]byte, error) {
	scope := uint16(r.number(maxScope))
	var suffix []byte
	if header&flagNamed != 0 {
		suffix = r.bytes()
	}
	if r.bad {
		return nil, nil
	}
	return l.key(scope, header&flagSender != 0, suffix)
}

const maxScope = 1<<16 - 1

// received is an application message.
type received struct {
	key, payload []byte
	deleted      bool // it says that the key has no value any more
}

// readPush reads a Push. Whether it may be dropped, its time stamp, encoding and attachments are of no interest.
func (l *link) readPush(r *reader, header byte) (m received, err error) {
	m.key, err = l.wireKey(r, header)
	r.extensions(header&flagExt != 0, 1<<1|1<<2|1<<3)
	body := r.byte()
	if body&flagTime != 0 {
		r.number(1<<64 - 1)
		r.bytes()
	}
	switch body & idMask {
	case idPut:
		if body&flagEncoding != 0 {
			if r.number(1<<33)&1 != 0 { // a schema follows
				r.bytes()
			}
		}
		r.extensions(body&flagExt != 0, 1<<1|1<<3)
		m.payload = r.bytes()
	case idDel:
		r.extensions(body&flagExt != 0, 1<<1|1<<3)
		m.deleted = true
	default:
		r.bad = true
	}
	return m, err
}

// skipOAM reads over a message for the maintenance of networks, which does not concern us.
func skipOAM(r *reader, header byte) {
	r.number(maxScope)
	r.extensions(header&flagExt != 0, 1<<1|1<<2)
	switch header & encodingMask {
	case extNumber:
		r.number(1<<64 - 1)
	case extBytes:
		r.bytes()
	}
}
