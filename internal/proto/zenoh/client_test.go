package zenoh

import (
	"encoding/hex"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/prototest"
)

// What the tests of all protocols share.
var (
	feed  = prototest.FeedAll
	drain = prototest.Feed
	says  = prototest.Says
)

// pair is a client and a server that are connected.
type pair struct {
	client      *Client
	server      *Server
	heard, said []byte // by the client during the handshake
}

func connect(tb testing.TB, cfg *Config, serverCfg *ServerConfig) *pair {
	tb.Helper()
	if err := cfg.Validate(); err != nil {
		tb.Fatal(err)
	}
	p := &pair{client: NewClient(cfg, "c"), server: NewServer(serverCfg, 1<<63+5)}
	p.server.Open(0, nil)
	_, _, p.said, p.heard = prototest.Line{Client: p.client, Server: p.server}.Exchange(tb, p.client.Open(0, nil))
	if p.client.phase != ready || p.server.phase != ready {
		tb.Fatalf("phases %d and %d", p.client.phase, p.server.phase)
	}
	return p
}

// bytesOf decodes hexadecimal digits; a text in quotes stands for itself.
func bytesOf(text string) (b []byte) {
	for word := range strings.FieldsSeq(text) {
		if quoted, ok := strings.CutPrefix(word, "'"); ok {
			b = append(b, quoted...)
			continue
		}
		part, err := hex.DecodeString(word)
		if err != nil {
			panic(err)
		}
		b = append(b, part...)
	}
	return b
}

// batch puts messages into a batch.
func batch(msgs ...string) []byte {
	out := begin(nil)
	for _, m := range msgs {
		out = append(out, bytesOf(m)...)
	}
	return end(out, 0)
}

// wants compares what was sent with what was to be sent.
func wants(t *testing.T, got []byte, want ...[]byte) {
	t.Helper()
	if all := slices.Concat(want...); !slices.Equal(got, all) {
		t.Errorf("sent % x\nwant % x", got, all)
	}
}

// TestConversation: the bytes of a whole conversation, as Zenoh's own client and router exchange them.
func TestConversation(t *testing.T) {
	c := NewClient(&Config{Block: true}, "c")
	id := identify("c", 1)
	zid := hex.EncodeToString(id[:])
	wants(t, c.Open(0, nil), batch("81 09 f2", zid, "27 01"))
	const initAck = "e1 09 f0 00112233445566778899aabbccddeeff 0a 00c0 03 'abc 27 01"
	events, out := feed(t, c, batch(initAck))
	first := hex.EncodeToString(appendNumber(nil, uint64(id.firstNumber(1<<28-1))))
	wants(t, out, batch("02 904e", first, "03 'abc"))
	if c.batch != 0xc000 || !c.markers || len(events) != 0 {
		t.Errorf("batches of %d bytes, markers %v", c.batch, c.markers)
	}
	if events, _ = feed(t, c, batch("62 0a ffffff7f")); len(events) != 1 || events[0].Kind != proto.Ready {
		t.Fatalf("reported %+v", events)
	}
	c.begins(5)
	out, err := c.Subscribe(&proto.Subscription{Token: 77, Topic: "a/b/*"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	wants(t, out,
		batch("25 05 9e2108 20 01 00 03 'a/b 9e2108 62 01 01 02 '/*"),
		batch("25 06 b9 01 38 00 06 '@mqlab 2108"))
	m := proto.Message{Topic: []byte("a/b/c"), Payload: []byte("hello")}
	for _, want := range [][]byte{
		slices.Concat(batch("25 07 9e2108 20 02 00 05 'a/b/c"), batch("25 08 dd 02 210d 01 05 'hello")),
		batch("25 09 dd 02 210d 01 05 'hello"),
	} {
		if out, err = c.Publish(&m, nil); err != nil {
			t.Fatal(err)
		}
		wants(t, out, want)
	}
	// The key expression is declared by the router, by us, or by nobody; a time stamp and an encoding go by.
	in := slices.Concat(
		batch("25 ffffff7f", "be 01 2108 1a", "9e2108 20 05 00 03 'x/y", "bd 01 02 '/c 210d 21 80dbbbadc3fce7866b 02 aabb 02 'hi"),
		batch("a5 00 31 05", "7d 05 02 '/z 41 03 02 's! 01 'A", "3d 00 01 'k 01 00", "3d 00 01 'k 02"),
		batch("04"), batch("23 05"))
	events, out = feed(t, c, in[:len(in)-4])
	closing, _ := feed(t, c, in[len(in)-4:])
	events = append(events, closing...)
	var got []string
	for _, ev := range events {
		text := []string{"", "ready", "subscribed", "", "delivered", "", "", "", "closed"}[ev.Kind]
		got = append(got, strings.TrimSpace(text+" "+string(ev.Topic)+" "+string(ev.Payload)))
	}
	if want := "subscribed,delivered a/b/c hi,delivered x/y/z A,delivered k,closed"; strings.Join(got, ",") != want || len(out) > 0 {
		t.Errorf("reported %q, sent % x", got, out)
	}
	says(t, events[len(events)-1].Err, "closes the session|lease expired")
}

func TestAuthentication(t *testing.T) {
	connect(t, &Config{User: "u", Password: "p"}, &ServerConfig{User: "u", Password: "p"})
	for _, cfg := range []*Config{{User: "u", Password: "x"}, {User: "v", Password: "p"}, {}} {
		c, s := NewClient(cfg, "c"), NewServer(&ServerConfig{User: "u", Password: "p"}, 7)
		s.Open(0, nil)
		up, err := c.Open(0, nil), error(nil)
		for err == nil && len(up) > 0 {
			var down []byte
			_, down, _, err = drain(s, up)
			_, up, _, _ = drain(c, down)
		}
		says(t, err, "password")
	}
	c := NewClient(&Config{User: "u"}, "c")
	c.Open(0, nil)
	_, _, _, err := drain(c, batch("a1 09 f0 00112233445566778899aabbccddeeff 00 27 01"))
	says(t, err, "asks for no password")
}

// TestMistakes: what a peer must not say ends the session with a word about it.
func TestMistakes(t *testing.T) {
	for in, want := range map[string]string{
		"25 00 fd":                      "malformed",
		"25 00 1b":                      "unexpected|0x1b",
		"1d 00 01 00":                   "outside of a frame",
		"25 00 5d 09 01 00":             "key expression 9|not declared",
		"25 00 1d 03 01 00":             "key expression 3|not declared",
		"25 00 3d 00 01 'a 01 05 'four": "malformed",
		"25 00 3d 00 01 'a 03":          "malformed",
		"a5 00 3f 00":                   "malformed", // an extension that must be understood
		"a5 00 60":                      "malformed", // one of no known form
		"25 00 1e 0b":                   "malformed",
		"25 8080808001":                 "malformed", // a number that is too large
		"01 09 02 00":                   "unexpected|0x01",
		"07":                            "unexpected|0x07",
		"e6 00 02 3d 00 01 'a 01 05 'x": "", // more to come
		"a6 00 02 3d 00 01 'a 01 02 'x": "malformed",
		"23":                            "malformed",
	} {
		p := connect(t, &Config{}, &ServerConfig{})
		_, _, _, err := drain(p.client, batch(in))
		if want == "" && err == nil {
			continue
		}
		says(t, err, want)
	}
	for in, want := range map[string]string{
		"23 03": "refuses|too many sessions|max_sessions", "23 00": "not authorised", "23 02": "invalid|max_sessions", "23 07": "itself", "23 63": "reason 99",
		"a1 08 00 01 00":             "version 8",
		"61 09 00 01 0a 1000 00":     "batches of 16 bytes",
		"61 09":                      "malformed",
		"61 09 00 01 0a 00c0 05 'ab": "malformed",
	} {
		c := NewClient(&Config{}, "c")
		c.Open(0, nil)
		_, _, _, err := drain(c, batch(in))
		says(t, err, want)
	}
	for in, want := range map[string]string{
		"HTTP/1.1 400": "looks like HTTP", "INFO {\"server": "looks like NATS", "-ERR unknown": "Redis", "xyz": "begins with \"xyz\"",
	} {
		c := NewClient(&Config{}, "c")
		c.Open(0, nil)
		_, _, _, err := drain(c, []byte(in))
		says(t, err, "does not speak Zenoh|"+want)
	}
}

func TestRefusals(t *testing.T) {
	p := connect(t, &Config{MaxPayload: 100}, &ServerConfig{Batch: 256})
	publish := func(m proto.Message) error {
		out, err := p.client.Publish(&m, []byte("before"))
		if string(out) != "before" {
			t.Errorf("%+v: sent something", m)
		}
		return err
	}
	says(t, publish(proto.Message{Topic: []byte("a"), QoS: 1}), "no acknowledgements")
	says(t, publish(proto.Message{Topic: []byte("a"), Retain: true}), "retained")
	says(t, publish(proto.Message{Topic: []byte("a"), Payload: make([]byte, 101)}), "101 bytes|limit of 100")
	says(t, publish(proto.Message{Topic: []byte("a/*")}), "wildcards")
	says(t, publish(proto.Message{Topic: []byte("a//b")}), "empty chunk")
	says(t, publish(proto.Message{Topic: []byte("a?b")}), "no #, ? or $")
	says(t, publish(proto.Message{Topic: make([]byte, 200)}), "topic of 200 bytes")
	for filter, want := range map[string]string{"a/x*": "whole chunks", "": "empty chunk", "/a": "empty chunk"} {
		_, err := p.client.Subscribe(&proto.Subscription{Topic: filter}, nil)
		says(t, err, want)
	}
	_, err := p.client.Subscribe(&proto.Subscription{Topic: "a", Group: "g"}, nil)
	says(t, err, "no shared subscriptions")
	_, err = NewClient(&Config{}, "c").Publish(&proto.Message{}, nil)
	says(t, err, "not connected")
	for _, cfg := range []Config{{Lease: -1}, {Lease: 1}, {MaxPayload: -1}, {Password: "x"}} {
		if cfg.Validate() == nil {
			t.Errorf("%+v is accepted", cfg)
		}
	}
}

// TestExplain: an end without a word is explained by what the router was doing.
func TestExplain(t *testing.T) {
	end := errors.New("the end")
	c := NewClient(&Config{}, "c")
	if err := c.Explain(end); err != end {
		t.Errorf("before Open: %v", err)
	}
	c.Open(0, nil)
	err := c.Explain(end)
	says(t, err, "the end|accept_pending")
	var passing interface{ Temporary() bool }
	if !errors.As(err, &passing) || !passing.Temporary() || !errors.Is(err, end) {
		t.Errorf("%v cannot pass", err)
	}
	if err := c.Explain(end); err != end {
		t.Errorf("an attempt to connect again: %v", err)
	}
	c.Open(0, nil)
	if _, _, _, err = drain(c, batch("23 02")); c.Explain(err) != err {
		t.Errorf("what the router says itself: %v", c.Explain(err))
	}
	p := connect(t, &Config{}, &ServerConfig{})
	if err := p.client.Explain(end); err != end {
		t.Errorf("a publisher: %v", err)
	}
	p = connect(t, &Config{}, &ServerConfig{})
	if _, err := p.client.Subscribe(&proto.Subscription{Topic: "a"}, nil); err != nil {
		t.Fatal(err)
	}
	says(t, p.client.Explain(end), "slow subscriber|wait_before_close")
}

// TestDroppedFragments: a message of which parts are missing is no message, and does not harm the next one.
func TestDroppedFragments(t *testing.T) {
	const head, tail, stop = "e6 05 02 3d 00 01 'a 01 04 'ab", "26 06 'cd", "e6 06 03"
	for name, in := range map[string][]string{
		"whole":        {head, tail, "+a abcd"},
		"tail alone":   {tail},
		"gap":          {head, "26 07 'cd", "26 08 'cd"},
		"stopped":      {head, stop, "26 07 'cd"},
		"begins again": {head, head, tail, "+a abcd"},
		"two channels": {head, "c6 06 02 3d 00 01 'b 01 02 'x", tail, "+a abcd", "06 07 'y", "+b xy"},
	} {
		p := connect(t, &Config{}, &ServerConfig{})
		var events []proto.Event
		for _, part := range in {
			want, isEvent := strings.CutPrefix(part, "+")
			if !isEvent {
				got, _ := feed(t, p.client, batch(part))
				events = append(events, got...)
				continue
			}
			if len(events) == 0 || string(events[0].Topic)+" "+string(events[0].Payload) != want {
				t.Errorf("%s: %+v instead of %s", name, events, want)
				break
			}
			events = events[1:]
		}
		if len(events) > 0 {
			t.Errorf("%s: reported %+v", name, events)
		}
	}
}

func TestKeepAlive(t *testing.T) {
	const lease = 8 * time.Second
	p := connect(t, &Config{Lease: 4 * time.Second}, &ServerConfig{Lease: lease})
	tick := func(now time.Duration, want string) {
		t.Helper()
		next, out, err := p.client.Tick(int64(now), nil)
		if err != nil || hex.EncodeToString(out) != want || next != int64(now+time.Second) {
			t.Fatalf("Tick(%v) = %v, % x, %v", now, time.Duration(next), out, err)
		}
	}
	const keepAlive = "010004"
	p.client.Barrier(1, nil)
	tick(time.Second, "") // something was sent
	tick(2*time.Second, keepAlive)
	feed(t, p.client, batch("04"))
	for s := 3 * time.Second; s <= 3*time.Second+lease; s += time.Second {
		tick(s, keepAlive)
	}
	_, _, err := p.client.Tick(int64(4*time.Second+lease), nil)
	says(t, err, "lease of 8s")
	c := NewClient(&Config{}, "")
	c.Open(0, nil)
	if next, _, err := c.Tick(1<<60, nil); next != math.MaxInt64 || err != nil {
		t.Errorf("during the handshake: %d, %v", next, err)
	}
}

// TestIdentity: every connection of every client has another one.
func TestIdentity(t *testing.T) {
	seen := map[identity]bool{}
	for _, name := range []string{"a", "b", "a 1"} {
		for n := range uint32(3) {
			seen[identify(name, n)] = true
		}
	}
	if len(seen) != 9 {
		t.Errorf("%d identities of 9 connections", len(seen))
	}
}
