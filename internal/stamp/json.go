package stamp

import "hash/crc32"

// JSONSize is the length of the smallest JSON payload in bytes: the stamp as an object with no other member.
const JSONSize = len(jsonPrefix) + jsonBody + len("]}")

const (
	jsonPrefix = `{"mq":[`

	// Widths of the numbers, wide enough for every value of their type.
	width32 = 10
	width64 = 20

	// Offsets from the end of the prefix.
	streamAt = width32 + 1
	seqAt    = streamAt + width32 + 1
	dueAt    = seqAt + width64 + 1
	sentAt   = dueAt + width64 + 1
	crcAt    = sentAt + width64 + 1
	jsonBody = crcAt + len(`"01234567"`)
)

// jsonSkeleton are the bytes that are the same in every JSON stamp written by PutJSON.
var jsonSkeleton = [...]struct {
	at int
	c  byte
}{
	{0, '{'},
	{1, '"'},
	{2, 'm'},
	{3, 'q'},
	{4, '"'},
	{5, ':'},
	{6, '['},
	{len(jsonPrefix) + streamAt - 1, ','},
	{len(jsonPrefix) + seqAt - 1, ','},
	{len(jsonPrefix) + dueAt - 1, ','},
	{len(jsonPrefix) + sentAt - 1, ','},
	{len(jsonPrefix) + crcAt - 1, ','},
	{len(jsonPrefix) + crcAt, '"'},
	{len(jsonPrefix) + jsonBody - 1, '"'},
	{len(jsonPrefix) + jsonBody, ']'},
}

// PutJSON writes `{"mq":[…]`, JSONSize-1 bytes, over the start of b. The caller supplies the rest of the object.
func PutJSON(b []byte, s *Stamp) {
	copy(b[:JSONSize-1], jsonPrefix)
	n := b[len(jsonPrefix) : JSONSize-1]
	putUint(n[:width32], uint64(s.Run))
	putUint(n[streamAt:streamAt+width32], uint64(s.Stream))
	putUint(n[seqAt:seqAt+width64], s.Seq)
	putInt(n[dueAt:dueAt+width64], s.Due)
	putInt(n[sentAt:sentAt+width64], s.Sent)
	for _, comma := range [...]int{streamAt, seqAt, dueAt, sentAt, crcAt} {
		n[comma-1] = ','
	}
	n[crcAt], n[jsonBody-1], n[jsonBody] = '"', '"', ']'
	putHex(n[crcAt+1:jsonBody-1], bodyCRC(s))
}

// putUint writes v right-aligned into b and pads with spaces.
func putUint(b []byte, v uint64) {
	i := len(b) - 1
	for ; v >= 10; i-- {
		b[i] = byte('0' + v%10)
		v /= 10
	}
	b[i] = byte('0' + v)
	for i--; i >= 0; i-- {
		b[i] = ' '
	}
}

func putInt(b []byte, v int64) {
	if v >= 0 {
		putUint(b, uint64(v))
		return
	}
	putUint(b, -uint64(v))
	for i := len(b) - 1; ; i-- {
		if b[i] == ' ' {
			b[i] = '-'
			return
		}
	}
}

func putHex(b []byte, v uint32) {
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = "0123456789abcdef"[v&15]
		v >>= 4
	}
}

// bodyCRC is the CRC-32C of the five numbers of s as they stand in the binary form. It works byte by byte, because the
// library's function would move the buffer to the heap.
func bodyCRC(s *Stamp) uint32 {
	var b [crcStart]byte
	putBody(b[:], s)
	crc, table := ^uint32(0), crc32.MakeTable(crc32.Castagnoli)
	for _, c := range b[bodyStart:] {
		crc = table[byte(crc)^c] ^ crc>>8
	}
	return ^crc
}

// decodeJSON reads a stamp behind jsonPrefix, whatever the width of its numbers.
func decodeJSON(p []byte, s *Stamp) error {
	r := jsonReader{rest: p[len(jsonPrefix):]}
	t := Stamp{
		Run:    uint32(r.number(32)),
		Stream: uint32(r.number(32)),
		Seq:    r.number(64),
		Due:    r.signed(),
		Sent:   r.signed(),
	}
	crc := r.hex()
	if r.bad || crc != bodyCRC(&t) {
		return ErrCorrupt
	}
	*s = t
	return nil
}

// jsonReader takes numbers off the front of rest; bad stays set after the first that is none.
type jsonReader struct {
	rest []byte
	bad  bool
}

func (r *jsonReader) skipSpace() {
	for len(r.rest) > 0 && r.rest[0] == ' ' {
		r.rest = r.rest[1:]
	}
}

// number reads an unsigned number of at most the given bits and the comma behind it.
func (r *jsonReader) number(bits uint) uint64 {
	r.skipSpace()
	limit := ^uint64(0) >> (64 - bits)
	var v uint64
	n := 0
	for ; n < len(r.rest) && r.rest[n]-'0' <= 9; n++ {
		d := uint64(r.rest[n] - '0')
		if v > (limit-d)/10 {
			r.bad = true
			return 0
		}
		v = v*10 + d
	}
	if n == 0 || n == len(r.rest) || r.rest[n] != ',' {
		r.bad = true
		return 0
	}
	r.rest = r.rest[n+1:]
	return v
}

// signed reads an int64 and the comma behind it.
func (r *jsonReader) signed() int64 {
	r.skipSpace()
	negative := len(r.rest) > 1 && r.rest[0] == '-' && r.rest[1] != ' '
	limit := uint64(1)<<63 - 1
	if negative {
		r.rest = r.rest[1:]
		limit++
	}
	v := r.number(64)
	if v > limit {
		r.bad = true
		return 0
	}
	if negative {
		return -int64(v)
	}
	return int64(v)
}

// hex reads eight hexadecimal digits in quotes and the bracket behind them.
func (r *jsonReader) hex() uint32 {
	r.skipSpace()
	const n = len(`"01234567"]`)
	if r.bad || len(r.rest) < n || r.rest[0] != '"' || r.rest[n-2] != '"' || r.rest[n-1] != ']' {
		r.bad = true
		return 0
	}
	var v uint32
	for _, c := range r.rest[1 : n-2] {
		switch {
		case c >= '0' && c <= '9':
			v = v<<4 | uint32(c-'0')
		case c >= 'a' && c <= 'f':
			v = v<<4 | uint32(c-'a'+10)
		default:
			r.bad = true
		}
	}
	return v
}

// resemblesJSON reports whether at least half of the fixed bytes of the JSON form are in place.
func resemblesJSON(p []byte) bool {
	n := 0
	for _, f := range jsonSkeleton {
		if f.at < len(p) && p[f.at] == f.c {
			n++
		}
	}
	return 2*n >= len(jsonSkeleton)
}
