package stamp

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

var samples = []Stamp{
	{},
	{Run: 1, Stream: 2, Seq: 3, Due: 4, Sent: 5},
	{Run: math.MaxUint32, Stream: math.MaxUint32, Seq: math.MaxUint64, Due: math.MaxInt64, Sent: math.MaxInt64},
	{Run: 10, Stream: 99, Seq: 1_000_000, Due: math.MinInt64, Sent: -1},
	{Run: 0xdeadbeef, Stream: 4711, Seq: 123_456_789, Due: 1_790_000_000_123_456, Sent: 1_790_000_000_123_999},
}

// payloads returns both forms of s, each alone and with filler.
func payloads(s *Stamp) map[string][]byte {
	m := make(map[string][]byte)
	for _, extra := range []int{0, 1, 7, 11, 12, 100, 70_000} {
		b := make([]byte, Size+extra)
		Fill(b)
		Put(b, s)
		m["binary+"+strconv.Itoa(extra)] = b
		j := make([]byte, JSONSize+extra)
		PutJSON(j, s)
		FillJSON(j)
		m["json+"+strconv.Itoa(extra)] = j
	}
	return m
}

func TestRoundTrip(t *testing.T) {
	for _, s := range samples {
		for name, p := range payloads(&s) {
			var got Stamp
			if err := Decode(p, &got); err != nil || got != s {
				t.Errorf("%s: %+v, %v, want %+v", name, got, err, s)
			}
		}
	}
	flagged, got := Stamp{Flags: 0xa5}, Stamp{}
	b := make([]byte, Size)
	Put(b, &flagged)
	if err := Decode(b, &got); err != nil || got != flagged {
		t.Errorf("flags: %+v, %v", got, err)
	}
}

// The layout is a contract with agents in other languages: change version if it changes.
func TestBinaryLayout(t *testing.T) {
	b := make([]byte, Size)
	Put(b, &Stamp{Run: 0x01020304, Stream: 0x05060708, Seq: 0x1112131415161718, Due: 0x2122232425262728, Sent: -2, Flags: 7})
	want := "\xf5\xc1\x01\x07\x04\x03\x02\x01\x08\x07\x06\x05\x18\x17\x16\x15\x14\x13\x12\x11\x28\x27\x26\x25\x24\x23\x22\x21\xfe\xff\xff\xff\xff\xff\xff\xff"
	if string(b[:36]) != want {
		t.Errorf("% x", b)
	}
	if binary.LittleEndian.Uint32(b[36:]) != crc32.Checksum(b[:36], crc32.MakeTable(crc32.Castagnoli)) {
		t.Error("check sum")
	}
}

func TestJSONLayout(t *testing.T) {
	for _, s := range samples {
		b := make([]byte, Size)
		Put(b, &s)
		var body struct {
			MQ []any
		}
		j := make([]byte, JSONSize)
		PutJSON(j, &s)
		j[JSONSize-1] = '}'
		d := json.NewDecoder(bytes.NewReader(j))
		d.UseNumber()
		if err := d.Decode(&body); err != nil || len(body.MQ) != 6 {
			t.Fatalf("%s: %v", j, err)
		}
		crc := crc32.Checksum(b[4:36], crc32.MakeTable(crc32.Castagnoli))
		if got := body.MQ[5]; len(got.(string)) != 8 {
			t.Errorf("check sum %v", got)
		} else if v, err := strconv.ParseUint(got.(string), 16, 32); err != nil || uint32(v) != crc {
			t.Errorf("check sum %v, want %08x", got, crc)
		}
		for i, want := range []string{
			strconv.FormatUint(uint64(s.Run), 10), strconv.FormatUint(uint64(s.Stream), 10), strconv.FormatUint(s.Seq, 10),
			strconv.FormatInt(s.Due, 10), strconv.FormatInt(s.Sent, 10),
		} {
			if string(body.MQ[i].(json.Number)) != want {
				t.Errorf("number %d is %v, want %s", i, body.MQ[i], want)
			}
		}
	}
}

// member returns what PutJSON writes, `{"mq":[…]`.
func member(s *Stamp) []byte {
	b := make([]byte, JSONSize-1)
	PutJSON(b, s)
	return b
}

// Agents may write numbers without padding.
func TestDecodeCompactJSON(t *testing.T) {
	for _, s := range samples {
		j := member(&s)
		j = append(bytes.ReplaceAll(j, []byte(" "), nil), `,"more":true}`...)
		var got Stamp
		if err := Decode(j, &got); err != nil || got != s {
			t.Errorf("%s: %+v, %v", j, got, err)
		}
	}
}

func TestEveryDamagedByteIsCorrupt(t *testing.T) {
	for _, s := range samples {
		for name, p := range payloads(&s) {
			size := Size
			if p[0] == '{' {
				size = JSONSize - 1
			}
			for i := range size {
				for _, x := range []byte{1, 0x80, 0xff} {
					if p[0] == '{' && i > len(jsonPrefix) && p[i] == ' ' {
						continue // below
					}
					p[i] ^= x
					got := Stamp{Run: 77}
					if err := Decode(p, &got); !errors.Is(err, ErrCorrupt) || got != (Stamp{Run: 77}) {
						t.Fatalf("%s: byte %d xor %x: %v, stamp %+v", name, i, x, err, got)
					}
					p[i] ^= x
				}
			}
		}
	}
}

// A damaged space in front of a number may become a zero, which changes nothing; whatever is accepted is right.
func TestDamagedPaddingNeverChangesTheStamp(t *testing.T) {
	for _, s := range samples {
		j := member(&s)
		for i := range j {
			old := j[i]
			for x := range 256 {
				j[i] = byte(x)
				var got Stamp
				if err := Decode(j, &got); err == nil && got != s || err != nil && !errors.Is(err, ErrCorrupt) {
					t.Fatalf("byte %d = %q: %+v, %v", i, byte(x), got, err)
				}
			}
			j[i] = old
		}
	}
}

func TestCutStampIsCorrupt(t *testing.T) {
	for _, s := range samples {
		b := make([]byte, Size)
		Put(b, &s)
		j := member(&s)
		var got Stamp
		for n := 2; n < len(b); n++ {
			if err := Decode(b[:n], &got); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%d bytes of binary: %v", n, err)
			}
		}
		for n := len(jsonPrefix); n < len(j); n++ {
			if err := Decode(j[:n], &got); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%d bytes of JSON: %v", n, err)
			}
		}
	}
}

func TestForeignPayloads(t *testing.T) {
	zeros := make([]byte, 200)
	for _, p := range []string{
		"", "x", "{", "{}", `{"id":1}`, `{"temperature":21.5,"unit":"C"}`, `{"mp":[1,2,3]}`, "hello, world", string(zeros),
		`{"id":[48.2081,16.3738,171.0],"at":"2026-01-01T12:00:00Z","values":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]}`, strings.Repeat(",", 7), strings.Repeat("0123456789", 20), "\xf5", "\xf5\xc0\x02",
	} {
		var s Stamp
		if err := Decode([]byte(p), &s); !errors.Is(err, ErrNone) {
			t.Errorf("%q: %v", p, err)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, 200)
	for range 10_000 {
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		b[1], b[2] = 0, 0 // two of three must not match by chance
		var s Stamp
		if err := Decode(b, &s); !errors.Is(err, ErrNone) {
			t.Fatalf("% x: %v", b[:40], err)
		}
	}
}

func TestNumbersOutOfRangeAreCorrupt(t *testing.T) {
	for _, numbers := range []string{
		"4294967296,0,0,0,0", "0,4294967296,0,0,0", "0,0,18446744073709551616,0,0", "0,0,99999999999999999999999,0,0",
		"0,0,0,9223372036854775808,0", "0,0,0,-9223372036854775809,0", "0,0,0,0,-", "0,0,0,0,- 1", "0,0,-1,0,0", ",,,,", "0,0,0,0",
		"0.0,0,0,0,0", "+1,0,0,0,0", "0 ,0,0,0,0",
	} {
		var s Stamp
		if err := Decode([]byte(`{"mq":[`+numbers+`,"00000000"]}`), &s); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", numbers, err)
		}
	}
}

func TestNothingAllocates(t *testing.T) {
	for name, p := range payloads(&samples[4]) {
		s := samples[4]
		n := testing.AllocsPerRun(100, func() {
			if p[0] == '{' {
				PutJSON(p, &s)
			} else {
				Put(p, &s)
			}
			if err := Decode(p, &s); err != nil {
				t.Fatal(err)
			}
			p[9] ^= 1
			if err := Decode(p, &s); err == nil {
				t.Fatal("damage not seen")
			}
		})
		if n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range samples {
		for _, p := range payloads(&s) {
			if len(p) < 300 {
				f.Add(p)
			}
		}
		f.Add(bytes.ReplaceAll(member(&s), []byte(" "), nil))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		before := Stamp{Run: 1, Seq: 2}
		s := before
		switch err := Decode(p, &s); {
		case err == nil && p[0] == magic0:
			b := make([]byte, Size)
			Put(b, &s)
			if !bytes.Equal(b, p[:Size]) {
				t.Fatalf("% x decoded to %+v, which is % x", p, s, b)
			}
		case err == nil:
			var again Stamp
			if err := Decode(member(&s), &again); err != nil || again != s {
				t.Fatalf("%q decoded to %+v, which becomes %+v, %v", p, s, again, err)
			}
		case !errors.Is(err, ErrNone) && !errors.Is(err, ErrCorrupt):
			t.Fatal(err)
		case s != before:
			t.Fatalf("%v, and yet the stamp is %+v", err, s)
		}
	})
}

func BenchmarkPut(b *testing.B) {
	p := make([]byte, Size)
	for b.Loop() {
		Put(p, &samples[4])
	}
}

func BenchmarkDecode(b *testing.B) {
	p := make([]byte, Size)
	Put(p, &samples[4])
	var s Stamp
	b.ReportAllocs()
	for b.Loop() {
		if err := Decode(p, &s); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPutJSON(b *testing.B) {
	p := make([]byte, JSONSize)
	for b.Loop() {
		PutJSON(p, &samples[4])
	}
}

func BenchmarkDecodeJSON(b *testing.B) {
	p := member(&samples[4])
	var s Stamp
	b.ReportAllocs()
	for b.Loop() {
		if err := Decode(p, &s); err != nil {
			b.Fatal(err)
		}
	}
}

func TestCheckSumIsTheLibrarys(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		w, w4 := [4]uint64{rng.Uint64(), rng.Uint64(), rng.Uint64(), rng.Uint64()}, rng.Uint32()
		if got, want := checkSum(w[0], w[1], w[2], w[3], w4), checkSumGeneric(w[0], w[1], w[2], w[3], w4); got != want {
			t.Fatalf("%x %x: %08x, want %08x", w, w4, got, want)
		}
		var b [Size]byte
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		if got, want := checkSumAt(&b), checkSumAtGeneric(&b); got != want {
			t.Fatalf("% x: %08x, want %08x", b, got, want)
		}
	}
}
