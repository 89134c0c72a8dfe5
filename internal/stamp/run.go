package stamp

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"sync"
)

// Where the sequence number stands, and what is behind it.
const (
	seqStart   = 12
	timesStart = 20
)

// steps returns a table. At place k is what the check sum changes by when the sequence number grows by one and its lowest k+1
// bits turn: a CRC is linear, so the change depends on which bits turn and on nothing else. Behind the largest number comes 0:
// all bits turn.
var steps = sync.OnceValue(func() *[65]uint32 {
	s, zero := new([65]uint32), checkSum(0, 0, 0, 0, 0)
	for k := range s {
		turned := ^uint64(0) >> max(63-k, 0)
		s[k] = zero ^ checkSum(0, turned<<32, turned>>32, 0, 0)
	}
	return s
})

// following is the check sum of a stamp that differs from one with this sequence number and check sum by being the next.
func following(seq uint64, sum uint32, steps *[65]uint32) uint32 {
	return sum ^ steps[bits.TrailingZeros64(^seq)]
}

// Repeat appends n copies of the size bytes at the end of out. A binary stamp stands at place at of them; each copy's is
// that of the message behind the one before it: the next sequence number, all else the same.
func Repeat(out []byte, size, at, n int) []byte {
	from := len(out)
	out = slices.Grow(out, n*size)[:from+n*size]
	for done := from; done < len(out); {
		done += copy(out[done:], out[from-size:done]) // twice as many each time
	}
	last := (*[Size]byte)(out[from-size+at:])
	seq, sum := binary.LittleEndian.Uint64(last[seqStart:]), binary.LittleEndian.Uint32(last[crcStart:])
	steps := steps()
	for i := from + at; i < len(out); i += size {
		b := (*[Size]byte)(out[i:])
		sum = following(seq, sum, steps)
		seq++
		binary.LittleEndian.PutUint64(b[seqStart:], seq)
		binary.LittleEndian.PutUint32(b[crcStart:], sum)
	}
	return out
}

// Run returns how many messages at the start of in are what Repeat would have appended to unit, byte for byte. A sound
// binary stamp stands at place at of unit.
func Run(unit []byte, at int, in []byte) (n int) {
	p, size := (*[Size]byte)(unit[at:]), len(unit)
	before, after := unit[:at+seqStart], unit[at+Size:]
	seq, sum := binary.LittleEndian.Uint64(p[seqStart:]), binary.LittleEndian.Uint32(p[crcStart:])
	due, sent := binary.LittleEndian.Uint64(p[timesStart:]), binary.LittleEndian.Uint64(p[timesStart+8:])
	steps := steps()
	for ; len(in) >= size; in = in[size:] {
		sum = following(seq, sum, steps)
		seq++
		b := (*[Size]byte)(in[at:])
		if binary.LittleEndian.Uint64(b[seqStart:]) != seq || binary.LittleEndian.Uint32(b[crcStart:]) != sum ||
			binary.LittleEndian.Uint64(b[timesStart:]) != due || binary.LittleEndian.Uint64(b[timesStart+8:]) != sent ||
			string(in[:at+seqStart]) != string(before) || string(in[at+Size:size]) != string(after) {
			break
		}
		n++
	}
	return n
}
