package mqtt

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mqlab/mqlab/internal/proto"
)

func TestConnectBytes(t *testing.T) {
	c := NewClient(&Config{Version: V311, CleanStart: true, KeepAlive: 60 * time.Second}, "id")
	wantBytes(t, c.Open(0, nil), 0x10, 14, 0, 4, 'M', 'Q', 'T', 'T', 4, 2, 0, 60, 0, 2, 'i', 'd')

	c = NewClient(&Config{
		Version: V5, User: "u", Password: []byte("p"), SessionExpiry: time.Second, ReceiveMaximum: 258, MaxPacketBytes: 70000,
		Will: &Will{Topic: "w", Payload: []byte("x"), QoS: 2, Retain: true}, KeepAlive: 1500 * time.Millisecond,
	}, "")
	wantBytes(t, c.Open(0, nil), 0x10, 39, 0, 4, 'M', 'Q', 'T', 'T', 5, 0xF4, 0, 2,
		13, 0x11, 0, 0, 0, 1, 0x21, 1, 2, 0x27, 0, 1, 0x11, 0x70,
		0, 0, 0, 0, 1, 'w', 0, 1, 'x', 0, 1, 'u', 0, 1, 'p')
}

// TestConnectUnderstood: what a client says of itself is what the server hears.
func TestConnectUnderstood(t *testing.T) {
	for _, version := range []byte{V311, V5} {
		cfg := &Config{
			Version: version, CleanStart: true, KeepAlive: 9 * time.Second, User: "ü", Password: []byte{0, 255},
			Will: &Will{Topic: "last/words", Payload: []byte("bye"), QoS: 1, Retain: true},
		}
		want := &Connect{
			Version: version, ID: "id", User: "ü", Password: []byte{0, 255}, CleanStart: true, KeepAlive: 9 * time.Second, Will: cfg.Will,
		}
		if version == V5 {
			cfg.SessionExpiry, cfg.ReceiveMaximum, cfg.MaxPacketBytes = time.Hour, 7, 1000
			want.SessionExpiry, want.ReceiveMaximum, want.MaxPacketBytes = time.Hour, 7, 1000
		}
		if err := cfg.Validate(); err != nil {
			t.Error(err)
		}
		l := newLine(t, cfg, new(ServerConfig))
		l.open()
		l.flush()
		if diff := cmp.Diff(want, l.s.Client()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestValidate(t *testing.T) {
	bad := map[string]Config{
		"version 3":          {Version: 3},
		"keep-alive":         {Version: 4, KeepAlive: 70000 * time.Second},
		"expiry":             {Version: 5, SessionExpiry: -1},
		"window":             {Version: 5, Window: 65536},
		"receive maximum -1": {Version: 5, ReceiveMaximum: -1},
		"packet size":        {Version: 5, MaxPacketBytes: math.MaxInt32},
		"retain handling":    {Version: 5, RetainHandling: 3},
		"65535 bytes":        {Version: 5, User: strings.Repeat("x", 65536)},
		"without a user":     {Version: 4, Password: []byte("x")},
		"wildcard":           {Version: 5, Will: &Will{Topic: "#"}},
		"QoS 3":              {Version: 5, Will: &Will{Topic: "x", QoS: 3}},
		"payload of 65536":   {Version: 5, Will: &Will{Topic: "x", Payload: make([]byte, 65536)}},
	}
	for words, cfg := range bad {
		says(t, cfg.Validate(), words)
	}
}

func TestRefusedConnection(t *testing.T) {
	tests := []struct {
		version byte
		in      string
		want    string
	}{
		{V311, "\x20\x02\x00\x01", "mqtt: broker refused the connection: unacceptable protocol version (0x01)"},
		{V311, "\x20\x02\x00\x02", "client identifier rejected (0x02)"},
		{V311, "\x20\x02\x00\x03", "server unavailable (0x03)"},
		{V311, "\x20\x02\x00\x04", "bad user name or password (0x04)"},
		{V311, "\x20\x02\x00\x05", "not authorized (0x05)"},
		{V311, "\x20\x02\x00\x09", "unknown return code (0x09)"},
		{V5, "\x20\x03\x00\x86\x00", "mqtt: broker refused the connection: bad user name or password (0x86)"},
		{V5, "\x20\x09\x00\x87\x06\x1f\x00\x03why", `not authorized (0x87): "why"`},
		{V5, "\x20\x0a\x00\x9c\x07\x1c\x00\x04b:18", `use another server (0x9C): "b:18"`},
		{V5, "\x20\x02\x00\x01", "unacceptable protocol version (0x01)"},
		{V5, "\x20\x02\x00\x00", "answered MQTT 5 with the CONNACK of 3.1.1"},
	}
	for _, tt := range tests {
		c := NewClient(&Config{Version: tt.version}, "id")
		c.Open(0, nil)
		_, _, err := all(c, []byte(tt.in))
		says(t, err, tt.want)
		var reason *ReasonError
		if last := tt.in[3]; last != 0 && (!errors.As(err, &reason) || reason.Code != last) {
			t.Errorf("% x: no ReasonError with the code: %v", tt.in, err)
		}
	}
}

func TestForeignPeers(t *testing.T) {
	for in, want := range map[string]string{
		"\x15\x03\x03\x00\x02\x02\x28":   "does not speak MQTT: looks like TLS",
		"HTTP/1.1 400 Bad Request\r\n":   "does not speak MQTT: looks like HTTP",
		"INFO {\"server_id\":\"x\"}\r\n": "looks like NATS",
		"AMQP\x00\x00\x09\x01":           "looks like AMQP",
		"-ERR unknown command":           "looks like Redis",
		"SSH-2.0-x":                      "looks like SSH",
		"hello":                          "begins with 0x68 where 0x20 belongs",
		"\x30\x02":                       "begins with 0x30",
	} {
		c := NewClient(&Config{Version: V5}, "id")
		c.Open(0, nil)
		_, _, err := all(c, []byte(in))
		says(t, err, want)
	}
	c := NewClient(&Config{Version: V5}, "id")
	c.Open(0, nil)
	if _, _, err := all(c, []byte("HT")); err != nil {
		t.Errorf("two bytes are judged too early: %v", err)
	}
	_, _, err := all(NewServer(new(ServerConfig)), []byte("\x16\x03\x01\x02\x00\x01"))
	says(t, err, "looks like TLS")
}

// A broker that is overloaded may say goodbye instead of CONNACK, which is a refusal.
func TestTurnedAway(t *testing.T) {
	for in, want := range map[string]struct {
		words     string
		temporary bool
	}{
		"\xe0\x00":                        {"broker refused the connection: it disconnects before it has accepted", true},
		"\xe0\x01\x04":                    {"it disconnects before it has accepted", true},
		"\xe0\x01\x89":                    {"broker refused the connection: server busy (0x89)", true},
		"\xe0\x08\x97\x06\x1f\x00\x03mem": {"broker refused the connection: quota exceeded (0x97): \"mem\"", false},
		"\xe0\x02\x89\x05":                {"malformed DISCONNECT", false},
		"\xe1\x00":                        {"begins with 0xe1", false},
	} {
		for _, version := range []byte{V311, V5} {
			c := NewClient(&Config{Version: version}, "id")
			c.Open(0, nil)
			_, _, err := all(c, []byte(in))
			says(t, err, want.words)
			var reason *ReasonError
			if temporary := errors.As(err, &reason) && reason.Temporary(); temporary != want.temporary {
				t.Errorf("% x: temporary %v", in, temporary)
			}
		}
	}
	c := NewClient(&Config{Version: V5}, "id")
	c.Open(0, nil)
	if _, _, err := all(c, []byte("\xe0")); err != nil {
		t.Errorf("one byte is judged too early: %v", err)
	}
}

// violations are what a broker must not send; versions are those in which it is wrong. Packet identifier 1 is a QoS 1
// message of ours, 2 of QoS 2, 3 a SUBSCRIBE.
var violations = []struct{ versions, in, want string }{
	{"45", "\x30\x80\x80\x80\x80\x01", "remaining length"},
	{"45", "\x30\x80\x80\x80\x7f", "PUBLISH of|larger than the 100000 bytes allowed"},
	{"45", "\x00\x00", "unexpected packet of type 0"},
	{"45", "\x10\x00", "unexpected CONNECT"},
	{"45", "\x82\x00", "unexpected SUBSCRIBE"},
	{"45", "\xc0\x00", "unexpected PINGREQ"},
	{"45", "\x36\x00", "QoS 3"},
	{"45", "\x38\x04\x00\x01tp", "DUP is set on QoS 0"},
	{"45", "\x41\x02\x00\x01", "reserved bits of a PUBACK"},
	{"45", "\x60\x02\x00\x01", "reserved bits of a PUBREL"},
	{"45", "\x91\x03\x00\x03\x00", "reserved bits of a SUBACK"},
	{"45", "\xd1\x00", "reserved bits of a PINGRESP"},
	{"45", "\x20\x02\x00\x00", "second CONNACK"},
	{"45", "\x30\x01\x00", "malformed PUBLISH|beyond the packet"},
	{"45", "\x30\x03\x00\x02t", "malformed PUBLISH|beyond the packet"},
	{"45", "\x30\x03\x00\x00\x00", "malformed PUBLISH|topic is empty"},
	{"45", "\x30\x04\x00\x01#\x00", "wildcard"},
	{"45", "\x30\x04\x00\x01\x00\x00", "NUL"},
	{"45", "\x30\x04\x00\x01\xff\x00", "UTF-8"},
	{"45", "\x32\x04\x00\x01t\x00", "malformed PUBLISH|beyond the packet"},
	{"45", "\x32\x06\x00\x01t\x00\x00\x00", "packet identifier is 0"},
	{"5", "\x30\x03\x00\x01t", "malformed PUBLISH|beyond the packet"},
	{"5", "\x30\x05\x00\x01t\x05\x01", "malformed PUBLISH|beyond the packet"},
	{"5", "\x30\x07\x00\x01t\x03\x23\x00\x01", "topic alias"},
	{"5", "\x30\x06\x00\x01t\x02\x24\x01", "does not belong"},
	{"45", "\x40\x01\x00", "malformed PUBACK|beyond the packet"},
	{"45", "\x40\x02\x00\x00", "packet identifier is 0"},
	{"45", "\x40\x02\x00\x09", "PUBACK confirms packet identifier 9, which waits for none"},
	{"45", "\x40\x02\x00\x02", "PUBACK confirms packet identifier 2, which waits for none"},
	{"45", "\x40\x02\x00\x03", "PUBACK confirms packet identifier 3"},
	{"45", "\x50\x02\x00\x01", "PUBREC confirms packet identifier 1"},
	{"45", "\x70\x02\x00\x02", "PUBCOMP confirms packet identifier 2"},
	{"4", "\x40\x03\x00\x01\x00", "left behind"},
	{"5", "\x40\x05\x00\x01\x00\x00\x00", "left behind"},
	{"5", "\x40\x05\x00\x01\x00\x05\x1f", "malformed PUBACK|beyond the packet"},
	{"4", "\x90\x02\x00\x03", "malformed SUBACK|beyond the packet"},
	{"4", "\x90\x03\x00\x03\x03", "malformed SUBACK|grants QoS 3"},
	{"4", "\x90\x03\x00\x01\x00", "SUBACK confirms packet identifier 1"},
	{"4", "\x90\x04\x00\x03\x00\x00", "left behind"},
	{"5", "\x90\x03\x00\x03\x00", "malformed SUBACK"},
	{"45", "\xb0\x02\x00\x03", "UNSUBACK|answers nothing"},
	{"45", "\xd0\x00", "answers no PINGREQ"},
	{"45", "\xd0\x01\x00", "malformed PINGRESP"},
	{"5", "\xf0\x00", "AUTH"},
	{"4", "\xe0\x00", "DISCONNECT from a 3.1.1 broker"},
	{"5", "\xe0\x03\x81\x02\x1f", "malformed DISCONNECT|beyond"},
}

// TestViolations: each breach by a broker is an error in words.
func TestViolations(t *testing.T) {
	for _, tt := range violations {
		for _, v := range tt.versions {
			t.Run(fmt.Sprintf("%c/% x", v, tt.in), func(t *testing.T) {
				c := dial(t, Config{Version: byte(v - '0'), MaxPacketBytes: 100_000})
				publish(t, c, 1, 1, false)
				publish(t, c, 2, 2, false)
				if _, err := c.Subscribe(&proto.Subscription{Topic: "x"}, nil); err != nil {
					t.Fatal(err)
				}
				_, _, err := all(c, []byte(tt.in))
				says(t, err, tt.want)
			})
		}
	}
}

func TestConnackViolations(t *testing.T) {
	for in, want := range map[string]string{
		"\x20\x01\x00":                     "malformed CONNACK",
		"\x20\x03\x02\x00\x00":             "flags are 0x02",
		"\x20\x03\x01\x86\x00":             "flags are 0x01",
		"\x20\x03\x01\x00\x00":             "although a clean start was asked for",
		"\x20\x06\x00\x00\x03\x21\x00\x00": "must not be zero",
		"\x20\x05\x00\x00\x02\x24\x02":     "neither 0 nor 1",
		"\x20\x04\x00\x00\x00\x00":         "left behind",
		"\x21\x03\x00\x00\x00":             "does not speak MQTT",
	} {
		c := NewClient(&Config{Version: V5, CleanStart: true}, "id")
		c.Open(0, nil)
		_, _, err := all(c, []byte(in))
		says(t, err, want)
	}
}

func TestClosedByBroker(t *testing.T) {
	for in, want := range map[string]string{
		"\xe0\x00":                          "mqtt: broker closed the connection: normal disconnection (0x00)",
		"\xe0\x01\x8b":                      "mqtt: broker closed the connection: server shutting down (0x8B)",
		"\xe0\x02\x8e\x00":                  "session taken over (0x8E)",
		"\xe0\x0a\x95\x08\x1f\x00\x05large": `packet too large (0x95): "large"`,
	} {
		c := dial(t, Config{Version: V5})
		ev, _ := feed(t, c, []byte(in), nil)
		if ev.Kind != proto.Closed {
			t.Errorf("% x: event of kind %d", in, ev.Kind)
		}
		says(t, ev.Err, want)
		if c.Room(0) != 0 {
			t.Error("there is room after the goodbye")
		}
		_, _, err := all(c, []byte("\xd0\x00"))
		says(t, err, "PINGRESP follows the end of the conversation")
	}
}

func TestPublishBytes(t *testing.T) {
	c := dial(t, Config{Version: V311})
	wantBytes(t, publish(t, c, 0, 0, false), 0x30, 4, 0, 1, 't', 'p')
	wantBytes(t, publish(t, c, 0, 1, false), 0x32, 6, 0, 1, 't', 0, 1, 'p')
	wantBytes(t, publish(t, c, 0, 2, false), 0x34, 6, 0, 1, 't', 0, 2, 'p')
	c = dial(t, Config{Version: V5})
	wantBytes(t, publish(t, c, 0, 0, false), 0x30, 5, 0, 1, 't', 0, 'p')
	wantBytes(t, publish(t, c, 0, 1, false), 0x32, 7, 0, 1, 't', 0, 1, 0, 'p')
	out, err := c.Publish(&proto.Message{Topic: []byte("t"), Retain: true, Payload: make([]byte, 200)}, []byte("before"))
	if err != nil || !bytes.HasPrefix(out, []byte("before\x31\xcc\x01\x00\x01t\x00\x00")) {
		t.Errorf("% x, %v", out, err)
	}
}

// TestLimitsOfTheBroker: Publish refuses what the broker would, leaves the output alone, and the connection lives.
func TestLimitsOfTheBroker(t *testing.T) {
	c := dial(t, Config{Version: V5}, 0x27, 0, 0, 0, 20, 0x24, 1, 0x25, 0, 0x2A, 0)
	for want, m := range map[string]proto.Message{
		"packet of 21 bytes exceeds the broker's limit of 20 bytes": {Topic: []byte("t"), Payload: make([]byte, 15)},
		"accepts messages up to QoS 1, not 2":                       {Topic: []byte("t"), QoS: 2},
		"no QoS 3":                                                  {Topic: []byte("t"), QoS: 3},
		"does not keep retained messages":                           {Topic: []byte("t"), Retain: true},
		"topic is empty":                                            {},
		"longer than 65535":                                         {Topic: make([]byte, 65536)},
	} {
		out, err := c.Publish(&m, []byte("before"))
		says(t, err, want)
		if string(out) != "before" {
			t.Errorf("%s: output changed to %q", want, out)
		}
	}
	var large *TooLargeError
	if _, err := c.Publish(&proto.Message{Topic: []byte("t"), Payload: make([]byte, 15)}, nil); !errors.As(err, &large) ||
		large.Size != 21 || large.Limit != 20 {
		t.Errorf("%v is no TooLargeError", err)
	}
	if _, err := c.Publish(&proto.Message{Topic: []byte("t"), Payload: make([]byte, 14)}, nil); err != nil {
		t.Errorf("a message of exactly the limit: %v", err)
	}
	_, err := c.Subscribe(&proto.Subscription{Topic: "x", Group: "g"}, nil)
	says(t, err, "does not offer shared subscriptions")
	c = dial(t, Config{Version: V5})
	_, err = c.Publish(&proto.Message{Topic: []byte("t"), Payload: make([]byte, maxRemaining)}, nil)
	says(t, err, "larger than an MQTT packet")
}

func TestSubscribeBytes(t *testing.T) {
	c := dial(t, Config{Version: V311})
	out, err := c.Subscribe(&proto.Subscription{Token: 5, Topic: "a/#", QoS: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	wantBytes(t, out, 0x82, 8, 0, 1, 0, 3, 'a', '/', '#', 1)
	ev, _ := feed(t, c, []byte{0x90, 3, 0, 1, 1}, nil)
	if ev.Kind != proto.Subscribed || ev.Token != 5 || ev.QoS != 1 || ev.Err != nil {
		t.Errorf("%+v", ev)
	}
	c = dial(t, Config{Version: V5, NoLocal: true, RetainAsPublished: true, RetainHandling: 2})
	if out, err = c.Subscribe(&proto.Subscription{Topic: "a", QoS: 2}, nil); err != nil {
		t.Fatal(err)
	}
	wantBytes(t, out, 0x82, 7, 0, 1, 0, 0, 1, 'a', 0x2E)
	if out, err = c.Subscribe(&proto.Subscription{Topic: "a", Group: "g"}, nil); err != nil {
		t.Fatal(err)
	}
	wantBytes(t, out, 0x82, 16, 0, 2, 0, 0, 10, '$', 's', 'h', 'a', 'r', 'e', '/', 'g', '/', 'a', 0x28)
	ev, _ = feed(t, c, []byte("\x90\x09\x00\x01\x05\x1f\x00\x02no\x87"), nil)
	if ev.Kind != proto.Subscribed || ev.QoS != 0 {
		t.Errorf("%+v", ev)
	}
	says(t, ev.Err, `mqtt: broker refused the subscription: not authorized (0x87): "no"`)
	for _, filter := range []string{"", "a#", "$share/g"} {
		if _, err := c.Subscribe(&proto.Subscription{Topic: filter}, nil); err == nil {
			t.Errorf("filter %q is sent", filter)
		}
	}
}

func TestNotConnected(t *testing.T) {
	c := NewClient(&Config{Version: V5}, "id")
	check := func(when string) {
		t.Helper()
		if _, err := c.Publish(&proto.Message{Topic: []byte("t")}, nil); err != ErrNotReady {
			t.Errorf("%s: Publish: %v", when, err)
		}
		if _, err := c.Subscribe(&proto.Subscription{Topic: "t"}, nil); err != ErrNotReady {
			t.Errorf("%s: Subscribe: %v", when, err)
		}
		if c.Room(0) != 0 || c.Room(1) != 0 {
			t.Errorf("%s: there is room", when)
		}
		if out := c.Close(nil); len(out) != 0 {
			t.Errorf("%s: goodbye % x", when, out)
		}
	}
	check("before Open")
	c.Open(0, nil)
	check("before CONNACK")
	reopen(t, c, false)
	wantBytes(t, c.Close(nil), 0xE0, 0)
	check("after the goodbye")
}

func TestAssignedID(t *testing.T) {
	c := NewClient(&Config{Version: V5}, "")
	c.Open(0, nil)
	feed(t, c, []byte("\x20\x09\x00\x00\x06\x12\x00\x03new"), nil)
	if c.ID() != "new" || !bytes.HasSuffix(c.Open(0, nil), []byte("new")) {
		t.Errorf("identifier %q", c.ID())
	}
}
