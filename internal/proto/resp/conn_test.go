package resp

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
)

func TestHandshake(t *testing.T) {
	ping := words("PING")
	for _, c := range []struct {
		name  string
		cfg   Config
		open  string
		steps []string // what the server says, and what the client answers, in turn
	}{
		{"", Config{}, words("HELLO", "3"), []string{hello3, ping, pong, ""}},
		{"a b", Config{}, words("HELLO", "3", "SETNAME", "a_b"), []string{hello3, ping, pong, ""}},
		{"n", Config{Password: "p"}, words("HELLO", "3", "AUTH", "default", "p", "SETNAME", "n"), []string{hello3, ping, pong, ""}},
		{"", Config{User: "u", Password: "p"}, words("HELLO", "3", "AUTH", "u", "p"), []string{hello3, ping, pong, ""}},
		{
			"n",
			Config{User: "u", Password: "p", RESP2: true},
			words("AUTH", "u", "p") + words("CLIENT", "SETNAME", "n") + ping,
			[]string{"+OK\r\n", "", "-NOPERM no client command\r\n", "", pong, ""},
		},
		{"", Config{Password: "p", RESP2: true}, words("AUTH", "p") + ping, []string{"+OK\r\n", "", pong, ""}},
		{
			"n",
			Config{Password: "p"},
			words("HELLO", "3", "AUTH", "default", "p", "SETNAME", "n"),
			[]string{
				"-ERR unknown command `HELLO`\r\n", words("AUTH", "p") + words("CLIENT", "SETNAME", "n") + ping,
				"+OK\r\n", "", "+OK\r\n", "", pong, "",
			},
		},
		{"", Config{}, words("HELLO", "3"), []string{"-NOPROTO unsupported protocol version\r\n", ping, pong, ""}},
		{"", Config{}, words("HELLO", "3"), []string{"*2\r\n+proto\r\n:2\r\n", ping, pong, ""}},
		{"", Config{}, words("HELLO", "3"), []string{hello3, ping, "-NOPERM no ping\r\n", ""}},
		{"", Config{}, words("HELLO", "3"), []string{hello3, ping, "-MISCONF Redis is configured to save\r\n", ""}},
	} {
		for name, client := range map[string]proto.Client{"pub/sub": NewPubSub(&c.cfg, c.name), "streams": NewStreams(&c.cfg, c.name)} {
			for range 2 { // a reconnection is no different
				if out := string(client.Open(0, nil)); out != c.open {
					t.Errorf("%s: %+v opens with %q, want %q", name, c.cfg, out, c.open)
				}
				for i := 0; i < len(c.steps); i += 2 {
					if client.Room(0) != 0 || client.Room(1) != 0 {
						t.Error("room before the server has accepted")
					}
					ev, out := step(t, client, c.steps[i])
					if last := i == len(c.steps)-2; out != c.steps[i+1] || ev.Err != nil || last != (ev.Kind == proto.Ready) {
						t.Errorf("%s: %q is answered by %q, %+v", name, c.steps[i], out, ev)
					}
				}
				if client.Room(0) != math.MaxInt32 || client.Room(1) != math.MaxInt32 {
					t.Error("no room")
				}
			}
		}
	}
}

func TestRefused(t *testing.T) {
	for in, want := range map[string]string{
		"-NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH\r\n": "NOAUTH|not authorised",
		"-WRONGPASS invalid username-password pair or user is disabled.\r\n":                                       "WRONGPASS|disabled: not authorised: user or password are wrong",
		"-DENIED Redis is running in protected mode because protected mode is enabled\r\n":                         "DENIED|protected mode: it has no password",
		"-ERR max number of clients reached\r\n":                                                                   "max number of clients|maxclients",
		hello3 + "-LOADING Redis is loading the dataset in memory\r\n":                                             "LOADING|try again later",
		hello3 + "-NOAUTH Authentication required.\r\n":                                                            "not authorised",
		"HTTP/1.1 400 Bad Request\r\n":                                                                             "does not speak Redis: looks like HTTP",
		"INFO {\"server_id\"":                                                                                      "looks like NATS",
		"\x15\x03\x01":                                                                                             "looks like TLS",
		"AMQP\x00\x00\x09\x01":                                                                                     "looks like AMQP",
		"SSH-2.0-":                                                                                                 "looks like SSH",
		"ERROR\r\n":                                                                                                "looks like memcached",
		"\x20\x02\x00\x00":                                                                                         "looks like MQTT",
		"?":                                                                                                        `begins with "?"`,
		"HTT":                                                                                                      "",
		hello3 + pong + pong:                                                                                       "answers what was not asked",
		hello3 + pong + "-ERR Protocol error: too big mbulk count string\r\n": "Protocol error",
		hello3 + pong + "x": `no value begins with "x"`,
	} {
		for _, client := range []proto.Client{NewPubSub(&Config{}, ""), NewStreams(&Config{}, "")} {
			client.Open(0, nil)
			_, _, err := drain(client, in)
			says(t, err, want)
			var temporary interface{ Temporary() bool }
			isLoading := in == hello3+"-LOADING Redis is loading the dataset in memory\r\n"
			if (errors.As(err, &temporary) && temporary.Temporary()) != isLoading {
				t.Errorf("%v: temporary", err)
			}
		}
	}
}

func TestSendable(t *testing.T) {
	for _, c := range []struct {
		m    proto.Message
		want string
	}{
		{proto.Message{Topic: []byte("t"), QoS: 2}, "only QoS 0 and 1"},
		{proto.Message{Topic: []byte("t"), Retain: true}, "no retained messages"},
		{proto.Message{Topic: []byte("t"), Payload: make([]byte, 11)}, "message of 11 bytes is above the limit of 10 bytes"},
		{proto.Message{Topic: make([]byte, maxLine+1)}, "topic of 65537 bytes"},
		{proto.Message{Topic: []byte("t"), Payload: make([]byte, 10), QoS: 1}, ""},
	} {
		cfg := &Config{MaxPayload: 10}
		for _, client := range []proto.Client{NewPubSub(cfg, ""), NewStreams(cfg, "")} {
			if out, err := client.Publish(&c.m, []byte("before")); err != errNotReady || string(out) != "before" {
				t.Errorf("before Ready: %q, %v", out, err)
			}
			accept(t, client, cfg)
			out, err := client.Publish(&c.m, []byte("before"))
			says(t, err, c.want)
			if c.want != "" && string(out) != "before" {
				t.Errorf("a refused message leaves %q", out)
			}
		}
	}
}

// TestWindow: QoS 1 is limited by the window, each reply makes room, and a refusal is reported with its token.
func TestWindow(t *testing.T) {
	cfg := &Config{Window: 2}
	for _, client := range []proto.Client{NewPubSub(cfg, ""), NewStreams(cfg, "")} {
		accept(t, client, cfg)
		send := func(token uint64, qos uint8) error {
			_, err := client.Publish(&proto.Message{Token: token, Topic: []byte("t"), QoS: qos}, nil)
			return err
		}
		for i, qos := range []uint8{1, 0, 0, 1, 0} {
			if err := send(uint64(10+i), qos); err != nil {
				t.Fatal(err)
			}
		}
		if err := send(20, 1); err != errNoRoom || client.Room(1) != 0 || client.Room(0) == 0 {
			t.Errorf("beyond the window: %v, room %d", err, client.Room(1))
		}
		for _, answer := range []struct {
			in    string
			kind  proto.Kind
			token uint64
			words string
		}{
			{":0\r\n", proto.Acked, 10, ""},
			{":3\r\n", proto.None, 0, ""},
			{"-NOPERM this user has no permissions\r\n", proto.None, 0, "NOPERM|ACL"},
			{"-OOM command not allowed when used memory > 'maxmemory'.\r\n", proto.Acked, 13, "OOM|maxmemory is used up"},
			{"!3\r\nBAD\r\n", proto.None, 0, "server: BAD"},
		} {
			ev, out := step(t, client, answer.in)
			says(t, ev.Err, answer.words)
			if ev.Kind != answer.kind || ev.Token != answer.token || out != "" {
				t.Errorf("%q: %+v, answered by %q", answer.in, ev, out)
			}
		}
		if client.Room(1) != 2 {
			t.Errorf("room %d", client.Room(1))
		}
		if err := send(30, 1); err != nil {
			t.Fatal(err)
		}
		accept(t, client, cfg)
		if client.Room(1) != 2 {
			t.Errorf("after a reconnection: room %d", client.Room(1))
		}
	}
}

func TestBarrier(t *testing.T) {
	for _, client := range []interface {
		proto.Client
		Barrier(token uint64, out []byte) []byte
	}{NewPubSub(&Config{}, ""), NewStreams(&Config{}, "")} {
		accept(t, client, &Config{})
		if out := string(client.Barrier(7, nil)); out != words("PING") {
			t.Errorf("sent %q", out)
		}
		client.Barrier(8, nil)
		if ev, _ := step(t, client, pong); ev.Kind != proto.Barrier || ev.Token != 7 {
			t.Errorf("%+v", ev)
		}
		if ev, _ := step(t, client, "-NOPERM no ping\r\n"); ev.Kind != proto.Barrier || ev.Token != 8 || ev.Err != nil {
			t.Errorf("%+v", ev)
		}
	}
}

func TestKeepAlive(t *testing.T) {
	const every = int64(time.Second)
	c := accepted(t, &Config{KeepAlive: time.Second})
	tick := func(now, wantNext int64, want string) {
		t.Helper()
		next, out, err := c.Tick(now, nil)
		if err != nil || string(out) != want || next != wantNext {
			t.Fatalf("Tick(%d) = %d, %q, %v; want %d, %q", now, next, out, err, wantNext, want)
		}
	}
	tick(0, every, "")
	tick(every, 2*every, words("PING"))
	if ev, _ := step(t, c, pong); ev.Kind != proto.None || ev.Err != nil {
		t.Errorf("got %+v", ev)
	}
	tick(2*every, 3*every, words("PING"))
	tick(3*every, 4*every, words("PING"))
	step(t, c, ">3\r\n+message\r\n+a\r\n+b\r\n") // the answers are late, but the peer lives
	tick(4*every, 5*every, "")
	tick(5*every, 6*every, "")
	_, _, err := c.Tick(6*every, nil)
	says(t, err, "redis: no answer to PING")
	if next, out, err := accepted(t, &Config{}).Tick(1<<60, nil); next != math.MaxInt64 || len(out) > 0 || err != nil {
		t.Errorf("without keep-alive: %d, %q, %v", next, out, err)
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{}, ""},
		{Config{KeepAlive: -1}, "keep-alive"},
		{Config{Window: -1}, "window -1"},
		{Config{MaxPayload: maxBulk + 1}, "maximum payload"},
		{Config{MaxLen: -1}, "stream length"},
		{Config{Batch: -1}, "batch"},
		{Config{Block: time.Microsecond}, "block 1µs"},
		{Config{User: "u"}, `user "u" has no password`},
	} {
		says(t, c.cfg.Validate(), c.want)
	}
}
