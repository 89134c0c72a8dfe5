package agent

import (
	"encoding/binary"
	"errors"
	"testing"
)

// file writes samples as an agent does.
func file(capacity uint64, records ...Record) []byte {
	le := binary.LittleEndian
	b := append([]byte(magic), make([]byte, headerSize-len(magic))...)
	le.PutUint32(b[8:], version)
	le.PutUint32(b[12:], recordSize)
	le.PutUint64(b[16:], capacity)
	le.PutUint64(b[24:], uint64(len(records)))
	for _, r := range records {
		b = le.AppendUint32(b, uint32(r.Kind))
		b = le.AppendUint32(b, r.Seq)
		for _, x := range []uint64{r.A, r.B, r.C} {
			b = le.AppendUint64(b, x)
		}
	}
	return b
}

func TestDecode(t *testing.T) {
	good := []Record{{Received, 0, 10, 20, 256}, {Sent, 1, 5, 30, 31}, {Pause, 2, 40, 50, 0}}
	s, err := Decode(file(8, good...), 10, 50)
	if err != nil || len(s.Records) != 3 || s.Records[1] != good[1] {
		t.Errorf("%+v, %v", s, err)
	}
	for name, c := range map[string]struct {
		b    []byte
		want error
	}{
		"nothing":           {nil, ErrNoSamples},
		"another file":      {[]byte("hello, this is a text of more than sixty-four bytes, and no file of samples at all"), ErrNoSamples},
		"backwards":         {file(8, Record{Received, 0, 20, 10, 1}), ErrLied},
		"before the trial":  {file(8, Record{Received, 0, 5, 20, 1}), ErrLied},
		"after the trial":   {file(8, Record{Received, 0, 20, 500, 1}), ErrLied},
		"an unknown kind":   {file(8, Record{9, 0, 20, 30, 1}), ErrLied},
		"more than it says": {file(1, good...), ErrLied},
		"cut off":           {file(8, good...)[:headerSize+40], ErrLied},
	} {
		if _, err := Decode(c.b, 10, 100); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(file(8, Record{Received, 0, 10, 20, 256}))
	f.Add(file(1))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Decode(b, 0, 1<<62)
		if err == nil && headerSize+recordSize*len(s.Records) > len(b) {
			t.Error("more records than bytes")
		}
	})
}
