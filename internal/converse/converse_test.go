package converse

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
)

// parrot is a session whose units are a length and a text. A text is delivered and answered by its first letter, but for "ready", "no"
// (refused) and "bye".
type parrot struct{ proto.Client }

func (parrot) Open(_ int64, out []byte) []byte { return append(out, "hello"...) }

func (parrot) Close(out []byte) []byte { return append(out, "goodbye"...) }

func (parrot) Tick(_ int64, out []byte) (int64, []byte, error) { return 0, append(out, '.'), nil }

func (parrot) Feed(_ int64, in, out []byte, ev *proto.Event) (int, []byte, error) {
	*ev = proto.Event{}
	if len(in) < 4 || len(in)-4 < int(binary.BigEndian.Uint32(in)) {
		return 0, out, nil
	}
	text := in[4 : 4+binary.BigEndian.Uint32(in)]
	switch string(text) {
	case "ready":
		ev.Kind = proto.Ready
	case "no":
		ev.Kind, ev.Err = proto.Subscribed, errors.New("not allowed")
	case "bye":
		ev.Kind, ev.Err = proto.Closed, errors.New("shutting down")
	case "nonsense":
		return 0, out, errors.New("malformed")
	default:
		ev.Kind, ev.Payload = proto.Delivered, text
		out = append(out, text[0])
	}
	return 4 + len(text), out, nil
}

func units(texts ...string) (b []byte) {
	for _, t := range texts {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(t))), t...)
	}
	return b
}

// converse runs f with a conversation whose peer sends these pieces and then closes, and returns what the peer got.
func converse(t *testing.T, every time.Duration, pieces [][]byte, f func(c *Conversation)) string {
	t.Helper()
	near, far := net.Pipe()
	heard := make(chan string)
	go func() {
		b, _ := io.ReadAll(far)
		heard <- string(b)
	}()
	go func() {
		for _, p := range pieces {
			if _, err := far.Write(p); err != nil {
				return
			}
		}
	}()
	f(&Conversation{Conn: near, Session: parrot{}, Every: every})
	_ = near.Close()
	return <-heard
}

// TestNext: events come in order and whole however the bytes are cut and however long a unit is, and each is answered.
func TestNext(t *testing.T) {
	long := strings.Repeat("x", 5*firstRead)
	want := []string{"a", "bc", long, "d"}
	all := units(append([]string{"ready"}, want...)...)
	for _, size := range []int{1, 3, 1000, len(all)} {
		var pieces [][]byte
		for b := range slices.Chunk(all, size) {
			pieces = append(pieces, b)
		}
		heard := converse(t, 0, pieces, func(c *Conversation) {
			if err := c.Open(); err != nil {
				t.Fatal(err)
			}
			for _, w := range want {
				if ev, err := c.Next(); err != nil || ev.Kind != proto.Delivered || string(ev.Payload) != w {
					t.Fatalf("pieces of %d: %v, %.10q…, want %.10q", size, err, ev.Payload, w)
				}
			}
			if err := c.Goodbye(); err != nil {
				t.Error(err)
			}
		})
		if heard != "helloabxdgoodbye" {
			t.Errorf("pieces of %d: the peer heard %q", size, heard)
		}
	}
}

// TestGreeting: bytes that came before the session are its first.
func TestGreeting(t *testing.T) {
	converse(t, 0, nil, func(c *Conversation) {
		c.In = units("ready", "more")
		if err := c.Open(); err != nil || !bytes.Equal(c.In, units("more")) {
			t.Errorf("%v; left %q", err, c.In)
		}
	})
}

// TestEnds: what the peer refuses, its goodbye, its end in the middle of a unit and its nonsense are errors.
func TestEnds(t *testing.T) {
	for text, want := range map[string]string{"no": "refused: not allowed", "bye": "shutting down", "nonsense": "malformed"} {
		converse(t, 0, [][]byte{units("pass", text)}, func(c *Conversation) {
			if err := c.Open(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", text, err, want)
			}
		})
	}
	near, far := net.Pipe()
	go func() {
		_, _ = io.CopyN(io.Discard, far, int64(len("hello")))
		_, _ = far.Write(units("ready")[:6])
		_ = far.Close()
	}()
	if err := (&Conversation{Conn: near, Session: parrot{}}).Open(); !errors.Is(err, io.EOF) {
		t.Errorf("end in the middle: %v", err)
	}
}

// TestTimers: while the peer is silent the session is asked for what is due, every so often, and what it says is sent; without timers the
// connection's deadline ends the wait, and the conversation goes on after it.
func TestTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heard := converse(t, time.Second, nil, func(c *Conversation) {
			go func() {
				time.Sleep(3500 * time.Millisecond)
				_ = c.Conn.Close()
			}()
			if _, err := c.Next(); err == nil {
				t.Error("a closed connection is no error")
			}
		})
		if heard != "...." {
			t.Errorf("heard %q, want a sign of life at the begin and after each second", heard)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		c := &Conversation{Conn: near, Session: parrot{}}
		_ = near.SetReadDeadline(time.Now().Add(time.Second))
		if _, err := c.Next(); err == nil {
			t.Error("nothing came, and there is an event")
		}
		_ = near.SetReadDeadline(time.Time{})
		go func() { _, _ = far.Write(units("late")) }()
		if ev, err := c.Next(); err != nil || string(ev.Payload) != "late" {
			t.Errorf("after a deadline: %v", err)
		}
	})
}
