package hist

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
)

// The encoded form is HdrHistogram's V2 (hdrhistogram.org, HistogramEncoding): base64 of
//
//	cookie i32 · length i32 · zlib( cookie i32 · payload length i32 · index offset i32 · significant digits i32 ·
//	lowest value i64 · highest value i64 · conversion ratio f64 · payload )
//
// big-endian. The payload lists the counts of all slots in order as zig-zag LEB128 of at most nine bytes; a negative number
// -n stands for n slots without counts.
const (
	cookieCompressed = 0x1c849314
	cookieV2         = 0x1c849313
	cookieV1         = 0x1c849301 // counts of a fixed size, which the masked bits tell
	cookieV1Packed   = 0x1c849302
	cookieMask       = ^uint32(0xf0) // the word size of the counts, which the payload does not depend on
	headerSize       = 40

	significantDigits = 3
	maxDigits         = 5
)

// encoder keeps what is costly to make from one histogram to the next.
type encoder struct {
	plain  []byte
	packed bytes.Buffer
	zip    *zlib.Writer
}

// append appends the encoded form of h to text.
func (e *encoder) append(text []byte, h *Hist) ([]byte, error) {
	e.plain = append(e.plain[:0], make([]byte, headerSize)...)
	next := 0
	h.each(func(slot int, n int64) bool {
		switch zeros := slot - next; zeros {
		case 0:
		case 1:
			e.plain = appendCount(e.plain, 0)
		default:
			e.plain = appendCount(e.plain, -int64(zeros))
		}
		e.plain = appendCount(e.plain, n)
		next = slot + 1
		return true
	})
	binary.BigEndian.PutUint32(e.plain[0:], cookieV2)
	binary.BigEndian.PutUint32(e.plain[4:], uint32(len(e.plain)-headerSize))
	binary.BigEndian.PutUint32(e.plain[12:], significantDigits)
	binary.BigEndian.PutUint64(e.plain[16:], 1)
	binary.BigEndian.PutUint64(e.plain[24:], uint64(MaxValue))
	binary.BigEndian.PutUint64(e.plain[32:], math.Float64bits(1))

	e.packed.Reset()
	e.packed.Write(make([]byte, 8))
	if e.zip == nil {
		e.zip = zlib.NewWriter(&e.packed)
	} else {
		e.zip.Reset(&e.packed)
	}
	if _, err := e.zip.Write(e.plain); err != nil {
		return text, fmt.Errorf("encode histogram: %w", err)
	}
	if err := e.zip.Close(); err != nil {
		return text, fmt.Errorf("encode histogram: %w", err)
	}
	packed := e.packed.Bytes()
	binary.BigEndian.PutUint32(packed[0:], cookieCompressed)
	binary.BigEndian.PutUint32(packed[4:], uint32(len(packed)-8))
	return base64.StdEncoding.AppendEncode(text, packed), nil
}

// MarshalText returns h in HdrHistogram's V2 compressed form in base64, as it stands in logs.
func (h *Hist) MarshalText() ([]byte, error) {
	var e encoder
	return e.append(nil, h)
}

// UnmarshalText reads HdrHistogram's V2 or V1 compressed form in base64. Values of a histogram with other slots are taken as the
// lowest of their slot, as HdrHistogram itself does when it adds such histograms. After an error h is as it was.
func (h *Hist) UnmarshalText(text []byte) error {
	d, err := decode(text)
	if err != nil {
		return fmt.Errorf("decode histogram: %w", err)
	}
	*h = *d
	return nil
}

func decode(text []byte) (*Hist, error) {
	packed, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		return nil, err
	}
	if len(packed) < 8 {
		return nil, errors.New("cut off")
	}
	if c := binary.BigEndian.Uint32(packed) & cookieMask; c != cookieCompressed&cookieMask && c != cookieV1Packed {
		return nil, errors.New("not in the compressed V1 or V2 form")
	}
	n := binary.BigEndian.Uint32(packed[4:])
	if uint64(n) > uint64(len(packed)-8) {
		return nil, errors.New("cut off")
	}
	unzip, err := zlib.NewReader(bytes.NewReader(packed[8 : 8+n]))
	if err != nil {
		return nil, err
	}
	var header [headerSize]byte
	if _, err := io.ReadFull(unzip, header[:]); err != nil {
		return nil, err
	}
	g, payloadLen, err := readHeader(header[:])
	if err != nil {
		return nil, err
	}
	// One byte more than announced shows a payload that is too long, and reading to the end verifies its check sum.
	payload, err := io.ReadAll(io.LimitReader(unzip, payloadLen+1))
	if err != nil {
		return nil, err
	}
	if int64(len(payload)) != payloadLen {
		return nil, errors.New("payload has not the length announced")
	}
	if g.word > 0 {
		return g.readWords(payload)
	}
	return g.readCounts(payload)
}

// geometry says which value a slot of any HdrHistogram stands for.
type geometry struct {
	unit int // log2 of the width of the narrowest slots
	half int // log2 of how many slots have the same width, beyond the first segment
	word int // bytes of each count; 0 = they are packed
}

// readHeader returns the geometry and the length of the payload, which is never longer than that geometry can need.
func readHeader(b []byte) (g geometry, payloadLen int64, err error) {
	switch cookie := binary.BigEndian.Uint32(b); cookie & cookieMask {
	case cookieV2 & cookieMask:
	case cookieV1:
		if g.word = int(cookie >> 4 & 0xe); g.word != 2 && g.word != 4 && g.word != 8 {
			return g, 0, fmt.Errorf("counts of %d bytes", g.word)
		}
	default:
		return g, 0, errors.New("not in the V1 or V2 form")
	}
	digits := binary.BigEndian.Uint32(b[12:])
	lowest := int64(binary.BigEndian.Uint64(b[16:]))
	ratio := math.Float64frombits(binary.BigEndian.Uint64(b[32:]))
	if digits > maxDigits || lowest < 0 || (ratio != 1 && ratio != 0) {
		return g, 0, fmt.Errorf("no histogram of whole numbers: digits %d, lowest value %d, ratio %g", digits, lowest, ratio)
	}
	single := 2 * uint64(math.Pow10(int(digits))) // up to here, slots are one unit wide
	g.half = bits.Len64(single-1) - 1
	g.unit = bits.Len64(uint64(max(lowest, 1))) - 1
	payloadLen = int64(binary.BigEndian.Uint32(b[4:]))
	if most := int64(64<<g.half) * maxCountLen; payloadLen > most {
		return g, 0, fmt.Errorf("payload of %d bytes, at most %d are possible", payloadLen, most)
	}
	return g, payloadLen, nil
}

// lowest returns the smallest value of a slot; ok is false if that is beyond an int64.
func (g geometry) lowest(slot int64) (v int64, ok bool) {
	segment := slot >> g.half
	shift := int(max(segment-1, 0))
	sub := slot - int64(shift)<<g.half
	shift += g.unit
	if bits.Len64(uint64(sub))+shift > 63 {
		return 0, false
	}
	return sub << shift, true
}

func (g geometry) readCounts(payload []byte) (*Hist, error) {
	h := new(Hist)
	slot := int64(0)
	for len(payload) > 0 {
		n, size := readCount(payload)
		if size == 0 {
			return nil, errors.New("payload is cut off")
		}
		payload = payload[size:]
		if n < 0 {
			if n < -int64(64)<<g.half {
				return nil, errors.New("payload has too many slots")
			}
			slot -= n
			continue
		}
		v, ok := g.lowest(slot)
		if !ok || n > math.MaxInt64-h.total {
			return nil, errors.New("payload has too many slots or counts")
		}
		h.RecordN(v, n)
		slot++
	}
	return h, nil
}

// readWords reads counts of a fixed size, one for each slot.
func (g geometry) readWords(payload []byte) (*Hist, error) {
	if len(payload)%g.word != 0 {
		return nil, errors.New("payload is cut off")
	}
	h := new(Hist)
	for slot := int64(0); len(payload) > 0; slot++ {
		var n int64
		for _, b := range payload[:g.word] {
			n = n<<8 | int64(b)
		}
		payload = payload[g.word:]
		if n == 0 {
			continue
		}
		v, ok := g.lowest(slot)
		if !ok || n < 0 || n > math.MaxInt64-h.total {
			return nil, errors.New("payload has too many slots or counts")
		}
		h.RecordN(v, n)
	}
	return h, nil
}

// maxCountLen is the length of the longest count in bytes.
const maxCountLen = 9

// appendCount appends v as zig-zag LEB128; the ninth byte, if there is one, holds eight bits.
func appendCount(b []byte, v int64) []byte {
	u := uint64(v<<1) ^ uint64(v>>63)
	for range maxCountLen - 1 {
		if u < 0x80 {
			return append(b, byte(u))
		}
		b = append(b, byte(u)|0x80)
		u >>= 7
	}
	return append(b, byte(u))
}

// readCount reads what appendCount wrote; size is 0 if b ends before it does.
func readCount(b []byte) (v int64, size int) {
	var u uint64
	for i, c := range b {
		if i == maxCountLen-1 || c < 0x80 {
			u |= uint64(c) << (7 * i)
			return int64(u>>1) ^ -int64(u&1), i + 1
		}
		u |= uint64(c&0x7f) << (7 * i)
	}
	return 0, 0
}
