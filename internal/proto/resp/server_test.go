package resp

import (
	"math"
	"strings"
	"testing"

	"github.com/mqlab/mqlab/internal/proto"
)

// serve opens a server and lets it digest in.
func serve(t *testing.T, cfg *ServerConfig, in string) (s *Server, events []proto.Event, out string) {
	t.Helper()
	s = NewServer(cfg)
	if out := s.Open(0, nil); len(out) > 0 {
		t.Errorf("the server speaks first: %q", out)
	}
	events, out, err := drain(s, in)
	if err != nil {
		t.Fatal(err)
	}
	return s, events, out
}

func TestServerReplies(t *testing.T) {
	ping := words("PING")
	cfg := &ServerConfig{Password: "p"}
	for _, c := range []struct {
		cfg      *ServerConfig
		in, want string
	}{
		{&ServerConfig{}, ping, pong},
		{&ServerConfig{}, words("ping", "x"), "$1\r\nx\r\n"},
		{&ServerConfig{}, words("PING", "x", "y"), "-ERR wrong number of arguments for 'ping' command\r\n"},
		{&ServerConfig{}, words("SELECT", "0"), "-ERR unknown command 'SELECT'\r\n"},
		{&ServerConfig{}, words("a\r\nb"), "-ERR unknown command 'a..b'\r\n"},
		{&ServerConfig{}, words("CLIENT", "SETINFO", "LIB-NAME", "x"), "+OK\r\n"},
		{&ServerConfig{}, words("HELLO", "4"), "-NOPROTO unsupported protocol version\r\n"},
		{&ServerConfig{}, words("HELLO", "3", "WHAT"), "-ERR Syntax error in HELLO option\r\n"},
		{&ServerConfig{}, words("PUBLISH", "a", "b"), ":0\r\n"},
		{&ServerConfig{}, words("PUBLISH", "a"), "-ERR wrong number of arguments for 'publish' command\r\n"},
		{&ServerConfig{}, words("SUBSCRIBE"), "-ERR wrong number of arguments for 'subscribe' command\r\n"},
		{&ServerConfig{}, words("UNSUBSCRIBE"), "*3\r\n$11\r\nunsubscribe\r\n$-1\r\n:0\r\n"},
		{
			&ServerConfig{}, words("SUBSCRIBE", "a") + ping + words("PING", "x") + words("PUBLISH", "a", "b"),
			"*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n*2\r\n$4\r\npong\r\n$0\r\n\r\n*2\r\n$4\r\npong\r\n$1\r\nx\r\n" +
				"-ERR Can't execute 'publish': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context\r\n",
		},
		{
			&ServerConfig{}, words("SUBSCRIBE", "a", "b") + words("PUNSUBSCRIBE", "a") + words("UNSUBSCRIBE"),
			"*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n" +
				"*3\r\n$12\r\npunsubscribe\r\n$1\r\na\r\n:2\r\n" +
				"*3\r\n$11\r\nunsubscribe\r\n$1\r\nb\r\n:1\r\n*3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:0\r\n",
		},
		{&ServerConfig{RESP2: true}, words("HELLO", "3"), "-ERR unknown command 'HELLO'\r\n"},
		{cfg, ping, "-NOAUTH Authentication required.\r\n"},
		{cfg, words("AUTH", "x") + ping, "-WRONGPASS invalid username-password pair or user is disabled.\r\n-NOAUTH Authentication required.\r\n"},
		{cfg, words("AUTH", "u", "p"), "-WRONGPASS invalid username-password pair or user is disabled.\r\n"},
		{cfg, words("AUTH", "p") + ping, "+OK\r\n" + pong},
		{cfg, words("AUTH", "default", "p") + ping, "+OK\r\n" + pong},
		{cfg, "*0\r\n" + words("AUTH"), "-ERR wrong number of arguments for 'AUTH' command\r\n"},
	} {
		if _, _, out := serve(t, c.cfg, c.in); !strings.EqualFold(out, c.want) {
			t.Errorf("%q\nis answered by %q,\nwant           %q", c.in, out, c.want)
		}
	}
}

func TestServerHello(t *testing.T) {
	const rest = "$2\r\nid\r\n:1\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n"
	const about = "$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n7.0.0\r\n$5\r\nproto\r\n"
	cfg := &ServerConfig{User: "u", Password: "p"}
	s, events, out := serve(t, cfg, words("HELLO", "3", "AUTH", "u", "p", "SETNAME", "n")+words("SUBSCRIBE", "a"))
	if want := "%7\r\n" + about + ":3\r\n" + rest + ">3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n"; out != want {
		t.Errorf("got %q\nwant %q", out, want)
	}
	if s.Name() != "n" || len(events) != 2 || events[0].Kind != proto.Ready || events[1].Kind != proto.Subscribed {
		t.Errorf("name %q, events %+v", s.Name(), events)
	}
	if _, _, out := serve(t, &ServerConfig{}, words("HELLO")); out != "*14\r\n"+about+":2\r\n"+rest {
		t.Errorf("got %q", out)
	}
	_, _, out = serve(t, cfg, words("HELLO", "3")+words("HELLO", "3", "AUTH", "u", "x"))
	if !strings.HasPrefix(out, "-NOAUTH HELLO must be") || !strings.Contains(out, "-WRONGPASS") {
		t.Errorf("got %q", out)
	}
}

func TestServerPublish(t *testing.T) {
	s, events, _ := serve(t, &ServerConfig{}, words("HELLO", "3")+words("SUBSCRIBE", "a", "b")+words("PSUBSCRIBE", "a*", "a*")+words("UNSUBSCRIBE", "b"))
	var got []string
	for _, ev := range events {
		got = append(got, string(ev.Topic))
	}
	if strings.Join(got, " ") != " a b a* a* b" || events[3].Token != events[4].Token || events[5].Kind != proto.Unsubscribed {
		t.Fatalf("reported %+v", events)
	}
	if s.Room(0) != math.MaxInt32 || NewServer(&ServerConfig{}).Room(0) != 0 {
		t.Error("room")
	}
	a, b, pattern := events[1].Token, events[2].Token, events[3].Token
	for _, c := range []struct {
		m         proto.Message
		want, err string
	}{
		{proto.Message{Topic: []byte("a"), Payload: []byte("x"), Sub: a}, ">3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nx\r\n", ""},
		{proto.Message{Topic: []byte("ab"), Sub: pattern}, ">4\r\n$8\r\npmessage\r\n$2\r\na*\r\n$2\r\nab\r\n$0\r\n\r\n", ""},
		{proto.Message{Topic: []byte("b"), Sub: b}, "", "no subscription 2"},
		{proto.Message{Topic: []byte("a"), Sub: a, QoS: 1}, "", "QoS 0 only"},
	} {
		out, err := s.Publish(&c.m, nil)
		says(t, err, c.err)
		if string(out) != c.want {
			t.Errorf("sent %q", out)
		}
	}
	for topic, want := range map[string][2]bool{"a": {true, true}, "ab": {false, true}, "b": {false, false}} {
		if got := [2]bool{s.Matches(a, []byte(topic)), s.Matches(pattern, []byte(topic))}; got != want || s.Matches(b, []byte(topic)) {
			t.Errorf("%s matches %v", topic, got)
		}
	}
}

func TestServerFatal(t *testing.T) {
	cfg := &ServerConfig{MaxPayload: 10}
	for in, want := range map[string]string{
		"GET / HTTP/1.1\r\n":                 "looks like HTTP",
		"*1\r\n:1\r\n":                       `the client sends ":"`,
		"*1\r\n$-1\r\n":                      "of length -1",
		words("PUBLISH", "a", "hello world"): "of length 11 where a string of up to 10 bytes",
		words("QUIT") + words("PING"):        "follows QUIT",
		"*x\r\n":                             "not followed by a number",
	} {
		s := NewServer(cfg)
		s.Open(0, nil)
		_, out, err := drain(s, in)
		says(t, err, want)
		if !strings.HasPrefix(out, "-ERR Protocol error") && !strings.HasPrefix(out, "+OK") {
			t.Errorf("%q is answered by %q", in, out)
		}
	}
}
