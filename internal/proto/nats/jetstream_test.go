package nats

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
)

var testStream = Stream{Name: "S", Subjects: []string{"a.*"}, Storage: StorageMemory}

// inboxMessage is what a server sends to the inbox of client "me".
func inboxMessage(last, payload string) string {
	return fmt.Sprintf("MSG _INBOX.me.%s 1 %d\r\n%s\r\n", last, len(payload), payload)
}

// statusMessage is a status that a server sends to a subscription of client "me".
func statusMessage(last string, sid int, headers string) string {
	headers = "NATS/1.0 " + headers + "\r\n\r\n"
	return fmt.Sprintf("HMSG _INBOX.me.%s %d %d %d\r\n%s\r\n", last, sid, len(headers), len(headers), headers)
}

const (
	created = `{"type":"io.nats.jetstream.api.v1.stream_create_response","config":{}}`
	refused = `{"type":"x","error":{"code":400,"err_code":10065,"description":"subjects overlap with an existing stream"}}`
)

// withStream is a JetStream client whose stream exists.
func withStream(t testing.TB, stream *Stream) *JetStream {
	t.Helper()
	c := NewJetStream(&Config{}, stream, "me")
	c.Open(0, nil)
	for _, in := range []string{greeting, "PONG\r\n", inboxMessage("s", created)} {
		if ev, _ := step(t, c, in); ev.Err != nil {
			t.Fatal(ev.Err)
		}
	}
	if c.Room(1) == 0 {
		t.Fatal("not ready")
	}
	return c
}

// consuming is a client with one consumer.
func consuming(t testing.TB, stream *Stream, qos uint8) *JetStream {
	t.Helper()
	c := withStream(t, stream)
	if _, err := c.Subscribe(&proto.Subscription{Token: 7, Topic: "a.*", QoS: qos}, nil); err != nil {
		t.Fatal(err)
	}
	ev, out := step(t, c, inboxMessage("c0", created))
	if ev.Kind != proto.Subscribed || ev.Token != 7 || ev.QoS != qos || ev.Err != nil {
		t.Fatalf("got %+v", ev)
	}
	const pull = "PUB $JS.API.CONSUMER.MSG.NEXT.S.me_2ea_2e_2a _INBOX.me.d.0 "
	if !strings.HasPrefix(out, pull) || !strings.Contains(out, `{"batch":500,"expires":30000000000}`) {
		t.Fatalf("the first pull is not on its way: %q", out)
	}
	return c
}

func TestJetStreamConnects(t *testing.T) {
	c := NewJetStream(&Config{}, &testStream, "me")
	c.Open(0, nil)
	_, out := step(t, c, greeting)
	if !strings.Contains(out, `"no_responders":true`) {
		t.Errorf("CONNECT is %q", out)
	}
	ev, out := step(t, c, "PONG\r\n")
	if ev.Kind != proto.None || c.Room(1) != 0 {
		t.Errorf("ready before the stream exists: %+v", ev)
	}
	const want = "SUB _INBOX.me.* 1\r\nPUB $JS.API.STREAM.CREATE.S _INBOX.me.s "
	if !strings.HasPrefix(out, want) || !strings.Contains(out, `"subjects":["a.*"]`) {
		t.Errorf("asks %q", out)
	}
	if _, err := c.Publish(&proto.Message{Topic: []byte("a.b"), QoS: 1}, nil); err == nil {
		t.Error("published before the stream exists")
	}
	if _, err := c.Subscribe(&proto.Subscription{Topic: "a.b"}, nil); err == nil {
		t.Error("subscribed before the stream exists")
	}
	if ev, _ = step(t, c, inboxMessage("s", created)); ev.Kind != proto.Ready {
		t.Errorf("got %+v", ev)
	}
	if ev, _ = step(t, c, inboxMessage("s", created)); ev.Kind != proto.None {
		t.Errorf("ready twice: %+v", ev)
	}
}

func TestJetStreamRefused(t *testing.T) {
	for answer, want := range map[string]string{
		inboxMessage("s", refused):     "subjects overlap with an existing stream (10065)",
		statusMessage("s", 1, "503"):   "JetStream off",
		inboxMessage("s", "?"):         "makes no sense",
		inboxMessage("s", `{"seq":1}`): "makes no sense",
	} {
		c := NewJetStream(&Config{}, &testStream, "me")
		c.Open(0, nil)
		step(t, c, greeting)
		step(t, c, "PONG\r\n")
		var ev proto.Event
		if _, _, err := c.Feed(0, []byte(answer), nil, &ev); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", answer, err)
		}
	}
	c := withStream(t, &testStream)
	if _, err := c.Subscribe(&proto.Subscription{Topic: "a.*"}, nil); err != nil {
		t.Fatal(err)
	}
	ev, out := step(t, c, inboxMessage("c0", refused))
	if ev.Kind != proto.Subscribed || ev.Err == nil || out != "" {
		t.Errorf("got %+v, answered %q", ev, out)
	}
}

func TestJetStreamPublish(t *testing.T) {
	c := withStream(t, &testStream)
	for qos, want := range []string{"PUB a.b 2\r\nhi\r\n", "PUB a.b _INBOX.me.12 2\r\nhi\r\n"} {
		out, err := c.Publish(&proto.Message{Token: 12, Topic: []byte("a.b"), Payload: []byte("hi"), QoS: uint8(qos)}, nil)
		if err != nil || string(out) != want {
			t.Errorf("QoS %d: %q, %v", qos, out, err)
		}
	}
	for _, m := range []proto.Message{
		{Topic: []byte("a.b"), QoS: 2}, {Topic: []byte("a.*"), QoS: 1}, {Topic: []byte("a"), QoS: 1, Token: 1e19},
	} {
		if out, err := c.Publish(&m, nil); err == nil || len(out) > 0 {
			t.Errorf("%+v passes", m)
		}
	}
}

func TestJetStreamAcks(t *testing.T) {
	c := withStream(t, &testStream)
	for payload, want := range map[string]string{
		`{"stream":"S", "seq":1}`:                 "",
		`{"stream":"S","seq":18}`:                 "",
		`{"stream":"S","domain":"D","seq":18}`:    "",
		`{"stream":"S","seq":4,"duplicate":true}`: "duplicate",
		`{"error":{"code":503,"err_code":10077,"description":"maximum messages exceeded"},"stream":"S","seq":0}`: "maximum messages exceeded (10077)",
		`{"stream":"S","seq":0}`:  "makes no sense",
		`{"stream":"","seq":3}`:   "makes no sense",
		`{"stream":"S","seq":3`:   "makes no sense",
		`{"stream":"S\","seq":3}`: "makes no sense",
		``:                        "makes no sense",
	} {
		ev, _ := step(t, c, inboxMessage("3", payload))
		if ev.Kind != proto.Acked || ev.Token != 3 {
			t.Fatalf("%s: %+v", payload, ev)
		}
		if (ev.Err == nil) != (want == "") || ev.Err != nil && !strings.Contains(ev.Err.Error(), want) {
			t.Errorf("%s: %v", payload, ev.Err)
		}
	}
	if ev, _ := step(t, c, statusMessage("3", 1, "503")); ev.Kind != proto.Acked || !strings.Contains(ev.Err.Error(), "no stream takes this subject") {
		t.Errorf("got %+v", ev)
	}
	for _, last := range []string{"c9", "cx", "x", "12.a", ""} {
		if ev, out := step(t, c, inboxMessage(last, created)); ev.Kind != proto.None || ev.Err != nil || out != "" {
			t.Errorf("an answer to nothing (%q) is reported as %+v, %q", last, ev, out)
		}
	}
}

func TestJetStreamDeliveries(t *testing.T) {
	const message = "MSG a.b 2 %s 2\r\nhi\r\n"
	for reply, again := range map[string]bool{
		"$JS.ACK.S.C.1.5.5.1700000000000000000.0":              false,
		"$JS.ACK.S.C.2.5.5.1700000000000000000.0":              true,
		"$JS.ACK.hub.A1B2.S.C.1.5.5.1700000000000000000.0.x7":  false,
		"$JS.ACK.hub.A1B2.S.C.13.5.5.1700000000000000000.0.x7": true,
		"$JS.ACK.S": false,
	} {
		holding := testStream
		holding.HoldAcks = true
		for _, c := range []struct {
			client *JetStream
			acks   bool
			qos    uint8
		}{
			{consuming(t, &testStream, 1), true, 1},
			{consuming(t, &testStream, 0), false, 0},
			{consuming(t, &holding, 1), false, 1},
		} {
			ev, out := step(t, c.client, fmt.Sprintf(message, reply))
			if ev.Kind != proto.Delivered || ev.Token != 7 || ev.QoS != c.qos || ev.Redelivered != again || string(ev.Topic) != "a.b" {
				t.Errorf("%s: got %+v", reply, ev)
			}
			want := ""
			if c.acks {
				want = "PUB " + reply + " 4\r\n+ACK\r\n"
			}
			if out != want {
				t.Errorf("%s, QoS %d: answered %q", reply, c.qos, out)
			}
		}
	}
}

// TestJetStreamPulls: there are never fewer than half a batch asked for, nor more than a batch.
func TestJetStreamPulls(t *testing.T) {
	c := consuming(t, &testStream, 0)
	asked := batch
	const message = "MSG a.b 2 $JS.ACK.S.C.1.5.5.1.0 0\r\n\r\n"
	for range 3 * batch {
		asked--
		_, out := step(t, c, message)
		if _, after, found := strings.Cut(out, `{"batch":`); found {
			n := 0
			if _, err := fmt.Sscan(after[:strings.IndexByte(after, ',')], &n); err != nil {
				t.Fatal(err)
			}
			asked += n
		}
		if asked <= batch/2 || asked > batch {
			t.Fatalf("%d messages are asked for", asked)
		}
	}
	ev, out := step(t, c, statusMessage("d.0", 2, "408 Request Timeout\r\nNats-Pending-Messages: 10\r\nNats-Pending-Bytes: 0"))
	if ev.Kind != proto.None || ev.Err != nil || out != "" && asked > batch/2+10 {
		t.Errorf("got %+v, %q", ev, out)
	}
	_, out = step(t, c, statusMessage("d.0", 2, "408 Request Timeout"))
	if !strings.Contains(out, `{"batch":500,`) {
		t.Errorf("when all has expired it asks %q", out)
	}
}

func TestJetStreamStatus(t *testing.T) {
	for headers, want := range map[string]string{
		"409 Consumer Deleted":    "Consumer Deleted",
		"409 Exceeded MaxWaiting": "Exceeded MaxWaiting",
		"503":                     "is gone",
		"409 Leadership Change":   "",
		"404 No Messages":         "",
		"100 Idle Heartbeat":      "",
	} {
		c := consuming(t, &testStream, 1)
		ev, out := step(t, c, statusMessage("d.0", 2, headers))
		if ev.Kind != proto.None || (ev.Err == nil) != (want == "") || ev.Err != nil && !strings.Contains(ev.Err.Error(), want) {
			t.Errorf("%s: got %+v", headers, ev)
		}
		if pulls := strings.Contains(out, "MSG.NEXT"); pulls != (want == "" && !strings.HasPrefix(headers, "100")) {
			t.Errorf("%s: answered %q", headers, out)
		}
	}
}

func TestJetStreamAsksAgain(t *testing.T) {
	c := consuming(t, &testStream, 1)
	next, out, err := c.Tick(1, nil)
	if err != nil || len(out) > 0 || next != int64(expires+lost) {
		t.Fatalf("Tick = %v, %q, %v", time.Duration(next), out, err)
	}
	next, out, _ = c.Tick(next, nil)
	if !strings.Contains(string(out), `{"batch":500,`) || next != 2*int64(expires+lost) {
		t.Errorf("Tick = %v, %q", time.Duration(next), out)
	}
}

func TestJetStreamClose(t *testing.T) {
	ending := testStream
	ending.Delete = true
	if out := withStream(t, &ending).Close(nil); !strings.HasPrefix(string(out), "PUB $JS.API.STREAM.DELETE.S ") {
		t.Errorf("says %q", out)
	}
	if out := withStream(t, &testStream).Close(nil); len(out) > 0 {
		t.Errorf("says %q", out)
	}
}

func TestJetStreamSubscribeRefusedLocally(t *testing.T) {
	c := withStream(t, &testStream)
	for _, s := range []proto.Subscription{
		{Topic: "a", QoS: 2}, {Topic: ""}, {Topic: "a b"}, {Topic: strings.Repeat("a", 300)},
	} {
		if out, err := c.Subscribe(&s, nil); err == nil || len(out) > 0 {
			t.Errorf("%+v passes", s)
		}
	}
}

func TestStreamValidate(t *testing.T) {
	if err := testStream.Validate(); err != nil {
		t.Error(err)
	}
	for _, s := range []Stream{
		{Name: "a.b", Subjects: []string{"a"}, Storage: StorageFile},
		{Subjects: []string{"a"}, Storage: StorageFile},
		{Name: "a", Storage: StorageFile},
		{Name: "a", Subjects: []string{"a..b"}, Storage: StorageFile},
		{Name: "a", Subjects: []string{"a"}, Storage: "tape"},
	} {
		if s.Validate() == nil {
			t.Errorf("%+v passes", s)
		}
	}
}

// TestTokensDiffer: two names never become one token.
func TestTokensDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, text := range []string{"a.b", "a_b", "a b", "a_2eb", "a*", "a>", "a/b", "ab", "ä", "a-b", ""} {
		if other, twice := seen[token(text)]; twice {
			t.Errorf("%q and %q are both %q", text, other, token(text))
		}
		if strings.ContainsAny(token(text), ". *>/\\") {
			t.Errorf("%q becomes %q", text, token(text))
		}
		seen[token(text)] = text
	}
}

// TestJetStreamHotPathAllocatesNothing: publishing, confirmations, deliveries with their acknowledgements, and pulls.
func TestJetStreamHotPathAllocatesNothing(t *testing.T) {
	c := consuming(t, &testStream, 1)
	in := []byte(inboxMessage("12", `{"stream":"S", "seq":123456}`) + "MSG a.b 2 $JS.ACK.S.C.1.5.5.1700000000000000000.0 2\r\nhi\r\n")
	m := proto.Message{Token: 12, Topic: []byte("a.b"), Payload: []byte("hi"), QoS: 1}
	out := make([]byte, 0, 4096)
	var ev proto.Event
	if n := testing.AllocsPerRun(3*batch, func() {
		out, _ = c.Publish(&m, out[:0])
		for rest := in; len(rest) > 0; {
			n, o, err := c.Feed(0, rest, out, &ev)
			if err != nil || ev.Err != nil || ev.Kind == proto.None {
				t.Fatalf("%+v, %v", ev, err)
			}
			rest, out = rest[n:], o
		}
	}); n != 0 {
		t.Errorf("%v allocations per message", n)
	}
}
