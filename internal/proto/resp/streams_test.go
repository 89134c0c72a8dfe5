package resp

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
)

func acceptedStreams(t testing.TB, cfg *Config) *Streams {
	t.Helper()
	c := NewStreams(cfg, "me")
	accept(t, c, cfg)
	return c
}

func join(t *testing.T, c *Streams, token uint64, key, group string, qos uint8) string {
	t.Helper()
	out, err := c.Subscribe(&proto.Subscription{Token: token, Topic: key, Group: group, QoS: qos}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// line is one unit of the server and what must come of it.
type line struct{ in, event, answer string }

// play feeds lines and compares events, in words, and answers.
func play(t *testing.T, c *Streams, lines []line) {
	t.Helper()
	for _, l := range lines {
		ev, out := step(t, c, l.in)
		if got := describe(&ev); got != l.event || out != l.answer {
			t.Fatalf("%q\ngives %s and is answered by %q,\nwant  %s and %q", l.in, got, out, l.event, l.answer)
		}
	}
}

func describe(ev *proto.Event) string {
	text := map[proto.Kind]string{
		proto.Ready: "ready", proto.Subscribed: "subscribed", proto.Delivered: "delivered", proto.Acked: "acked", proto.Barrier: "barrier",
	}[ev.Kind]
	if ev.Kind != proto.None {
		text += fmt.Sprintf(" %d qos %d", ev.Token, ev.QoS)
	}
	if ev.Kind == proto.Delivered {
		text += fmt.Sprintf(" %s %s", ev.Topic, ev.Payload)
	}
	if ev.Redelivered {
		text += " again"
	}
	if ev.Err != nil {
		text += " " + ev.Err.Error()
	}
	return text
}

// readOf is a read of group by me.
func readOf(group string, rest ...string) string {
	return words(append([]string{"XREADGROUP", "GROUP", group, "me", "COUNT", "256", "BLOCK", "2000"}, rest...)...)
}

// entry is one with a single field.
func entry(id, field, value string) string {
	return "*2\r\n" + string(appendBulk(nil, id)) + words(field, value)
}

func TestStreamsPublish(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{}, words("XADD", "a/b", "*", "d", "hello")},
		{Config{MaxLen: 1000}, words("XADD", "a/b", "MAXLEN", "~", "1000", "*", "d", "hello")},
	} {
		cl := acceptedStreams(t, &c.cfg)
		out, err := cl.Publish(&proto.Message{Token: 3, Topic: []byte("a/b"), Payload: []byte("hello"), QoS: 1}, nil)
		if err != nil || string(out) != c.want {
			t.Errorf("%v: sent %q, want %q", err, out, c.want)
		}
		play(t, cl, []line{{"$15\r\n1526919030474-0\r\n", "acked 3 qos 1", ""}})
	}
}

// TestStreamsRead: the read follows the confirmation of the group, each reply is acknowledged and followed by the next.
func TestStreamsRead(t *testing.T) {
	for _, resp2 := range []bool{false, true} {
		one, two, pair, nothing := "%1\r\n", "%2\r\n", "", "_\r\n"
		if resp2 {
			one, two, pair, nothing = "*1\r\n", "*2\r\n", "*2\r\n", "*-1\r\n"
		}
		c := acceptedStreams(t, &Config{RESP2: resp2})
		if out := join(t, c, 5, "a", "g", 1) + join(t, c, 6, "b", "g", 1); out !=
			words("XGROUP", "CREATE", "a", "g", "$", "MKSTREAM")+words("XGROUP", "CREATE", "b", "g", "$", "MKSTREAM") {
			t.Errorf("sent %q", out)
		}
		read := readOf("g", "STREAMS", "a", "b", ">", ">")
		play(t, c, []line{
			{"+OK\r\n", "subscribed 5 qos 1", ""},
			{"+OK\r\n", "subscribed 6 qos 1", read},
			{nothing, "", read},
			{one, "", ""},
			{pair + "$1\r\nb\r\n*2\r\n", "", ""},
			{entry("1-0", "d", "x"), "delivered 6 qos 1 b x", ""},
			{entry("1-1", "d", ""), "delivered 6 qos 1 b ", words("XACK", "b", "g", "1-0", "1-1") + read},
			{":2\r\n", "", ""},
			{two, "", ""},
			{pair + "$1\r\na\r\n*1\r\n", "", ""},
			{entry("2-0", "d", "y"), "delivered 5 qos 1 a y", words("XACK", "a", "g", "2-0")},
			{pair + "$1\r\nb\r\n*1\r\n", "", ""},
			{entry("2-1", "d", "z"), "delivered 6 qos 1 b z", words("XACK", "b", "g", "2-1") + read},
		})
	}
}

func TestStreamsWithoutAcknowledgement(t *testing.T) {
	c := acceptedStreams(t, &Config{})
	join(t, c, 5, "a", "", 0)
	read := readOf("me", "NOACK", "STREAMS", "a", ">")
	play(t, c, []line{
		{"-BUSYGROUP Consumer Group name already exists\r\n", "subscribed 5 qos 0", read},
		{"%1\r\n", "", ""},
		{"$1\r\na\r\n*1\r\n", "", ""},
		{entry("1-0", "d", "x"), "delivered 5 qos 0 a x", read},
	})
	held := acceptedStreams(t, &Config{HoldAcks: true})
	join(t, held, 5, "a", "g", 1)
	read = readOf("g", "STREAMS", "a", ">")
	play(t, held, []line{
		{"+OK\r\n", "subscribed 5 qos 1", read},
		{"%1\r\n", "", ""},
		{"$1\r\na\r\n*1\r\n", "", ""},
		{entry("1-0", "d", "x"), "delivered 5 qos 1 a x", read},
	})
}

// TestStreamsReadAgain: where the group existed, what this consumer has not acknowledged comes first; an entry that was
// deleted meanwhile is acknowledged and not delivered.
func TestStreamsReadAgain(t *testing.T) {
	c := acceptedStreams(t, &Config{})
	join(t, c, 5, "a", "g", 1)
	join(t, c, 6, "b", "g", 1)
	play(t, c, []line{
		{"-BUSYGROUP Consumer Group name already exists\r\n", "subscribed 5 qos 1", ""},
		{"+OK\r\n", "subscribed 6 qos 1", readOf("g", "STREAMS", "a", "b", "0", ">")},
		{"%1\r\n", "", ""},
		{"$1\r\na\r\n*3\r\n", "", ""},
		{entry("1-0", "d", "x"), "delivered 5 qos 1 a x again", ""},
		{"*2\r\n$3\r\n1-1\r\n*-1\r\n", "", ""},
		{"*2\r\n$3\r\n1-2\r\n_\r\n", "", words("XACK", "a", "g", "1-0", "1-1", "1-2") + readOf("g", "STREAMS", "a", "b", "1-2", ">")},
		{":3\r\n", "", ""},
		{"%2\r\n", "", ""},
		{"$1\r\na\r\n*0\r\n", "", ""},
		{"$1\r\nb\r\n*1\r\n", "", ""},
		{entry("3-0", "d", "y"), "delivered 6 qos 1 b y", words("XACK", "b", "g", "3-0") + readOf("g", "STREAMS", "a", "b", ">", ">")},
	})
}

// TestStreamsTurns: groups are read in turn, each for its part of the time.
func TestStreamsTurns(t *testing.T) {
	c := acceptedStreams(t, &Config{Block: time.Second, Batch: 7})
	join(t, c, 1, "a", "g", 1)
	join(t, c, 2, "a", "h", 1)
	read := func(group string) string {
		return words("XREADGROUP", "GROUP", group, "me", "COUNT", "7", "BLOCK", "500", "STREAMS", "a", ">")
	}
	play(t, c, []line{
		{"+OK\r\n", "subscribed 1 qos 1", ""},
		{"+OK\r\n", "subscribed 2 qos 1", read("h")},
		{"_\r\n", "", read("g")},
		{"_\r\n", "", read("h")},
		{"%1\r\n", "", ""},
		{"$1\r\na\r\n*1\r\n", "", ""},
		{entry("1-0", "d", "x"), "delivered 2 qos 1 a x", words("XACK", "a", "h", "1-0") + read("g")},
	})
}

// TestStreamsLaterSubscription: one that is asked for while a read waits is confirmed afterwards, and read from then on.
func TestStreamsLaterSubscription(t *testing.T) {
	c := acceptedStreams(t, &Config{})
	join(t, c, 1, "a", "g", 1)
	play(t, c, []line{{"+OK\r\n", "subscribed 1 qos 1", readOf("g", "STREAMS", "a", ">")}})
	join(t, c, 2, "b", "g", 1)
	join(t, c, 3, "secret", "g", 1)
	c.Barrier(4, nil)
	play(t, c, []line{
		{"_\r\n", "", ""},
		{"+OK\r\n", "subscribed 2 qos 1", ""},
		{"-NOPERM No permissions to access a key\r\n", "subscribed 3 qos 0 " +
			"redis: server: NOPERM No permissions to access a key: not authorised: the ACL of this user does not allow it", readOf("g", "STREAMS", "a", "b", ">", ">")},
		{pong, "barrier 4 qos 0", ""},
	})
	accept(t, c, &Config{})
	if join(t, c, 2, "b", "g", 1); len(c.streams) != 1 || len(c.groups) != 1 {
		t.Errorf("a new connection remembers %d streams", len(c.streams))
	}
}

func TestStreamsSubscribeRefused(t *testing.T) {
	c := acceptedStreams(t, &Config{})
	join(t, c, 1, "a", "g", 1)
	for _, r := range []struct {
		s    proto.Subscription
		want string
	}{
		{proto.Subscription{Topic: "a", Group: "g"}, `already subscribed to "a" in group "g"`},
		{proto.Subscription{Topic: "a", QoS: 2}, "only QoS 0 and 1"},
		{proto.Subscription{Topic: strings.Repeat("a", maxLine+1)}, "topic of 65537 bytes"},
	} {
		_, err := c.Subscribe(&r.s, nil)
		says(t, err, r.want)
	}
	nameless := NewStreams(&Config{}, "")
	if _, err := nameless.Subscribe(&proto.Subscription{Topic: "a"}, nil); err != errNotReady {
		t.Errorf("before Ready: %v", err)
	}
	accept(t, nameless, &Config{})
	_, err := nameless.Subscribe(&proto.Subscription{Topic: "a"}, nil)
	says(t, err, "needs a name")
}

// TestStreamsForeignEntries: the payload is field d, wherever it stands, or else the first field.
func TestStreamsForeignEntries(t *testing.T) {
	for in, want := range map[string]string{
		words("k", "v", "d", "x", "d", "y"): "delivered 1 qos 1 a x",
		words("k", "v", "l", "w"):           "delivered 1 qos 1 a v",
		"*0\r\n":                            "",
	} {
		c := acceptedStreams(t, &Config{})
		join(t, c, 1, "a", "g", 1)
		read := readOf("g", "STREAMS", "a", ">")
		play(t, c, []line{
			{"+OK\r\n", "subscribed 1 qos 1", read},
			{"%1\r\n", "", ""},
			{"$1\r\na\r\n*1\r\n", "", ""},
			{"*2\r\n$3\r\n1-0\r\n" + in, want, words("XACK", "a", "g", "1-0") + read},
		})
	}
}

func TestStreamsViolations(t *testing.T) {
	for in, want := range map[string]string{
		"-NOGROUP No such key\r\n":                                     "NOGROUP|was deleted",
		"-UNBLOCKED the stream key\r\n":                                "UNBLOCKED|was deleted",
		":1\r\n":                                                       "what was not asked",
		"%1\r\n$1\r\nx\r\n*1\r\n":                                      "what was not asked",
		"%1\r\n$1\r\na\r\n:1\r\n":                                      "lacks its content",
		"*1\r\n*3\r\n$1\r\na\r\n*1\r\n":                                "lacks its content",
		"%1\r\n$1\r\na\r\n*1\r\n*3\r\n$3\r\n1-0\r\n*0\r\n":             "lacks its content",
		"%1\r\n$1\r\na\r\n*1\r\n*2\r\n$3\r\n1-0\r\n*1\r\n+x\r\n":       "lacks its content",
		"%1\r\n$1\r\na\r\n*1\r\n*2\r\n$3\r\n1-0\r\n*2\r\n+x\r\n:1\r\n": "where a string belongs",
	} {
		c := acceptedStreams(t, &Config{})
		join(t, c, 1, "a", "g", 1)
		step(t, c, "+OK\r\n")
		_, _, err := drain(c, in)
		says(t, err, want)
	}
}

// TestStreamsClaim: what others have left is looked for at the beginning and whenever it is quiet, part by part, in the forms of
// Redis 7 and 6.
func TestStreamsClaim(t *testing.T) {
	c := acceptedStreams(t, &Config{ClaimIdle: 3 * time.Second})
	join(t, c, 5, "a", "g", 1)
	read := readOf("g", "STREAMS", "a", ">")
	claim := func(from string) string {
		return words("XAUTOCLAIM", "a", "g", "me", "3000", from, "COUNT", "256")
	}
	play(t, c, []line{
		{"+OK\r\n", "subscribed 5 qos 1", claim("0-0")},
		{"*3\r\n$3\r\n0-0\r\n*0\r\n", "", ""},
		{"*0\r\n", "", read},
		{"_\r\n", "", claim("0-0")},
		{"*3\r\n$3\r\n2-0\r\n*2\r\n", "", ""},
		{entry("1-0", "d", "x"), "delivered 5 qos 1 a x again", ""},
		{entry("1-1", "d", "y"), "delivered 5 qos 1 a y again", words("XACK", "a", "g", "1-0", "1-1")},
		{words("1-2"), "", claim("2-0")},
		{":2\r\n", "", ""},
		{"*2\r\n$3\r\n0-0\r\n*2\r\n", "", ""},
		{entry("2-0", "d", "z"), "delivered 5 qos 1 a z again", ""},
		{"*-1\r\n", "", words("XACK", "a", "g", "2-0") + read},
		{":1\r\n", "", ""},
		{"%1\r\n", "", ""},
		{"$1\r\na\r\n*1\r\n", "", ""},
		{entry("3-0", "d", "n"), "delivered 5 qos 1 a n", words("XACK", "a", "g", "3-0") + read},
	})
	for in, want := range map[string]string{
		"*1\r\n$3\r\n0-0\r\n":        "lacks its content",
		"*3\r\n$3\r\n0-0\r\n:1\r\n":  "lacks its content",
		"-NOGROUP No such group\r\n": "NOGROUP",
		"%3\r\n$3\r\n0-0\r\n*0\r\n":  "lacks its content",
		"*2\r\n:1\r\n*0\r\n":         "where a string belongs",
	} {
		c := acceptedStreams(t, &Config{ClaimIdle: time.Second})
		join(t, c, 1, "a", "g", 1)
		step(t, c, "+OK\r\n")
		_, _, err := drain(c, in)
		says(t, err, want)
	}
}
