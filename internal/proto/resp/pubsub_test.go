package resp

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/mqlab/mqlab/internal/proto"
)

func TestPublish(t *testing.T) {
	for _, c := range []struct{ topic, payload string }{
		{"a", ""},
		{"a/b", "hello"},
		{"", "x"},
		{"a\r\nb", "\r\n\x00\xff"},
		{strings.Repeat("t", 99), strings.Repeat("p", 1000)},
		{strings.Repeat("t", 100), strings.Repeat("p", 999)},
	} {
		cl := accepted(t, &Config{})
		out, err := cl.Publish(&proto.Message{Topic: []byte(c.topic), Payload: []byte(c.payload)}, []byte("before"))
		if want := "before" + words("PUBLISH", c.topic, c.payload); err != nil || string(out) != want {
			t.Errorf("%v: encoded %.90q, want %.90q", err, out, want)
		}
	}
}

func TestSubscribe(t *testing.T) {
	cl := accepted(t, &Config{})
	for _, c := range []struct {
		topic, group string
		qos          uint8
		want, err    string
	}{
		{topic: "a/b", want: words("SUBSCRIBE", "a/b")},
		{topic: "a/*", qos: 1, want: words("PSUBSCRIBE", "a/*")},
		{topic: "a[b]?", want: words("SUBSCRIBE", "a[b]?")},
		{topic: "a", group: "g", err: "pub/sub has no groups"},
		{topic: "a", qos: 2, err: "only QoS 0 and 1"},
		{topic: strings.Repeat("a", maxLine+1), err: "topic of 65537 bytes"},
	} {
		out, err := cl.Subscribe(&proto.Subscription{Token: 5, Topic: c.topic, Group: c.group, QoS: c.qos}, nil)
		says(t, err, c.err)
		if string(out) != c.want {
			t.Errorf("%q: sent %q", c.topic, out)
		}
	}
	if _, err := NewPubSub(&Config{}, "").Subscribe(&proto.Subscription{Topic: "a"}, nil); err != errNotReady {
		t.Errorf("before Ready: %v", err)
	}
}

// ask subscribes with this token.
func ask(t *testing.T, c proto.Client, token uint64, topic string) {
	t.Helper()
	if _, err := c.Subscribe(&proto.Subscription{Token: token, Topic: topic, QoS: 1}, nil); err != nil {
		t.Fatal(err)
	}
}

// TestSubscribed: confirmations are pushes, refusals are answers; both come in the order of the commands.
func TestSubscribed(t *testing.T) {
	for _, resp2 := range []bool{false, true} {
		first := map[bool]string{false: ">", true: "*"}[resp2]
		cl := accepted(t, &Config{RESP2: resp2})
		cl.Barrier(1, nil)
		ask(t, cl, 5, "a")
		ask(t, cl, 6, "secret")
		ask(t, cl, 7, "b*")
		for _, c := range []struct {
			in    string
			kind  proto.Kind
			token uint64
			err   string
		}{
			{pong, proto.Barrier, 1, ""},
			{first + "3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n", proto.Subscribed, 5, ""},
			{first + "3\r\n$7\r\nmessage\r\n$1\r\na\r\n$0\r\n\r\n", proto.Delivered, 0, ""},
			{"-NOPERM this user has no permissions to access one of the channels used as arguments\r\n", proto.Subscribed, 6, "NOPERM|ACL"},
			{first + "3\r\n$10\r\npsubscribe\r\n$2\r\nb*\r\n:2\r\n", proto.Subscribed, 7, ""},
		} {
			ev, out := step(t, cl, c.in)
			says(t, ev.Err, c.err)
			if ev.Kind != c.kind || ev.Token != c.token || ev.QoS != 0 || out != "" {
				t.Errorf("%q: %+v, answered by %q", c.in, ev, out)
			}
		}
		_, err := cl.Publish(&proto.Message{Topic: []byte("a")}, nil)
		says(t, err, map[bool]string{true: "with RESP2 a connection that has subscribed cannot publish"}[resp2])
		cl.Barrier(2, nil)
		answer := map[bool]string{false: pong, true: "*2\r\n$4\r\npong\r\n$0\r\n\r\n"}[resp2]
		if resp2 {
			if ev, _ := step(t, cl, answer); ev.Kind != proto.Barrier || ev.Token != 2 {
				t.Errorf("%+v", ev)
			}
		}
	}
}

func TestDelivered(t *testing.T) {
	for _, c := range []struct{ in, topic, payload string }{
		{">3\r\n$7\r\nmessage\r\n$3\r\na/b\r\n$5\r\nhello\r\n", "a/b", "hello"},
		{">4\r\n$8\r\npmessage\r\n$3\r\na/*\r\n$3\r\na/b\r\n$5\r\nhello\r\n", "a/b", "hello"},
		{">3\r\n$7\r\nmessage\r\n$0\r\n\r\n$0\r\n\r\n", "", ""},
		{">3\r\n$7\r\nmessage\r\n$1\r\na\r\n$4\r\n\r\n\r\n\r\n", "a", "\r\n\r\n"},
		{">3\r\n+message\r\n+a\r\n=6\r\ntxt:ab\r\n", "a", "txt:ab"},
	} {
		cl := accepted(t, &Config{})
		ev, _ := step(t, cl, c.in)
		if ev.Kind != proto.Delivered || string(ev.Topic) != c.topic || string(ev.Payload) != c.payload || ev.QoS != 0 {
			t.Errorf("%q: %+v", c.in, ev)
		}
	}
}

func TestIgnored(t *testing.T) {
	cl := accepted(t, &Config{})
	for _, in := range []string{
		">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\na\r\n",
		">3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:0\r\n",
		"|1\r\n+ttl\r\n:3600\r\n",
	} {
		if ev, out := step(t, cl, in); ev.Kind != proto.None || ev.Err != nil || out != "" {
			t.Errorf("%q: %+v, answered by %q", in, ev, out)
		}
	}
}

func TestViolations(t *testing.T) {
	for in, want := range map[string]string{
		">3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n": "what was not asked",
		">2\r\n$7\r\nmessage\r\n$1\r\na\r\n":         "lacks its content",
		">3\r\n$8\r\npmessage\r\n$1\r\na\r\n+b\r\n":  "lacks its content",
		">0\r\n":                           "lacks its content",
		">2\r\n$4\r\npong\r\n$0\r\n\r\n":   "what was not asked",
		">3\r\n:1\r\n":                     `":" where a string belongs`,
		">3\r\n$x\r\n":                     "not followed by a number",
		">3\r\n$536870913\r\n":             "out of bounds",
		">1048577\r\n":                     "out of bounds",
		">-1\r\n":                          "out of bounds",
		"$1\r\nabc":                        "does not end where it says",
		"+" + strings.Repeat("x", maxLine): "line of more than",
		"+x\n":                             "without CR",
		":99999999999999999999\r\n":        "not followed by a number",
		":1\rx":                            "not followed by a number",
		":\r\n":                            "not followed by a number",
	} {
		cl := accepted(t, &Config{})
		_, _, err := drain(cl, in)
		says(t, err, want)
	}
	cl := accepted(t, &Config{})
	ask(t, cl, 1, "a")
	_, _, err := drain(cl, ":1\r\n")
	says(t, err, "what was not asked")
}

func TestExplain(t *testing.T) {
	cl := accepted(t, &Config{})
	if err := cl.Explain(io.EOF); err != io.EOF {
		t.Errorf("a publisher: %v", err)
	}
	cl = accepted(t, &Config{})
	ask(t, cl, 1, "a")
	err := cl.Explain(io.EOF)
	says(t, err, "the server may have cut off a slow subscriber (client-output-buffer-limit pubsub)")
	if !errors.Is(err, io.EOF) {
		t.Error("the cause is lost")
	}
	if err := cl.Explain(io.EOF); err != io.EOF {
		t.Errorf("an attempt to connect again: %v", err)
	}
}
