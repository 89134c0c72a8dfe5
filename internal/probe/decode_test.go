package probe

import (
	"bufio"
	"net"
	"strings"
	"testing"
	"time"
)

func TestReadClaims(t *testing.T) {
	packet := []byte("\x20\x1d\x00\x00\x1a\x11\x00\x00\x0e\x10\x21\x00\x14\x24\x01\x25\x00\x27\x00\x00\x13\x88\x2a\x00\x13\x00\x1e\x29\x01\x22\x00")
	packet = append(packet, 0x0a)
	packet[1], packet[4] = byte(len(packet)-2), byte(len(packet)-5)
	c, err := readClaims(packet)
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]struct {
		got  *uint32
		want uint32
	}{
		"session expiry": {c.sessionExpiry, 3600}, "receive maximum": {c.receiveMaximum, 20}, "maximum QoS": {c.maxQoS, 1},
		"retain": {c.retain, 0}, "maximum packet": {c.maxPacket, 5000}, "shared": {c.shared, 0}, "keep-alive": {c.keepAlive, 30},
	} {
		if v.got == nil || *v.got != v.want {
			t.Errorf("%s: %v, want %d", name, v.got, v.want)
		}
	}
	if c.wildcards != nil {
		t.Errorf("wildcards: %d, which was not said", *c.wildcards)
	}
}

func FuzzReadClaims(f *testing.F) {
	f.Add([]byte("\x20\x03\x00\x00\x00"))
	f.Add([]byte("\x20\x06\x00\x00\x03\x21\x00\x14"))
	f.Add([]byte("\x20\x0b\x00\x00\x08\x26\x00\x01a\x00\x01b\x00"))
	f.Fuzz(func(t *testing.T, packet []byte) {
		if c, err := readClaims(packet); err == nil && len(packet) < 9 && c.sessionExpiry != nil {
			t.Errorf("%x has no room for a session expiry", packet)
		}
	})
}

// fake is a connection on which the peer has said all that it will say.
type fake struct{ net.Conn }

func (fake) SetReadDeadline(time.Time) error  { return nil }
func (fake) SetWriteDeadline(time.Time) error { return nil }
func (fake) Write(b []byte) (int, error)      { return len(b), nil }

func FuzzRedisReply(f *testing.F) {
	for _, reply := range []string{"+OK\r\n", ":7\r\n", "-ERR no\r\n", "$3\r\nabc\r\n", "*2\r\n$-1\r\n*1\r\n:1\r\n", "$99999999\r\n", "*-1\r\n"} {
		f.Add([]byte(reply))
	}
	f.Fuzz(func(t *testing.T, said []byte) {
		w := &redisWire{ctx: t.Context(), nc: fake{}, in: bufio.NewReader(strings.NewReader(string(said)))}
		if v, err := w.reply(); err == nil && len(v) > len(said) {
			t.Errorf("%d values in %d bytes", len(v), len(said))
		}
	})
}

func FuzzNATSWire(f *testing.F) {
	for _, said := range []string{"PONG\r\n", "-ERR 'x'\r\nPONG\r\n", "HMSG a 1 14 14\r\nNATS/1.0 503\r\n\r\nPONG\r\n", "MSG a 1 99999999999\r\n", "MSG\r\n"} {
		f.Add([]byte(said))
	}
	f.Fuzz(func(t *testing.T, said []byte) {
		w := &natsWire{ctx: t.Context(), nc: fake{}, in: bufio.NewReader(strings.NewReader(string(said)))}
		if lonely, err := w.sync(time.Second); err == nil && lonely && !strings.Contains(string(said), "503") {
			t.Errorf("%q has no 503", said)
		}
	})
}
