package mqtt

import (
	"testing"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/prototest"
)

// feed presents in to s and returns what it reported; an error ends the test.
func feed(t testing.TB, s proto.Session, in, out []byte) (proto.Event, []byte) {
	t.Helper()
	var ev proto.Event
	_, out, err := s.Feed(0, in, out, &ev)
	if err != nil {
		t.Fatal(err)
	}
	return ev, out
}

// all presents in to s until it is consumed and nothing more is reported.
func all(s proto.Session, in []byte) (events []proto.Event, out []byte, err error) {
	events, out, _, err = prototest.Feed(s, in)
	return events, out, err
}

// Answers to CONNECT.
var (
	accepted311 = []byte{0x20, 2, 0, 0}
	accepted5   = []byte{0x20, 3, 0, 0, 0}
)

// dial returns a client that was accepted; properties go into the CONNACK of MQTT 5.
func dial(t testing.TB, cfg Config, properties ...byte) *Client {
	t.Helper()
	c := NewClient(&cfg, "id")
	reopen(t, c, false, properties...)
	return c
}

// reopen connects c anew and returns what it sent and reported at once.
func reopen(t testing.TB, c *Client, present bool, properties ...byte) (events []proto.Event, out []byte) {
	t.Helper()
	c.Open(0, nil)
	connack := []byte{0x20, 2, 0, 0}
	if c.version == V5 {
		connack = append([]byte{0x20, byte(3 + len(properties)), 0, 0, byte(len(properties))}, properties...)
	}
	if present {
		connack[2] = 1
	}
	events, out, err := all(c, connack)
	if err != nil || len(events) == 0 || events[0].Kind != proto.Ready || events[0].Resumed != present {
		t.Fatalf("not accepted: %+v, %v", events, err)
	}
	return events[1:], out
}

// publish encodes a message and fails the test if that is refused.
func publish(t testing.TB, p proto.Publisher, token uint64, qos uint8, again bool) []byte {
	t.Helper()
	out, err := p.Publish(&proto.Message{Token: token, Topic: []byte("t"), Payload: []byte("p"), QoS: qos, Redelivered: again}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// says wants an error with words.
var says = prototest.Says

// wantBytes compares what was sent.
func wantBytes(t *testing.T, got []byte, want ...byte) {
	t.Helper()
	if string(got) != string(want) {
		t.Errorf("sent % x\nwant % x", got, want)
	}
}

// line is a client and a server with bytes in transit between them.
type line struct {
	t        testing.TB
	c        *Client
	s        *Server
	up, down []byte
	atClient func(*proto.Event)
	atServer func(*proto.Event)
}

func newLine(t testing.TB, cfg *Config, scfg *ServerConfig) *line {
	l := &line{t: t, c: NewClient(cfg, "id"), s: NewServer(scfg)}
	l.atClient, l.atServer = func(*proto.Event) {}, func(*proto.Event) {}
	return l
}

// open starts a connection; whatever was in transit is lost.
func (l *line) open() {
	l.up, l.down = l.c.Open(0, nil), l.s.Open(0, nil)
}

// carry moves up to n bytes in one direction and lets the receiver consume what it can. It tells whether anything happened.
func (l *line) carry(s proto.Session, in, back *[]byte, n int, report func(*proto.Event)) bool {
	l.t.Helper()
	window := (*in)[:min(n, len(*in))]
	used, happened := 0, false
	for {
		var ev proto.Event
		k, out, err := s.Feed(0, window[used:], *back, &ev)
		if err != nil {
			l.t.Fatal(err)
		}
		*back = out
		used += k
		if k == 0 && ev.Kind == proto.None {
			break
		}
		happened = true
		report(&ev)
	}
	*in = (*in)[used:]
	return happened
}

// flush carries bytes until both sides are quiet.
func (l *line) flush() {
	l.t.Helper()
	for l.carry(l.s, &l.up, &l.down, len(l.up), l.atServer) || l.carry(l.c, &l.down, &l.up, len(l.down), l.atClient) {
	}
	if len(l.up) > 0 || len(l.down) > 0 {
		l.t.Fatalf("undigested: % x to the server, % x to the client", l.up, l.down)
	}
}
