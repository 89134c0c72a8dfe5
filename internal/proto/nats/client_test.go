package nats

import (
	"math"
	"strings"
	"testing"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/prototest"
)

const greeting = `INFO {"server_id":"A","version":"2.9.10","headers":true,"max_payload":100}` + "\r\n"

// What the tests of all protocols share.
var (
	step = prototest.Step
	says = prototest.Says
)

// connected is a client that a server with the above greeting has accepted.
func connected(t *testing.T, cfg *Config) *Client {
	t.Helper()
	c := NewClient(cfg)
	c.Open(0, nil)
	step(t, c, greeting)
	if ev, _ := step(t, c, "PONG\r\n"); ev.Kind != proto.Ready {
		t.Fatalf("not ready: %+v", ev)
	}
	return c
}

func TestConnect(t *testing.T) {
	c := NewClient(&Config{Name: "n", User: "u", Password: `p"w`, Token: "t"})
	if out := c.Open(0, nil); len(out) > 0 {
		t.Errorf("the client speaks before the server: %q", out)
	}
	if c.Room(0) != 0 {
		t.Error("room before the server accepted")
	}
	ev, out := step(t, c, greeting)
	if ev.Kind != proto.None {
		t.Errorf("event after INFO: %+v", ev)
	}
	want := `CONNECT {"verbose":false,"pedantic":false,"tls_required":false,"user":"u","pass":"p\"w","auth_token":"t",` +
		`"name":"n","lang":"go","version":"mqlab","protocol":1,"echo":true,"headers":true,"no_responders":false}` + "\r\nPING\r\n"
	if out != want {
		t.Errorf("got  %s\nwant %s", out, want)
	}
	if ev, _ := step(t, c, "PONG\r\n"); ev.Kind != proto.Ready {
		t.Errorf("event after PONG: %+v", ev)
	}
	if c.Room(0) < 1<<20 || c.Room(1) < 1<<20 {
		t.Error("no room")
	}
}

func TestFatal(t *testing.T) {
	const hello = greeting + "PONG\r\n"
	for in, want := range map[string]string{
		"HTTP/1.1 400 Bad Request\r\n":        "does not speak NATS: looks like HTTP",
		"HTT":                                 "",
		"INF":                                 "",
		"INFORM":                              "does not speak NATS",
		"\x15\x03\x01":                        "does not speak NATS: looks like TLS",
		"INFO nonsense\r\n":                   "malformed INFO",
		`INFO {"tls_required":true}` + "\r\n": "use tls://",
		greeting + "-ERR 'Authorization Violation'\r\n":          "Authorization Violation: user, password or token",
		greeting + "-ERR 'maximum connections exceeded'\r\n":     "maximum connections exceeded",
		greeting + "-ERR 'Secure Connection - TLS Required'\r\n": "use tls://",
		greeting + "-ERR 'Permissions Violation'\r\n":            "Permissions Violation",
		greeting + "MSG a 1 0\r\n\r\n":                           "unexpected MSG",
		hello + "-ERR 'Maximum Payload Violation'\r\n":           "larger than the server's max_payload",
		hello + "-ERR 'Slow Consumer'\r\n":                       "too slowly",
		hello + "-ERR 'Stale Connection'\r\n":                    "did not answer",
		hello + "-ERR 'Something New'\r\n":                       "Something New",
		hello + "PUB a 0\r\n\r\n":                                "unexpected PUB",
		hello + "WHAT\r\n":                                       `unknown operation "WHAT"`,
		hello + "MSG a 1\r\n":                                    `malformed MSG "a 1"`,
		hello + "MSG a 1 b c d\r\n":                              "malformed MSG",
		hello + "MSG a 1 b c d e f\r\n":                          "malformed MSG",
		hello + "MSG a x 0\r\n":                                  "malformed MSG",
		hello + "MSG a 1 -1\r\n":                                 "malformed MSG",
		hello + "MSG  1 1\r\n":                                   "malformed MSG",
		hello + "MSG a 1 18446744073709551621\r\n":               "malformed MSG", // 2^64 + 5
		hello + "HMSG a 1 5 4\r\n":                               "malformed HMSG",
		hello + "MSG a 1 67108865\r\n":                           "more than the 67108864 bytes",
		hello + "MSG a 1 2\r\nabc\r\n":                           "does not end where it says",
		hello + strings.Repeat("x", maxLine):                     "control line of more than",
	} {
		c := NewClient(&Config{})
		c.Open(0, nil)
		_, _, _, err := prototest.Feed(c, []byte(in))
		says(t, err, want)
	}
}

func TestTLSIsAccepted(t *testing.T) {
	c := NewClient(&Config{TLS: true})
	c.Open(0, nil)
	if _, out := step(t, c, `INFO {"tls_required":true}`+"\r\n"); !strings.Contains(out, `"tls_required":true`) {
		t.Errorf("CONNECT over TLS: %q", out)
	}
}

func TestGreeting(t *testing.T) {
	const line = `INFO {"version":"2.9.10","tls_required":true,"max_payload":7}` + "\r\n"
	for i := range line {
		if n, _, err := Greeting([]byte(line[:i])); n != 0 || err != nil {
			t.Fatalf("after %d bytes: %d, %v", i, n, err)
		}
	}
	n, info, err := Greeting([]byte(line + "PING\r\n"))
	if n != len(line) || err != nil || !info.TLSRequired || info.Version != "2.9.10" || info.MaxPayload != 7 {
		t.Errorf("got %d, %+v, %v", n, info, err)
	}
	if _, _, err := Greeting([]byte("SSH-2.0")); err == nil {
		t.Error("SSH passes for NATS")
	}
}

func TestDelivered(t *testing.T) {
	for _, c := range []struct{ in, topic, payload, headers string }{
		{"MSG a.b 7 5\r\nhello\r\n", "a.b", "hello", ""},
		{"MSG a.b 7 reply.to 5\r\nhello\r\n", "a.b", "hello", ""},
		{"MSG a.b 7 4 5\r\nhello\r\n", "a.b", "hello", ""},
		{"msg\ta.b  7\t5 \r\nhello\r\n", "a.b", "hello", ""},
		{"MSG a 7 0\r\n\r\n", "a", "", ""},
		{"MSG a 7 4\r\n\r\n\r\n\r\n", "a", "\r\n\r\n", ""},
		{"HMSG a 7 12 14\r\nNATS/1.0\r\n\r\nok\r\n", "a", "ok", "NATS/1.0\r\n\r\n"},
		{"HMSG a 7 re 12 12\r\nNATS/1.0\r\n\r\n\r\n", "a", "", "NATS/1.0\r\n\r\n"},
	} {
		cl := connected(t, &Config{})
		ev, _ := step(t, cl, c.in)
		if ev.Kind != proto.Delivered || ev.Token != 7 || string(ev.Topic) != c.topic || string(ev.Payload) != c.payload ||
			string(cl.Headers()) != c.headers {
			t.Errorf("%q: %+v, headers %q", c.in, ev, cl.Headers())
		}
		if n := cl.Need([]byte(c.in)[:strings.IndexByte(c.in, '\n')+1]); n != len(c.in) {
			t.Errorf("%q: Need = %d, want %d", c.in, n, len(c.in))
		}
	}
}

func TestPublish(t *testing.T) {
	headers, err := EncodeHeaders(Header{"A", "b"})
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 101)
	for _, c := range []struct {
		topic, payload string
		qos            uint8
		headers        []byte
		want, err      string
	}{
		{topic: "a", want: "PUB a 0\r\n\r\n"},
		{topic: "a.b-c.d", payload: "hello", want: "PUB a.b-c.d 5\r\nhello\r\n"},
		{topic: "a", payload: long[:100], want: "PUB a 100\r\n" + long[:100] + "\r\n"},
		{topic: "a", payload: "hi", headers: headers, want: "HPUB a 18 20\r\nNATS/1.0\r\nA: b\r\n\r\nhi\r\n"},
		{topic: "a", payload: long, err: "message of 101 bytes is above the limit of 100 bytes"},
		{topic: "a", payload: long[:90], headers: headers, err: "message of 108 bytes"},
		{topic: "a", qos: 1, err: "only QoS 0"},
		{topic: "", err: "empty"},
		{topic: "a..b", err: "empty token"},
		{topic: ".a", err: "empty token"},
		{topic: "a.", err: "empty token"},
		{topic: "a b", err: "blank"},
		{topic: "a\r\nPUB", err: "blank"},
		{topic: "a.*", err: "wildcard"},
		{topic: "*.a", err: "wildcard"},
		{topic: "a.>", err: "wildcard"},
		{topic: "a*.b>", want: "PUB a*.b> 0\r\n\r\n"},
	} {
		cl := connected(t, &Config{Headers: c.headers})
		m := proto.Message{Topic: []byte(c.topic), Payload: []byte(c.payload), QoS: c.qos}
		out, err := cl.Publish(&m, []byte("before"))
		if string(out) != "before"+c.want {
			t.Errorf("%.20q: encoded %q, want %q", c.topic, out, c.want)
		}
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%.20q: error %v, want %q", c.topic, err, c.err)
		}
	}
}

func TestPublishNeedsHeaderSupport(t *testing.T) {
	c := NewClient(&Config{Headers: []byte("NATS/1.0\r\n\r\n")})
	c.Open(0, nil)
	if _, err := c.Publish(&proto.Message{Topic: []byte("a")}, nil); err == nil {
		t.Error("published before the connection was accepted")
	}
	step(t, c, "INFO {}\r\n")
	step(t, c, "PONG\r\n")
	if _, err := c.Publish(&proto.Message{Topic: []byte("a")}, nil); err == nil {
		t.Error("HPUB to a server without headers")
	}
}

func TestServerWithoutLimit(t *testing.T) {
	c := NewClient(&Config{})
	c.Open(0, nil)
	step(t, c, "INFO {}\r\n")
	step(t, c, "PONG\r\n")
	m := proto.Message{Topic: []byte("a"), Payload: make([]byte, maxMessage)}
	if _, err := c.Publish(&m, nil); err != nil {
		t.Error(err)
	}
	m.Payload = append(m.Payload, 0)
	if _, err := c.Publish(&m, nil); err == nil {
		t.Error("published more than a session handles")
	}
}

func TestEncodeHeadersRefuses(t *testing.T) {
	for _, h := range []Header{{"", "x"}, {"a b", "x"}, {"a:", "x"}, {"a", "x\r\ny"}, {"a", "x\n"}} {
		if b, err := EncodeHeaders(h); err == nil {
			t.Errorf("%+v passes as %q", h, b)
		}
	}
}

func TestSubscribeRefusedLocally(t *testing.T) {
	c := connected(t, &Config{})
	for _, s := range []proto.Subscription{
		{Topic: ""},
		{Topic: "a..b"},
		{Topic: "a."},
		{Topic: "a b"},
		{Topic: ">.a"},
		{Topic: "a", Group: "x y"},
		{Topic: "a", QoS: 1},
		{Topic: "a", Token: math.MaxUint64},
	} {
		if out, err := c.Subscribe(&s, nil); err == nil || len(out) > 0 {
			t.Errorf("%+v passes: %q", s, out)
		}
	}
	fresh := NewClient(&Config{})
	if _, err := fresh.Subscribe(&proto.Subscription{Topic: "a"}, nil); err == nil {
		t.Error("subscribed before the connection was accepted")
	}
}

func TestSubscriptionsAreConfirmedInOrder(t *testing.T) {
	c := connected(t, &Config{})
	var out []byte
	for token, s := range []proto.Subscription{{Topic: "a.*"}, {Topic: "secret", Group: "g"}, {Topic: ">"}} {
		s.Token = uint64(token)
		var err error
		if out, err = c.Subscribe(&s, out); err != nil {
			t.Fatal(err)
		}
	}
	out = c.Barrier(99, out)
	if want := "SUB a.* 0\r\nPING\r\nSUB secret g 1\r\nPING\r\nSUB > 2\r\nPING\r\nPING\r\n"; string(out) != want {
		t.Errorf("got  %q\nwant %q", out, want)
	}
	const refusal = `Permissions Violation for Subscription to "secret" using queue "g"`
	events, _ := prototest.FeedAll(t, c, []byte("PONG\r\n-ERR '"+refusal+"'\r\nPONG\r\nPONG\r\nPONG\r\nPONG\r\n"))
	if len(events) != 4 {
		t.Fatalf("reported %+v", events)
	}
	for i, want := range []struct {
		kind  proto.Kind
		token uint64
		err   bool
	}{{proto.Subscribed, 0, false}, {proto.Subscribed, 1, true}, {proto.Subscribed, 2, false}, {proto.Barrier, 99, false}} {
		if e := events[i]; e.Kind != want.kind || e.Token != want.token || (e.Err != nil) != want.err {
			t.Errorf("event %d: %+v, want %+v", i, e, want)
		}
	}
	says(t, events[1].Err, refusal)
}

func TestErrorsThatDoNotEndTheConnection(t *testing.T) {
	for _, text := range []string{
		`Permissions Violation for Publish to "x"`, "Invalid Publish Subject", "Invalid Subject",
		`Permissions Violation for Subscription to "old" (sid "12")`,
	} {
		c := connected(t, &Config{})
		ev, _ := step(t, c, "-ERR '"+text+"'\r\n")
		if ev.Kind != proto.None || ev.Err == nil || !strings.Contains(ev.Err.Error(), text) {
			t.Errorf("%s: %+v", text, ev)
		}
	}
}

// TestErrorOfAnotherSubscription: a server withdraws subscription 1 while 12 waits for its confirmation.
func TestErrorOfAnotherSubscription(t *testing.T) {
	c := connected(t, &Config{})
	if _, err := c.Subscribe(&proto.Subscription{Topic: "new", Token: 12}, nil); err != nil {
		t.Fatal(err)
	}
	if ev, _ := step(t, c, `-ERR 'Permissions Violation for Publish to "x"'`+"\r\n"); ev.Err == nil {
		t.Error("a refused publish went unreported")
	}
	if ev, _ := step(t, c, `-ERR 'Permissions Violation for Subscription to "old" (sid "1")'`+"\r\n"); ev.Err == nil {
		t.Error("a withdrawn subscription went unreported")
	}
	if ev, _ := step(t, c, "PONG\r\n"); ev.Kind != proto.Subscribed || ev.Err != nil {
		t.Errorf("got %+v", ev)
	}
}

func TestInfoAtAnyTime(t *testing.T) {
	c := connected(t, &Config{})
	ev, out := step(t, c, `INFO {"max_payload":10,"headers":true,"ldm":true,"tls_required":true}`+"\r\n")
	if ev.Kind != proto.None || ev.Err == nil || !strings.Contains(ev.Err.Error(), "lame duck") || out != "" {
		t.Errorf("got %+v, answer %q", ev, out)
	}
	if ev, _ := step(t, c, `INFO {"max_payload":10,"headers":true,"ldm":true}`+"\r\n"); ev.Err != nil {
		t.Errorf("lame duck mode reported twice: %+v", ev)
	}
	if _, err := c.Publish(&proto.Message{Topic: []byte("a"), Payload: make([]byte, 11)}, nil); err == nil {
		t.Error("the new max_payload does not hold")
	}
}

func TestOpenAgain(t *testing.T) {
	c := connected(t, &Config{Name: "n"})
	if _, err := c.Subscribe(&proto.Subscription{Topic: "a", Token: 3}, nil); err != nil {
		t.Fatal(err)
	}
	c.Barrier(4, nil)
	c.Open(0, nil)
	_, out := step(t, c, greeting)
	if !strings.Contains(out, `"name":"n"`) {
		t.Errorf("got %q", out)
	}
	if ev, _ := step(t, c, "PONG\r\n"); ev.Kind != proto.Ready {
		t.Errorf("got %+v: PINGs of the old connection are remembered", ev)
	}
}
