package tun

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/mqlab/mqlab/internal/link"
)

type sighting struct {
	way  link.Direction
	at   int64
	size int
	head string
	v    link.Verdict
}

func TestSightingsComeAsTheyWent(t *testing.T) {
	long := bytes.Repeat([]byte("x"), MTU)
	var b []byte
	b = appendSighting(b, link.Up, 12345678901234, long, link.LostOnAir)
	b = appendSighting(b, link.Down, 1, []byte("abc"), link.Accepted)
	b = appendSighting(b, link.Down, 2, nil, link.QueueFull)
	var got []sighting
	err := tell(b, func(way link.Direction, at int64, size int, head []byte, v link.Verdict) {
		got = append(got, sighting{way, at, size, string(head), v})
	})
	want := []sighting{
		{link.Up, 12345678901234, MTU, string(long[:headBytes]), link.LostOnAir},
		{link.Down, 1, 3, "abc", link.Accepted},
		{link.Down, 2, 0, "", link.QueueFull},
	}
	if err != nil || len(got) != len(want) {
		t.Fatalf("%v, %v", got, err)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%+v, not %+v", got[i], want[i])
		}
	}
}

func TestFrames(t *testing.T) {
	var b bytes.Buffer
	if err := errors.Join(writeFrame(&b, sightingFrame, []byte("abc")), writeJSON(&b, answerFrame, answer{Error: "x"})); err != nil {
		t.Fatal(err)
	}
	if kind, body, err := readFrame(&b); kind != sightingFrame || string(body) != "abc" || err != nil {
		t.Errorf("%c %q %v", kind, body, err)
	}
	if kind, body, err := readFrame(&b); kind != answerFrame || !bytes.Contains(body, []byte(`"error":"x"`)) || err != nil {
		t.Errorf("%c %q %v", kind, body, err)
	}
	if _, _, err := readFrame(&b); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	if _, _, err := readFrame(bytes.NewReader([]byte{'a', 0xff, 0xff, 0xff, 0xff})); err == nil {
		t.Error("a frame of four gigabytes is believed")
	}
	if _, _, err := readFrame(bytes.NewReader([]byte{'a', 0, 0, 0, 9, 1})); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}

// FuzzSightings: no bytes make the reader fail, nor see more than there is.
func FuzzSightings(f *testing.F) {
	f.Add(appendSighting(nil, link.Up, 1, []byte("abc"), link.Accepted))
	f.Fuzz(func(t *testing.T, b []byte) {
		read := 0
		err := tell(b, func(_ link.Direction, _ int64, _ int, head []byte, _ link.Verdict) { read += sightingHead + len(head) })
		if read > len(b) || (err == nil) != (read == len(b)) {
			t.Fatalf("%d of %d bytes read, %v", read, len(b), err)
		}
	})
}
