// Package stamp reads and writes the header that every payload of the lab carries: which message this is and when it
// was due and sent.
//
// There is one stamp in two forms. Put writes the binary form, PutJSON the form for clients that must see valid JSON;
// Decode reads both. Fill and FillJSON write the bytes behind it.
//
// The binary form is Size bytes, little-endian:
//
//	0  magic u16 · 2 version u8 · 3 flags u8 · 4 run u32 · 8 stream u32 · 12 sequence u64 · 20 due i64 · 28 sent i64
//	36 CRC-32C of bytes 0 to 35
//
// The JSON form is the first member of an object, `{"mq":[run,stream,sequence,due,sent,"crc"]`, where crc is the CRC-32C of
// bytes 4 to 35 of the binary form as eight lower-case hexadecimal digits. It has no flags.
package stamp

import (
	"encoding/binary"
	"errors"
)

// Size is the length of the binary form in bytes, and so the smallest binary payload.
const Size = 40

// Stamp identifies a message and says when it was due and sent.
type Stamp struct {
	Run    uint32
	Stream uint32
	Seq    uint64 // from 0, per stream
	Due    int64  // ns, CLOCK_MONOTONIC of the sending host
	Sent   int64  // ns, same clock
	Flags  uint8  // binary form only
}

// What Decode can find instead of a sound stamp.
var (
	ErrNone    = errors.New("payload carries no stamp")
	ErrCorrupt = errors.New("stamp is damaged")
)

// The two magic bytes never occur in UTF-8, so that no text is taken for a stamp.
const (
	magic0  = 0xF5
	magic1  = 0xC1
	version = 1
)

const (
	bodyStart = 4
	crcStart  = 36
)

// Put writes the binary form of s into b[:Size].
func Put(b []byte, s *Stamp) {
	// In words of the machine, so that the check sum needs not read again what was just written in other sizes, which is slow.
	w0 := magic0 | magic1<<8 | version<<16 | uint64(s.Flags)<<24 | uint64(s.Run)<<32
	w1 := uint64(s.Stream) | s.Seq<<32
	w2 := s.Seq>>32 | uint64(s.Due)<<32
	w3 := uint64(s.Due)>>32 | uint64(s.Sent)<<32
	w4 := uint32(uint64(s.Sent) >> 32)
	b = b[:Size:Size]
	binary.LittleEndian.PutUint64(b, w0)
	binary.LittleEndian.PutUint64(b[8:], w1)
	binary.LittleEndian.PutUint64(b[16:], w2)
	binary.LittleEndian.PutUint64(b[24:], w3)
	binary.LittleEndian.PutUint64(b[32:], uint64(w4)|uint64(checkSum(w0, w1, w2, w3, w4))<<32)
}

func putBody(b []byte, s *Stamp) {
	_ = b[crcStart-1]
	binary.LittleEndian.PutUint32(b[4:], s.Run)
	binary.LittleEndian.PutUint32(b[8:], s.Stream)
	binary.LittleEndian.PutUint64(b[12:], s.Seq)
	binary.LittleEndian.PutUint64(b[20:], uint64(s.Due))
	binary.LittleEndian.PutUint64(b[28:], uint64(s.Sent))
}

// Decode reads the stamp at the start of payload p, in either form, into s. It does not allocate.
//
// It returns ErrNone if p carries no stamp of this lab and ErrCorrupt if p carries one that is cut or damaged: its check
// sum is wrong, or at least half, but not all, of the bytes that are the same in every stamp are in their place. After an
// error s is as it was.
func Decode(p []byte, s *Stamp) error {
	switch {
	case len(p) >= Size && p[0] == magic0 && p[1] == magic1 && p[2] == version:
		b := (*[Size]byte)(p)
		if checkSumAt(b) != binary.LittleEndian.Uint32(b[crcStart:]) {
			return ErrCorrupt
		}
		s.Flags = b[3]
		s.Run = binary.LittleEndian.Uint32(b[4:])
		s.Stream = binary.LittleEndian.Uint32(b[8:])
		s.Seq = binary.LittleEndian.Uint64(b[12:])
		s.Due = int64(binary.LittleEndian.Uint64(b[20:]))
		s.Sent = int64(binary.LittleEndian.Uint64(b[28:]))
		return nil
	case len(p) >= len(jsonPrefix) && string(p[:len(jsonPrefix)]) == jsonPrefix:
		return decodeJSON(p, s)
	case resemblesBinary(p) || resemblesJSON(p):
		return ErrCorrupt
	}
	return ErrNone
}

// resemblesBinary reports whether two of the three fixed bytes of the binary form are in place.
func resemblesBinary(p []byte) bool {
	n := 0
	for i, c := range [...]byte{magic0, magic1, version} {
		if i < len(p) && p[i] == c {
			n++
		}
	}
	return n >= 2
}
