package hist

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"math"
	"testing"
)

// v1 writes HdrHistogram's V1 form: 3 digits, from 1, counts of the given size.
func v1(t *testing.T, word int, counts map[int]int64) []byte {
	t.Helper()
	slots := 0
	for slot := range counts {
		slots = max(slots, slot+1)
	}
	be := binary.BigEndian
	plain := be.AppendUint32(nil, cookieV1|uint32(word)<<4)
	plain = be.AppendUint32(plain, uint32(slots*word))
	plain = be.AppendUint32(plain, 0)
	plain = be.AppendUint32(plain, 3)
	plain = be.AppendUint64(plain, 1)
	plain = be.AppendUint64(plain, uint64(MaxValue))
	plain = be.AppendUint64(plain, math.Float64bits(1))
	for slot := range slots {
		var b [8]byte
		be.PutUint64(b[:], uint64(counts[slot]))
		plain = append(plain, b[8-word:]...)
	}
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	if _, err := z.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	head := be.AppendUint32(nil, cookieV1Packed|uint32(word)<<4)
	head = be.AppendUint32(head, uint32(packed.Len()))
	return []byte(base64.StdEncoding.EncodeToString(append(head, packed.Bytes()...)))
}

func TestV1(t *testing.T) {
	counts := map[int]int64{0: 1, 5: 2, 2047: 3, 3000: 4}
	for _, word := range []int{2, 4, 8} {
		var h Hist
		if err := h.UnmarshalText(v1(t, word, counts)); err != nil {
			t.Fatalf("%d bytes: %v", word, err)
		}
		got := map[int]int64{}
		h.each(func(slot int, n int64) bool {
			got[slot] = n
			return true
		})
		for slot, n := range counts {
			if got[slot] != n || len(got) != len(counts) {
				t.Errorf("%d bytes: %v, want %v", word, got, counts)
			}
		}
		values := 0
		for v, n := range h.All() {
			if low, _ := lowest(int(slotOf(v))); low != v || n < 1 {
				t.Errorf("value %d, count %d", v, n)
			}
			values++
		}
		if values != len(counts) {
			t.Errorf("%d values", values)
		}
	}
	if err := new(Hist).UnmarshalText(v1(t, 6, counts)); err == nil {
		t.Error("counts of 6 bytes are read")
	}
}
