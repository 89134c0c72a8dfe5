package mqtt

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mqlab/mqlab/internal/proto"
)

// serve returns a server whose client has connected with the first bytes of cfg.
func serve(t *testing.T, cfg Config, scfg ServerConfig) *Server {
	t.Helper()
	s := NewServer(&scfg)
	s.Open(0, nil)
	events, _, err := all(s, NewClient(&cfg, "id").Open(0, nil))
	if err != nil || len(events) != 1 || events[0].Kind != proto.Ready {
		t.Fatalf("%+v, %v", events, err)
	}
	return s
}

func TestServerLimits(t *testing.T) {
	scfg := &ServerConfig{
		AssignedID: "given", ReceiveMaximum: 3, MaxPacketBytes: 50, KeepAlive: 7 * time.Second,
		LimitQoS: true, MaxQoS: 1, NoRetain: true, NoShared: true,
	}
	l := &line{t: t, c: NewClient(&Config{Version: V5, KeepAlive: time.Minute}, ""), s: NewServer(scfg)}
	l.atClient, l.atServer = func(*proto.Event) {}, func(*proto.Event) {}
	l.open()
	l.flush()
	c := l.c
	if c.ID() != "given" || c.Room(1) != 3 || c.maxBytes != 50 || c.keepAlive != 7 || c.maxQoS != 1 || !c.noRetain || !c.noShared {
		t.Errorf("the client learned %+v", c)
	}
	if l.s.Client().ID != "given" || l.s.Client().KeepAlive != 7*time.Second {
		t.Errorf("the server remembers %+v", l.s.Client())
	}
}

func TestServerRefuses(t *testing.T) {
	for _, version := range []byte{V311, V5} {
		code := map[byte]byte{V311: 5, V5: 0x87}[version]
		l := newLine(t, &Config{Version: version, User: "eve"}, &ServerConfig{Accept: func(c *Connect) (byte, string) {
			if c.User == "eve" {
				return code, "not you"
			}
			return 0, ""
		}})
		var closed error
		l.atServer = func(ev *proto.Event) { closed = ev.Err }
		l.open()
		l.carry(l.s, &l.up, &l.down, len(l.up), l.atServer)
		says(t, closed, "client refused: not authorized")
		_, _, err := all(l.c, l.down)
		says(t, err, fmt.Sprintf("broker refused the connection: not authorized (0x%02X)", code))
		if version == V5 {
			says(t, err, `"not you"`)
		}
	}
	events, out, err := all(NewServer(new(ServerConfig)), []byte("\x10\x11\x00\x06MQIsdp\x03\x02\x00\x3c\x00\x03abc"))
	if err != nil || len(events) != 1 || events[0].Kind != proto.Closed {
		t.Fatalf("%+v, %v", events, err)
	}
	says(t, events[0].Err, "protocol version 3")
	wantBytes(t, out, 0x20, 2, 0, 1)
}

// TestServerSubscriptions: one SUBSCRIBE of several filters is several events and one answer.
func TestServerSubscriptions(t *testing.T) {
	s := serve(t, Config{Version: V5}, ServerConfig{Grant: func(filter string, qos uint8) byte {
		if strings.HasPrefix(filter, "secret") {
			return 0x87
		}
		return min(qos, 1)
	}})
	events, out, err := all(s, []byte("\x82\x16\x00\x07\x00\x00\x01a\x02\x00\x06secret\x01\x00\x03b/#\x00"))
	if err != nil || len(events) != 3 {
		t.Fatalf("%+v, %v", events, err)
	}
	wantBytes(t, out, 0x90, 6, 0, 7, 0, 1, 0x87, 0)
	for i, want := range []string{"a 1 1 false", "secret 0 0 true", "b/# 0 2 false"} {
		ev := events[i]
		if got := fmt.Sprintf("%s %d %d %v", ev.Topic, ev.QoS, ev.Token, ev.Err != nil); got != want || ev.Kind != proto.Subscribed {
			t.Errorf("%s, want %s", got, want)
		}
	}
	events, _, _ = all(s, []byte("\x82\x07\x00\x07\x00\x00\x01a\x00"))
	if len(events) != 1 || events[0].Token != 1 {
		t.Errorf("the same filter again: %+v", events)
	}
	events, out, err = all(s, []byte("\xa2\x0e\x00\x08\x00\x00\x03b/#\x00\x01x\x00\x01a"))
	if err != nil || len(events) != 3 || cmp.Diff(tokens(events), []uint64{2, 0, 1}) != "" {
		t.Fatalf("%+v, %v", events, err)
	}
	wantBytes(t, out, 0xB0, 6, 0, 8, 0, 0, 0x11, 0)

	s = serve(t, Config{Version: V311}, ServerConfig{})
	if _, out, _ = all(s, []byte("\xa2\x05\x00\x08\x00\x01a")); string(out) != "\xb0\x02\x00\x08" {
		t.Errorf("UNSUBACK of 3.1.1: % x", out)
	}
}

func TestServerVerdict(t *testing.T) {
	s := serve(t, Config{Version: V5}, ServerConfig{Verdict: func(topic []byte, qos uint8) byte {
		return map[string]byte{"deaf": 0x10, "full": 0x97}[string(topic)]
	}})
	for _, tt := range []struct {
		in, answer string
		kind       proto.Kind
	}{
		{"\x32\x06\x00\x01t\x00\x01\x00", "\x40\x02\x00\x01", proto.Delivered},
		{"\x32\x09\x00\x04deaf\x00\x01\x00", "\x40\x03\x00\x01\x10", proto.Delivered},
		{"\x32\x09\x00\x04full\x00\x01\x00", "\x40\x03\x00\x01\x97", proto.None},
		{"\x34\x09\x00\x04full\x00\x01\x00", "\x50\x03\x00\x01\x97", proto.None},
		{"\x34\x09\x00\x04deaf\x00\x01\x00", "\x50\x03\x00\x01\x10", proto.Delivered},
		{"\x62\x02\x00\x01", "\x70\x02\x00\x01", proto.None},
		{"\xc0\x00", "\xd0\x00", proto.None},
	} {
		ev, out := feed(t, s, []byte(tt.in), nil)
		if ev.Kind != tt.kind || string(out) != tt.answer {
			t.Errorf("% x: event of kind %d, answer % x", tt.in, ev.Kind, out)
		}
	}
	s = serve(t, Config{Version: V5}, ServerConfig{HoldAcks: true})
	if ev, out := feed(t, s, []byte("\x32\x06\x00\x01t\x00\x01\x00"), nil); ev.Kind != proto.Delivered || len(out) != 0 {
		t.Errorf("held: event of kind %d, answer % x", ev.Kind, out)
	}
}

// TestServerVerdictOnRepetition: what was taken once is not refused when it comes again.
func TestServerVerdictOnRepetition(t *testing.T) {
	var verdict byte
	s := serve(t, Config{Version: V5}, ServerConfig{Verdict: func([]byte, uint8) byte { return verdict }})
	feed(t, s, []byte("\x34\x06\x00\x01t\x00\x01\x00"), nil)
	verdict = 0x97
	ev, out := feed(t, s, []byte("\x3c\x06\x00\x01t\x00\x01\x00"), nil)
	wantBytes(t, out, 0x50, 2, 0, 1)
	if ev.Kind != proto.None {
		t.Errorf("%+v", ev)
	}
}

// TestServerCleanStart: a client that wants no old session gets none.
func TestServerCleanStart(t *testing.T) {
	s := serve(t, Config{Version: V5, SessionExpiry: time.Hour}, ServerConfig{})
	publish(t, s, 1, 1, false)
	message := []byte("\x34\x06\x00\x01t\x00\x01\x00")
	feed(t, s, message, nil)
	s.Open(0, nil)
	events, out, err := all(s, NewClient(&Config{Version: V5, CleanStart: true}, "id").Open(0, nil))
	if err != nil || len(events) != 1 || events[0].Resumed || out[2] != 0 || s.InFlight() != 0 {
		t.Errorf("%+v, CONNACK % x, %d in flight, %v", events, out, s.InFlight(), err)
	}
	if ev, _ := feed(t, s, message, nil); ev.Kind != proto.Delivered {
		t.Error("an identifier of the old session hides a message of the new one")
	}
}

// TestServerViolations: each breach by a client is an error in words.
func TestServerViolations(t *testing.T) {
	tests := []struct{ versions, in, want string }{
		{"45", "\x10\x00", "malformed CONNECT|second CONNECT"},
		{"45", "\x20\x00", "unexpected CONNACK"},
		{"45", "\x90\x00", "unexpected SUBACK"},
		{"45", "\x80\x00", "reserved bits of a SUBSCRIBE"},
		{"45", "\xa0\x00", "reserved bits of a UNSUBSCRIBE"},
		{"45", "\xc0\x01\x00", "malformed PINGREQ"},
		{"4", "\x82\x02\x00\x01", "no topic filter"},
		{"5", "\x82\x03\x00\x01\x00", "no topic filter"},
		{"4", "\x82\x06\x00\x00\x00\x01a\x00", "identifier is 0"},
		{"4", "\x82\x06\x00\x01\x00\x01a\x03", "options are 0x03"},
		{"4", "\x82\x06\x00\x01\x00\x01a\x04", "options are 0x04"},
		{"5", "\x82\x07\x00\x01\x00\x00\x01a\x30", "options are 0x30"},
		{"4", "\x82\x05\x00\x01\x00\x01a", "malformed SUBSCRIBE|beyond"},
		{"4", "\x82\x07\x00\x01\x00\x02a#\x00", "wildcard must be a whole level"},
		{"5", "\x82\x09\x00\x01\x02\x0b\x01\x00\x01a\x00", "subscription identifier"},
		{"4", "\xa2\x04\x00\x01\x00\x09", "malformed UNSUBSCRIBE|beyond"},
		{"45", "\x40\x02\x00\x09", "PUBACK confirms packet identifier 9"},
		{"5", "\x34\x06\x00\x01t\x00\x01\x00", "QoS 2 where at most 1 is accepted"},
		{"5", "\x31\x04\x00\x01t\x00", "retained message where none"},
		{"45", "\xe0\x00\xc0\x00", "PINGREQ follows the end"},
		{"5", "\xf0\x00", "AUTH from the client"},
		{"4", "\xe0\x01\x00", "malformed DISCONNECT"},
	}
	for _, tt := range tests {
		for _, v := range tt.versions {
			s := serve(t, Config{Version: byte(v - '0')}, ServerConfig{LimitQoS: true, MaxQoS: 1, NoRetain: true})
			_, _, err := all(s, []byte(tt.in))
			if strings.HasPrefix(tt.want, "malformed CONNECT|") {
				says(t, err, "second CONNECT")
				continue
			}
			says(t, err, tt.want)
		}
	}
}

func TestConnectViolations(t *testing.T) {
	for in, want := range map[string]string{
		"\x10\x02\x00\x00": "beyond the packet",
		"\x10\x0c\x00\x04MQTX\x04\x02\x00\x00\x00\x00":                  "protocol is called \"MQTX\"",
		"\x10\x0e\x00\x06MQIsdp\x04\x02\x00\x00\x00\x00":                "version 4 of a protocol called",
		"\x10\x0c\x00\x04MQTT\x04\x03\x00\x00\x00\x00":                  "reserved flag",
		"\x10\x0c\x00\x04MQTT\x04\x0a\x00\x00\x00\x00":                  "flags of a will but no will",
		"\x10\x0c\x00\x04MQTT\x04\x1e\x00\x00\x00\x00":                  "will has QoS 3",
		"\x10\x0e\x00\x04MQTT\x04\x42\x00\x00\x00\x00\x00\x00":          "password without a user name",
		"\x10\x0d\x00\x04MQTT\x04\x02\x00\x00\x00\x01\xff":              "not valid UTF-8",
		"\x10\x0d\x00\x04MQTT\x04\x02\x00\x00\x00\x00\x00":              "left behind",
		"\x10\x11\x00\x04MQTT\x04\x06\x00\x00\x00\x00\x00\x01#\x00\x00": "will|wildcard",
		"\x10\x0d\x00\x04MQTT\x05\x02\x00\x00\x01\x21\x00":              "beyond the packet",
		"\xc0\x00": "begins with 0xc0 where 0x10 belongs",
	} {
		_, _, err := all(NewServer(new(ServerConfig)), []byte(in))
		says(t, err, want)
	}
}

func TestServerGoodbye(t *testing.T) {
	wantBytes(t, serve(t, Config{Version: V5}, ServerConfig{}).Close(nil), 0xE0, 1, 0x8B)
	wantBytes(t, serve(t, Config{Version: V311}, ServerConfig{}).Close(nil))
	for in, want := range map[string]string{"\xe0\x00": "", "\xe0\x01\x04": "", "\xe0\x01\x81": "client closed the connection: malformed packet (0x81)"} {
		ev, _ := feed(t, serve(t, Config{Version: V5}, ServerConfig{}), []byte(in), nil)
		if ev.Kind != proto.Closed || (want == "") != (ev.Err == nil) {
			t.Errorf("% x: %+v", in, ev)
		} else if want != "" {
			says(t, ev.Err, want)
		}
	}
}

// TestServerDelivers: the receive maximum of the client bounds our deliveries.
func TestServerDelivers(t *testing.T) {
	l := newLine(t, &Config{Version: V5, ReceiveMaximum: 2, MaxPacketBytes: 30, HoldAcks: true}, new(ServerConfig))
	l.open()
	l.flush()
	if l.s.Room(1) != 2 || l.s.Room(2) != 2 {
		t.Errorf("room for %d", l.s.Room(1))
	}
	l.down = append(l.down, publish(t, l.s, 1, 1, false)...)
	l.down = append(l.down, publish(t, l.s, 2, 2, false)...)
	if _, err := l.s.Publish(&proto.Message{Topic: []byte("t"), QoS: 1}, nil); err != ErrNoRoom {
		t.Errorf("beyond the receive maximum: %v", err)
	}
	_, err := l.s.Publish(&proto.Message{Topic: []byte("t"), Payload: make([]byte, 26)}, nil)
	says(t, err, "packet of 32 bytes exceeds the client's limit of 30 bytes")
	delivered := 0
	l.atClient = func(*proto.Event) { delivered++ }
	l.flush()
	if delivered != 2 || l.s.InFlight() != 2 {
		t.Errorf("%d delivered, %d in flight", delivered, l.s.InFlight())
	}
}
