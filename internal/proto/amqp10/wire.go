package amqp10

import (
	"encoding/binary"
	"math"
)

// Constructors of the primitive types that we encode or look into (§1.6). The upper four bits say how the size of a
// value is found: 4 = nothing follows, 5 to 9 = 1, 2, 4, 8, 16 bytes; A, C, E = one byte of size, B, D, F = four.
const (
	codeDescribed = 0x00
	codeNull      = 0x40
	codeTrue      = 0x41
	codeFalse     = 0x42
	codeUint0     = 0x43
	codeULong0    = 0x44
	codeList0     = 0x45
	codeUByte     = 0x50
	codeUintSmall = 0x52
	codeULSmall   = 0x53
	codeBoolean   = 0x56
	codeUShort    = 0x60
	codeUint      = 0x70
	codeULong     = 0x80
	codeBinary8   = 0xA0
	codeString8   = 0xA1
	codeSymbol8   = 0xA3
	codeBinary32  = 0xB0
	codeString32  = 0xB1
	codeSymbol32  = 0xB3
	codeList8     = 0xC0
	codeList32    = 0xD0
	codeArray8    = 0xE0
	codeArray32   = 0xF0
)

// value is one encoded value; data aliases the input. The zero value is null.
type value struct {
	data       []byte
	code       byte // 0 is taken as null
	described  bool
	descriptor byte // 0 = none, or one that we do not know
}

func (v *value) null() bool { return v.code == codeNull || v.code == 0 }

// text returns a binary, string or symbol; ok = false if it is something else.
func (v *value) text() (b []byte, ok bool) {
	switch v.code {
	case codeBinary8, codeString8, codeSymbol8, codeBinary32, codeString32, codeSymbol32:
		return v.data, true
	}
	return nil, false
}

// number returns an unsigned integer of any width.
func (v *value) number() (n uint64, ok bool) {
	switch v.code {
	case codeUint0, codeULong0, codeUByte, codeUShort, codeUintSmall, codeULSmall, codeUint, codeULong:
		for _, b := range v.data {
			n = n<<8 | uint64(b)
		}
		return n, true
	}
	return 0, false
}

// fields opens a list.
func (v *value) fields() (f fields, ok bool) {
	r := reader{rest: v.data}
	switch v.code {
	case codeList0:
	case codeList8:
		f.left = int(r.u8())
	case codeList32:
		f.left = int(r.u32())
	default:
		return f, false
	}
	f.reader = r
	return f, !r.bad
}

// reader takes values from the front of its bytes. Once they make no sense, bad is set and all further values are null.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) fail() {
	r.bad, r.rest = true, nil
}

func (r *reader) u8() uint8 {
	if len(r.rest) == 0 {
		r.fail()
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

func (r *reader) u32() uint32 {
	if len(r.rest) < 4 {
		r.fail()
		return 0
	}
	n := binary.BigEndian.Uint32(r.rest)
	r.rest = r.rest[4:]
	return n
}

// value takes one value, with its descriptor if it has one. Symbolic descriptors are not understood.
func (r *reader) value() (v value) {
	if len(r.rest) > 3 && r.rest[0] == codeDescribed && r.rest[1] == codeULSmall {
		v.descriptor = r.rest[2]
		v.described, v.code = true, r.rest[3]
		r.rest = r.rest[4:]
		v.data = r.data(v.code)
		return v
	}
	if v.code = r.u8(); v.code == codeDescribed && !r.bad {
		code := r.u8()
		descriptor := value{code: code, data: r.data(code)}
		n, ok := descriptor.number()
		if !ok {
			r.fail()
			return value{}
		}
		if v.described = true; n <= math.MaxUint8 {
			v.descriptor = byte(n)
		}
		v.code = r.u8()
	}
	v.data = r.data(v.code)
	return v
}

// widths are the sizes by the upper four bits of a constructor; below 0: the size comes first, in so many bytes.
var widths = [16]int8{4: 0, 5: 1, 6: 2, 7: 4, 8: 8, 9: 16, 0xA: -1, 0xB: -4, 0xC: -1, 0xD: -4, 0xE: -1, 0xF: -4}

// data takes what follows a constructor.
func (r *reader) data(code byte) []byte {
	n := int(widths[code>>4])
	switch {
	case code < codeNull:
		r.fail()
	case n == -1:
		n = int(r.u8())
	case n == -4:
		n = int(r.u32())
	}
	if r.bad || uint(n) > uint(len(r.rest)) {
		r.fail()
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

// fields are what is left of a list. Fields that were left out at its end are null.
type fields struct {
	reader
	left int
}

func (f *fields) next() value {
	if f.left <= 0 || f.bad {
		return value{}
	}
	f.left--
	return f.value()
}

// simple takes the next field if it is one byte long: null, a boolean, or 0.
func (f *fields) simple() (code byte, ok bool) {
	if f.left <= 0 || f.bad {
		return codeNull, true
	}
	if len(f.rest) == 0 || f.rest[0]>>4 != codeNull>>4 {
		return 0, false
	}
	code = f.rest[0]
	f.rest = f.rest[1:]
	f.left--
	return code, true
}

func (f *fields) skip(n int) {
	for range n {
		if _, ok := f.simple(); !ok {
			f.next()
		}
	}
}

// number takes an unsigned integer that is absent if null.
func (f *fields) number(absent uint64) uint64 {
	code, ok := f.simple()
	switch {
	case ok && code == codeNull:
		return absent
	case ok:
		f.bad = f.bad || (code != codeUint0 && code != codeULong0)
		return 0
	}
	v := f.next()
	n, ok := v.number()
	f.bad = f.bad || !ok
	return n
}

func (f *fields) u32(absent uint32) uint32 {
	n := f.number(uint64(absent))
	f.bad = f.bad || n > math.MaxUint32
	return uint32(n)
}

// flag takes a boolean that is false if null.
func (f *fields) flag() bool {
	code, ok := f.simple()
	if !ok {
		if v := f.next(); v.code == codeBoolean && !f.bad {
			return v.data[0] != 0
		}
		f.bad = true
		return false
	}
	f.bad = f.bad || (code != codeTrue && code != codeFalse && code != codeNull)
	return code == codeTrue
}

// text takes a binary, string or symbol; null is empty.
func (f *fields) text() []byte {
	code, ok := f.simple()
	if ok {
		f.bad = f.bad || code != codeNull
		return nil
	}
	v := f.next()
	b, ok := v.text()
	f.bad = f.bad || !ok
	return b
}

func appendUint(out []byte, n uint32) []byte {
	switch {
	case n == 0:
		return append(out, codeUint0)
	case n < 256:
		return append(out, codeUintSmall, byte(n))
	}
	return append(out, codeUint, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

func appendULong(out []byte, n uint64) []byte {
	return binary.BigEndian.AppendUint64(append(out, codeULong), n)
}

func appendBool(out []byte, b bool) []byte {
	if b {
		return append(out, codeTrue)
	}
	return append(out, codeFalse)
}

// appendText appends a binary, string or symbol; code is the constructor with one byte of size.
func appendText[T ~string | ~[]byte](out []byte, code byte, s T) []byte {
	if len(s) < 256 {
		out = append(out, code, byte(len(s)))
	} else {
		out = binary.BigEndian.AppendUint32(append(out, code+0x10), uint32(len(s)))
	}
	return append(out, s...)
}

// appendName appends a string, or null if it is empty.
func appendName(out []byte, code byte, s string) []byte {
	if s == "" {
		return append(out, codeNull)
	}
	return appendText(out, code, s)
}

// appendSymbols appends an array of symbols of less than 256 bytes each, or null if there are none.
func appendSymbols(out []byte, symbols []string) []byte {
	if len(symbols) == 0 {
		return append(out, codeNull)
	}
	start := len(out) + 1
	out = append(out, codeArray32, 0, 0, 0, 0)
	out = binary.BigEndian.AppendUint32(out, uint32(len(symbols)))
	out = append(out, codeSymbol8)
	for _, s := range symbols {
		out = append(append(out, byte(len(s))), s...)
	}
	binary.BigEndian.PutUint32(out[start:], uint32(len(out)-start-4))
	return out
}

// beginList appends the head of a described list; endList fills in its size. start is where the list begins.
func beginList(out []byte, descriptor byte) (o []byte, start int) {
	out = append(out, codeDescribed, codeULSmall, descriptor)
	return append(out, codeList32, 0, 0, 0, 0, 0, 0, 0, 0), len(out)
}

func endList(out []byte, start, count int) []byte {
	binary.BigEndian.PutUint32(out[start+1:], uint32(len(out)-start-5))
	binary.BigEndian.PutUint32(out[start+5:], uint32(count))
	return out
}
