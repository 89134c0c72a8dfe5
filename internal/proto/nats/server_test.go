package nats

import (
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
)

// served is a server whose client has connected with these arguments of CONNECT.
func served(t *testing.T, cfg *ServerConfig, connect string) *Server {
	t.Helper()
	s := NewServer(cfg)
	s.Open(0, nil)
	if ev, _ := step(t, s, "CONNECT "+connect+"\r\n"); ev.Kind != proto.Ready {
		t.Fatalf("not ready: %+v", ev)
	}
	return s
}

const quiet = `{"verbose":false,"headers":true}`

func TestServerAuthorization(t *testing.T) {
	user := &ServerConfig{User: "u", Password: "p"}
	token := &ServerConfig{Token: "t"}
	for _, c := range []struct {
		cfg     *ServerConfig
		connect string
		ok      bool
	}{
		{&ServerConfig{}, `{"user":"anybody"}`, true},
		{user, `{"user":"u","pass":"p"}`, true},
		{user, `{"user":"u","pass":"x"}`, false},
		{user, `{}`, false},
		{token, `{"auth_token":"t"}`, true},
		{token, `{"auth_token":"u"}`, false},
	} {
		s := NewServer(c.cfg)
		s.Open(0, nil)
		var ev proto.Event
		_, out, err := s.Feed(0, []byte("CONNECT "+c.connect+"\r\n"), nil, &ev)
		if (err == nil) != c.ok || (ev.Kind == proto.Ready) != c.ok {
			t.Errorf("%s: %+v, %v", c.connect, ev, err)
		}
		if !c.ok && string(out) != "-ERR 'Authorization Violation'\r\n" {
			t.Errorf("%s: told %q", c.connect, out)
		}
	}
}

func TestServerConversation(t *testing.T) {
	s := served(t, &ServerConfig{}, quiet)
	for _, c := range []struct {
		in, out string
		want    proto.Event
		topic   string
	}{
		{in: "PING\r\n", out: "PONG\r\n"},
		{in: "SUB a.* 90\r\n", want: proto.Event{Kind: proto.Subscribed, Token: 1}, topic: "a.*"},
		{in: "SUB b group x7\r\n", want: proto.Event{Kind: proto.Subscribed, Token: 2}, topic: "b"},
		{in: "SUB c 90\r\n"},
		{in: "SUB c..d 91\r\n", out: "-ERR 'Invalid Subject'\r\n"},
		{in: "PUB a.b 2\r\nhi\r\n", want: proto.Event{Kind: proto.Delivered}, topic: "a.b"},
		{in: "HPUB a.b re 12 14\r\nNATS/1.0\r\n\r\nhi\r\n", want: proto.Event{Kind: proto.Delivered}, topic: "a.b"},
		{in: "PUB a.* 2\r\nhi\r\n", out: "-ERR 'Invalid Publish Subject'\r\n"},
		{in: "UNSUB 77\r\n"},
		{in: "UNSUB 90\r\n", want: proto.Event{Kind: proto.Unsubscribed, Token: 1}},
	} {
		ev, out := step(t, s, c.in)
		if out != c.out || ev.Kind != c.want.Kind || ev.Token != c.want.Token || string(ev.Topic) != c.topic {
			t.Errorf("%q: answer %q, %+v; want %q, %+v", c.in, out, ev, c.out, c.want)
		}
		if ev.Kind == proto.Delivered && string(ev.Payload) != "hi" {
			t.Errorf("%q: payload %q", c.in, ev.Payload)
		}
	}
	if s.Group(2) != "group" || s.Group(1) != "" {
		t.Errorf("groups %q, %q", s.Group(2), s.Group(1))
	}
	m := proto.Message{Topic: []byte("b"), Payload: []byte("hi"), Sub: 2}
	if out, err := s.Publish(&m, nil); string(out) != "MSG b x7 2\r\nhi\r\n" || err != nil {
		t.Errorf("delivered as %q, %v", out, err)
	}
	if out, err := s.PublishHeaders(&m, []byte("NATS/1.0\r\n\r\n"), nil); err != nil ||
		string(out) != "HMSG b x7 12 14\r\nNATS/1.0\r\n\r\nhi\r\n" {
		t.Errorf("delivered as %q, %v", out, err)
	}
	m.Sub = 1
	if out, err := s.Publish(&m, nil); len(out) > 0 || err == nil {
		t.Errorf("delivered to a subscription that is gone: %q", out)
	}
}

func TestServerHeadersAndReply(t *testing.T) {
	s := served(t, &ServerConfig{}, quiet)
	step(t, s, "HPUB a re 12 12\r\nNATS/1.0\r\n\r\n\r\n")
	if string(s.Headers()) != "NATS/1.0\r\n\r\n" || string(s.Reply()) != "re" {
		t.Errorf("headers %q, reply %q", s.Headers(), s.Reply())
	}
	step(t, s, "PUB a 0\r\n\r\n")
	if len(s.Headers()) > 0 || len(s.Reply()) > 0 {
		t.Errorf("left over: headers %q, reply %q", s.Headers(), s.Reply())
	}
	old := served(t, &ServerConfig{}, `{"verbose":false}`)
	step(t, old, "SUB a 1\r\n")
	m := proto.Message{Topic: []byte("a"), Sub: 1}
	if out, err := old.PublishHeaders(&m, []byte("NATS/1.0\r\n\r\n"), nil); string(out) != "MSG a 1 0\r\n\r\n" || err != nil {
		t.Errorf("a peer without headers got %q, %v", out, err)
	}
}

func TestServerVerbose(t *testing.T) {
	s := NewServer(&ServerConfig{})
	s.Open(0, nil)
	for _, in := range []string{"CONNECT {}\r\n", "SUB a 1\r\n", "PUB a 0\r\n\r\n", "UNSUB 1\r\n"} {
		if _, out := step(t, s, in); out != "+OK\r\n" {
			t.Errorf("%q answered by %q", in, out)
		}
	}
}

func TestServerUnsubscribesByItself(t *testing.T) {
	s := served(t, &ServerConfig{}, quiet)
	step(t, s, "SUB a 1\r\n")
	m := proto.Message{Topic: []byte("a"), Sub: 1}
	for i := range 3 {
		if _, err := s.Publish(&m, nil); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			step(t, s, "UNSUB 1 3\r\n")
		}
	}
	if _, err := s.Publish(&m, nil); err == nil {
		t.Error("a fourth message to a subscription that ends after three")
	}
	if ev, _ := step(t, s, "SUB a 1\r\n"); ev.Kind != proto.Subscribed {
		t.Errorf("the sid is not free again: %+v", ev)
	}
	if ev, _ := step(t, s, "UNSUB 1 0\r\n"); ev.Kind != proto.Unsubscribed {
		t.Errorf("at most 0 messages is not the end: %+v", ev)
	}
}

func TestServerRefuses(t *testing.T) {
	for in, want := range map[string]string{
		"PUB a 11\r\n":               "Maximum Payload Violation",
		"HPUB a 2 11\r\n":            "Maximum Payload Violation",
		"PUB a 2\r\nabcd":            "Parser Error",
		"PUB a\r\n":                  "Parser Error",
		"SUB a\r\n":                  "Parser Error",
		"SUB a b c d\r\n":            "Parser Error",
		"UNSUB\r\n":                  "Parser Error",
		"UNSUB 1 x\r\n":              "Parser Error",
		"CONNECT {}\r\n":             "Unknown Protocol Operation",
		"MSG a 1 0\r\n\r\n":          "Unknown Protocol Operation",
		"\r\n":                       "Unknown Protocol Operation",
		strings.Repeat("x", maxLine): "Maximum Control Line Exceeded",
		"PUB a 99999999999999999999999999999\r\n": "Parser Error",
	} {
		s := served(t, &ServerConfig{MaxPayload: 10}, quiet)
		var ev proto.Event
		_, out, err := s.Feed(0, []byte(in), nil, &ev)
		if err == nil || string(out) != "-ERR '"+want+"'\r\n" {
			t.Errorf("%.40q: %q, %v", in, out, err)
		}
	}
	for _, in := range []string{"SUB a 1\r\n", "PUB a 0\r\n\r\n", "CONNECT nonsense\r\n"} {
		s := NewServer(&ServerConfig{})
		s.Open(0, nil)
		var ev proto.Event
		if _, out, err := s.Feed(0, []byte(in), nil, &ev); err == nil || !strings.HasPrefix(string(out), "-ERR ") {
			t.Errorf("%q first: %q, %v", in, out, err)
		}
	}
}

func TestServerKeepAlive(t *testing.T) {
	const every = int64(time.Second)
	s := served(t, &ServerConfig{KeepAlive: time.Second}, quiet)
	for i := int64(1); i <= 2; i++ {
		if _, out, err := s.Tick(i*every, nil); string(out) != "PING\r\n" || err != nil {
			t.Fatalf("%d: %q, %v", i, out, err)
		}
		step(t, s, "PONG\r\n")
	}
	for i := int64(3); i <= 4; i++ {
		if _, _, err := s.Tick(i*every, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, out, err := s.Tick(5*every, nil); err == nil || string(out) != "-ERR 'Stale Connection'\r\n" {
		t.Errorf("a dead peer: %q, %v", out, err)
	}
}

func TestServerNoAllocation(t *testing.T) {
	s := served(t, &ServerConfig{}, quiet)
	step(t, s, "SUB a 1\r\n")
	in, out := []byte("PUB a.b 5\r\nhello\r\n"), make([]byte, 0, 4096)
	var ev proto.Event
	if n := testing.AllocsPerRun(100, func() {
		if _, _, err := s.Feed(0, in, nil, &ev); err != nil {
			t.Fatal(err)
		}
		m := proto.Message{Topic: ev.Topic, Payload: ev.Payload, Sub: 1}
		out, _ = s.Publish(&m, out[:0])
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
