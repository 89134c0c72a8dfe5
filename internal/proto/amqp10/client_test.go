package amqp10

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/mqlab/mqlab/internal/proto"
)

func TestHandshake(t *testing.T) {
	cfg := &Config{
		User: "u", Password: "p", Host: "vhost:lab", FrameMax: 5000, SenderFirst: true,
		Target: Terminus{Address: "x", Durability: UnsettledState, Expiry: "never", Capabilities: []string{"topic", "other"}},
	}
	p := connect(t, cfg, &ServerConfig{User: "u", Password: "p", FrameMax: 4000})
	if p.client.sendMax != 4000 || p.server.sendMax != 4000 || p.client.receiveMax != 5000 {
		t.Errorf("frames of %d bytes from the client, %d from the server", p.client.sendMax, p.server.sendMax)
	}
	for _, want := range []string{headerSASL, headerAMQP, "\x00u\x00p", "vhost:lab", "never", "\x05topic\x05other"} {
		if !strings.Contains(string(p.said), want) {
			t.Errorf("the client never said %q", want)
		}
	}
	if p.client.Room(0) != 100 || p.client.Room(1) != 100 || p.client.Room(2) != 0 {
		t.Errorf("room for %d", p.client.Room(0))
	}
}

func TestHandshakeRefused(t *testing.T) {
	mechanisms := join([]byte(headerSASL), appendMechanisms(nil, "PLAIN", "ANONYMOUS"))
	authenticated := join(mechanisms, appendOutcome(nil, 0))
	opened := join(authenticated, []byte(headerAMQP), raw(doOpen, "broker"))
	closing := raw(doClose, failure(condUnauthorized, "go away"))
	for name, c := range map[string]struct {
		cfg  Config
		in   []byte
		want []string
	}{
		"password":     {in: join(mechanisms, appendOutcome(nil, 1)), want: []string{"refused the connection: SASL PLAIN failed (1): not authorized"}},
		"busy":         {in: join(mechanisms, appendOutcome(nil, 4)), want: []string{"SASL PLAIN failed (4)", "failed for now"}},
		"odd":          {in: join(mechanisms, appendOutcome(nil, 99)), want: []string{"(99): unknown reason"}},
		"no outcome":   {in: join(mechanisms, raw(saslOutcome, "x")), want: []string{"malformed sasl-outcome"}},
		"mechanism":    {cfg: Config{Mechanism: "EXTERNAL"}, in: mechanisms, want: []string{"EXTERNAL", "PLAIN ANONYMOUS"}},
		"challenge":    {in: join(mechanisms, raw(saslChallenge, "x")), want: []string{"second step"}},
		"close":        {in: join(authenticated, []byte(headerAMQP), closing), want: []string{"refused the connection: amqp:unauthorized-access: not authorized: \"go away\""}},
		"late close":   {in: join(opened, closing), want: []string{"refused the connection: amqp:unauthorized-access"}},
		"no reason":    {in: join(opened, raw(doClose)), want: []string{"refused the connection without a reason"}},
		"end":          {in: join(opened, raw(doEnd, failure("x:y", ""))), want: []string{"ended the session: x:y"}},
		"small frames": {in: join(authenticated, []byte(headerAMQP), raw(doOpen, "b", nil, 100)), want: []string{"up to 100 bytes"}},
		"order":        {in: join(authenticated, []byte(headerAMQP), raw(doBegin, nil, 0, 1, 1)), want: []string{"unexpected begin"}},
		"sasl again":   {in: join(opened, appendOutcome(nil, 0)), want: []string{"unexpected sasl-outcome"}},
		"channel":      {in: join(opened, []byte{0, 0, 0, 12, 2, 0, 0, 5, 0, codeULSmall, 0x11, codeList0}), want: []string{"begin on channel 5"}},
		"kind":         {in: join(opened, []byte{0, 0, 0, 12, 2, 1, 0, 0, 0, codeULSmall, 0x11, codeList0}), want: []string{"begin in a frame of type 1"}},
		"head":         {in: join(opened, []byte{0, 0, 0, 12, 1, 0, 0, 0, 0, codeULSmall, 0x11, codeList0}), want: []string{"malformed frame head"}},
		"body":         {in: join(opened, []byte{0, 0, 0, 9, 2, 0, 0, 0, codeNull}), want: []string{"malformed frame of 9 bytes"}},
		"large frame":  {in: join(opened, []byte{0, 1, 0, 0}), cfg: Config{FrameMax: 512}, want: []string{"65536 bytes exceeds", "512 bytes"}},
		"tiny frame":   {in: join(opened, []byte{0, 0, 0, 7}), want: []string{"a frame of 7 bytes"}},
		"AMQP 0-9-1":   {in: []byte("AMQP\x00\x00\x09\x01"), want: []string{"the peer wants AMQP 0-9-1, not AMQP 1.0 with SASL"}},
		"AMQP 0-9":     {in: []byte("AMQP\x01\x01\x00\x09"), want: []string{"wants AMQP 0-9,"}},
		"no SASL":      {in: []byte(headerAMQP), want: []string{"the peer wants AMQP 1.0 without SASL, not"}},
		"TLS inside":   {in: []byte("AMQP\x02\x01\x00\x00"), want: []string{"wants AMQP 1.0 over TLS"}},
		"second":       {in: join(authenticated, []byte("AMQP\x00\x02\x00\x00")), want: []string{"wants AMQP 2.0"}},
		"TLS":          {in: []byte("\x15\x03\x01"), want: []string{"looks like TLS"}},
		"HTTP":         {in: []byte("HTTP/1.1 400"), want: []string{"looks like HTTP"}},
		"noise":        {in: []byte("noise"), want: []string{`begins with "n"`}},
		"target": {
			cfg: Config{Target: Terminus{Address: "x"}, SenderFirst: true},
			in: join(opened, raw(doBegin, uint16(0), 0, 9, 9), raw(doAttach, "s0", 0, true, nil, nil, nil, nil),
				raw(doDetach, 0, true, failure(condNotFound, "no x"))),
			want: []string{`refused the sender: amqp:not-found: the address does not exist: "no x"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			client := NewClient(&c.cfg, "")
			client.Open(0, nil)
			_, _, err := final(t, client, c.in)
			says(t, err, c.want...)
		})
	}
}

// TestFirstMessageWaits: without a sender there is room for one message; it leaves once its sender has credit.
func TestFirstMessageWaits(t *testing.T) {
	c := dial(t, &Config{Target: Terminus{Address: "q/{topic}"}})
	if c.Room(0) != 1 || c.Room(1) != 1 {
		t.Errorf("room for %d", c.Room(0))
	}
	up, err := c.Publish(&proto.Message{Topic: []byte("a"), Payload: []byte("hello"), QoS: 1, Token: 7}, nil)
	if err != nil || !strings.Contains(string(up), "q/a") || strings.Contains(string(up), "hello") || c.Room(0) != 0 {
		t.Fatalf("%q, %v, room for %d", up, err, c.Room(0))
	}
	for _, topic := range []string{"a", "b"} {
		if _, err := c.Publish(&proto.Message{Topic: []byte(topic)}, nil); !errors.Is(err, ErrNoRoom) {
			t.Errorf("a second message: %v", err)
		}
	}
	for _, in := range [][]byte{attachedAs("s0", 0, true, modeMixed, 0), credit(0, 0, 0)} {
		if _, up := feedAll(t, c, in); len(up) > 0 || c.Room(0) != 0 {
			t.Errorf("without credit: %q, room for %d", up, c.Room(0))
		}
	}
	if _, up = feedAll(t, c, credit(0, 0, 3)); !strings.HasSuffix(string(up), "hello") || c.Room(0) != 2 {
		t.Errorf("with credit: %q, room for %d", up, c.Room(0))
	}
	up, err = c.Publish(&proto.Message{Topic: []byte("b"), Payload: []byte("other")}, nil)
	if err != nil || !strings.Contains(string(up), "q/b") || c.Room(0) != 0 {
		t.Fatalf("another topic: %q, %v, room for %d", up, err, c.Room(0))
	}
	feedAll(t, c, join(attachedAs("s1", 1, true, modeMixed, 0), credit(1, 0, 9)))
	if c.Room(0) != 2 { // the least of both
		t.Errorf("room for %d", c.Room(0))
	}
	if up, err := c.Publish(&proto.Message{Topic: []byte("a"), Payload: []byte("again")}, nil); err != nil || !strings.HasSuffix(string(up), "again") {
		t.Errorf("the first topic again: %q, %v", up, err)
	}
	if len(c.links) != 2 {
		t.Errorf("%d links for two topics", len(c.links))
	}
}

// TestSenderEnds: whatever is unsettled on a link that ends is refused, and the next message attaches it anew.
func TestSenderEnds(t *testing.T) {
	for name, answer := range map[string][]byte{
		"refused": raw(doAttach, "s0", 0, true, nil, nil, described(typeSource, "x"), nil),
		"ended":   join(attachedAs("s0", 0, true, modeMixed, 0), credit(0, 0, 10)),
	} {
		c := dial(t, &Config{Target: Terminus{Address: "{topic}"}})
		if _, err := c.Publish(&proto.Message{Topic: []byte("a"), QoS: 1, Token: 7}, nil); err != nil {
			t.Fatal(err)
		}
		events, down := feedAll(t, c, join(answer, raw(doDetach, 0, true, failure(condResource, "full"))))
		if len(events) != 2 || events[0].Kind != proto.Acked || events[0].Token != 7 || events[1].Kind != proto.None {
			t.Fatalf("%s: reported %+v", name, events)
		}
		for _, ev := range events {
			says(t, ev.Err, "broker "+name+" the sender: amqp:resource-limit-exceeded: it lacks resources", `"full"`)
		}
		if !strings.HasSuffix(string(down), string(raw(doDetach, 0, true, nil))) {
			t.Errorf("%s: answered %q", name, down)
		}
		if c.InFlight() != 0 || c.Room(1) != 1 || c.held != nil {
			t.Errorf("%s: %d in flight, room for %d", name, c.InFlight(), c.Room(1))
		}
		if up, err := c.Publish(&proto.Message{Topic: []byte("a")}, nil); err != nil || len(up) == 0 {
			t.Errorf("%s: again: %q, %v", name, up, err)
		}
	}
}

func TestSettled(t *testing.T) {
	c := benchSender(t, &Config{Target: Terminus{Address: "x"}, Window: 8})
	for token := range uint64(8) { // delivery 0 is of the harness
		if _, err := c.Publish(&proto.Message{Token: token + 1, QoS: 1}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Publish(&proto.Message{QoS: 1}, nil); !errors.Is(err, ErrNoRoom) || c.Room(1) != 0 || c.Room(0) == 0 {
		t.Errorf("beyond the window: %v", err)
	}
	received := described(typeReceived, 0, uint64(0))
	events, down := feedAll(t, c, join(
		raw(doDisposition, true, 2, nil, true, described(typeAccepted)), raw(doDisposition, true, 2, nil, true, described(typeAccepted)),
		raw(doDisposition, true, 1, 3, true, described(typeAccepted)), raw(doDisposition, true, 4, 4, false, received),
		raw(doDisposition, true, 4, 4, true, described(typeRejected, failure(condTooLarge, "x"))),
		raw(doDisposition, true, 5, nil, true, described(typeReleased)), raw(doDisposition, true, 6, nil, true, described(typeModified)),
		raw(doDisposition, true, 7, nil, true), raw(doDisposition, false, 0, 9999, true, described(typeAccepted)),
		raw(doDisposition, true, 0, 8, false, described(typeAccepted))))
	var got []string
	for _, ev := range events {
		got = append(got, fmt.Sprintf("%d %d %d %v", ev.Kind, ev.QoS, ev.Token, ev.Err))
	}
	want := []string{
		"5 1 2 <nil>", "5 1 1 <nil>", "5 1 3 <nil>",
		"5 1 4 amqp10: broker rejected the message: amqp:link:message-size-exceeded: the message is too large",
		"5 1 5 amqp10: broker released the message", "5 1 6 amqp10: broker returned the message (modified)",
		"5 1 7 amqp10: broker settled the message without saying what became of it", "5 1 8 <nil>",
	}
	for i := range want {
		if i >= len(got) || !strings.HasPrefix(got[i], want[i]) {
			t.Fatalf("reported %q\nwant %q", got, want)
		}
	}
	if len(got) != len(want) || c.InFlight() != 0 || c.Room(1) != 8 {
		t.Errorf("reported %q, %d in flight", got, c.InFlight())
	}
	if !strings.HasSuffix(string(down), string(appendDisposition(nil, false, 0, 8))) {
		t.Errorf("a settlement that waits for ours is answered by %q", down)
	}
	_, _, err := final(t, c, raw(doDisposition, true, 9, nil, true, described(typeAccepted)))
	says(t, err, "disposition for delivery 9, the next one is 9")
}

// TestDeliveryIDsWrap: ids are serial numbers.
func TestDeliveryIDsWrap(t *testing.T) {
	c := benchSender(t, &Config{Target: Terminus{Address: "x"}})
	c.nextDelivery = 1<<32 - 20
	for token := range uint64(40) {
		if _, err := c.Publish(&proto.Message{Token: token, QoS: 1}, nil); err != nil {
			t.Fatal(err)
		}
	}
	events, _ := feedAll(t, c, raw(doDisposition, true, 1<<32-20, 19, true, described(typeAccepted)))
	for i, ev := range events {
		if ev.Token != uint64(i) {
			t.Errorf("event %d is for token %d", i, ev.Token)
		}
	}
	if len(events) != 40 || c.InFlight() != 0 {
		t.Errorf("%d events, %d in flight", len(events), c.InFlight())
	}
}

// TestSettleModes: what the peer insists on, and the largest message it takes.
func TestSettleModes(t *testing.T) {
	c := dial(t, &Config{Target: Terminus{Address: "x"}})
	publish := func(qos uint8, size int) error {
		_, err := c.Publish(&proto.Message{Payload: make([]byte, size), QoS: qos}, nil)
		return err
	}
	if err := publish(0, 0); err != nil {
		t.Fatal(err)
	}
	feedAll(t, c, join(attachedAs("s0", 0, true, modeSettled, 100), credit(0, 0, 9)))
	says(t, publish(1, 0), "settled")
	if err := publish(0, 95); err != nil { // the data section takes 5 bytes
		t.Error(err)
	}
	says(t, publish(0, 96), "101 bytes", "100 bytes")
	c.sender.settles, c.sender.qos = false, 1
	if err := publish(0, 0); err != nil || c.InFlight() != 0 || c.sent == nil || c.sent.next == c.sent.first {
		t.Errorf("an unsettled message that nobody waits for: %v, %d in flight", err, c.InFlight())
	}
	if events, _ := feedAll(t, c, raw(doDisposition, true, 2, nil, true, described(typeAccepted))); len(events) != 0 || c.sent.next != c.sent.first {
		t.Errorf("reported %+v", events)
	}
}

// TestSessionWindow: no more frames than the window allows; the rest of a message follows later.
func TestSessionWindow(t *testing.T) {
	cfg := &Config{Target: Terminus{Address: "x"}, FrameMax: minFrame}
	c := benchSender(t, cfg)
	flow := func(window int) []byte { return raw(doFlow, int(c.nextOut), window, 0, 99) }
	feedAll(t, c, flow(2))
	payload := strings.Repeat("0123456789", 200)
	up, err := c.Publish(&proto.Message{Payload: []byte(payload), QoS: 1, Token: 5}, nil)
	if err != nil || len(up) > 2*minFrame || len(up) <= minFrame || c.Room(0) != 0 || c.held == nil {
		t.Fatalf("%d bytes, %v", len(up), err)
	}
	more, err := c.Publish(&proto.Message{Payload: []byte("small"), QoS: 1, Token: 6}, nil)
	if err != nil || len(more) > 0 {
		t.Fatalf("while something is held: %q, %v", more, err)
	}
	for range 20 {
		_, more := feedAll(t, c, flow(1))
		up = append(up, more...)
	}
	if c.held != nil || c.Room(0) == 0 {
		t.Error("something is held for ever")
	}
	server := NewServer(&ServerConfig{})
	server.Open(0, nil)
	events, _ := feedAll(t, server, join(connect(t, cfg, &ServerConfig{}).said,
		raw(doAttach, "s0", 0, false, nil, nil, described(typeSource, "x"), described(typeTarget, "x"), nil, nil, 0), up))
	if len(events) != 3 || string(events[1].Payload) != payload || string(events[2].Payload) != "small" {
		t.Errorf("%d events arrived", len(events))
	}
}

func TestIdleMemory(t *testing.T) {
	if n := unsafe.Sizeof(Client{}); n > 200 {
		t.Errorf("a client has %d bytes", n)
	}
	if n := unsafe.Sizeof(link{}); n > 80 {
		t.Errorf("a link has %d bytes", n)
	}
}

func TestCannot(t *testing.T) {
	c := NewClient(&Config{Target: Terminus{Address: "x"}}, "c")
	if out, err := c.Publish(&proto.Message{}, nil); !errors.Is(err, ErrNotReady) || len(out) > 0 {
		t.Errorf("before the connection: %v", err)
	}
	if out, err := c.Subscribe(&proto.Subscription{}, nil); !errors.Is(err, ErrNotReady) || len(out) > 0 {
		t.Errorf("before the connection: %v", err)
	}
	if out := c.Close(nil); len(out) > 0 {
		t.Errorf("closing before the connection says %q", out)
	}
	c = dial(t, c.cfg)
	for want, m := range map[string]*proto.Message{
		"no QoS 2": {QoS: 2}, "no retained": {Retain: true}, "255 bytes": {Topic: make([]byte, 256)},
	} {
		out, err := c.Publish(m, nil)
		if says(t, err, want); len(out) > 0 {
			t.Errorf("%s: said %q", want, out)
		}
	}
	for want, s := range map[string]*proto.Subscription{
		"no QoS 2": {QoS: 2}, "shared": {Group: "g"}, "255 bytes": {Topic: strings.Repeat("x", 256)},
	} {
		out, err := c.Subscribe(s, nil)
		if says(t, err, want); len(out) > 0 {
			t.Errorf("%s: said %q", want, out)
		}
	}
	small := dial(t, &Config{Target: Terminus{Address: "{topic}{topic}"}, FrameMax: minFrame})
	if out, err := small.Publish(&proto.Message{Topic: make([]byte, 255)}, nil); err == nil || len(out) > 0 || small.Room(0) != 1 {
		t.Errorf("an address that fits no frame: %v", err)
	}
}

// TestFrameSizes: whatever the sizes of topic and payload, no frame is too large, and the message arrives.
func TestFrameSizes(t *testing.T) {
	cfg := &Config{Target: Terminus{Address: strings.Repeat("x", 150) + TopicHere + "yz"}, Anonymous: true, FrameMax: minFrame, Durable: true, SenderFirst: true}
	plain := &Config{Target: Terminus{Address: "x"}, FrameMax: minFrame, SenderFirst: true}
	for _, cfg := range []*Config{cfg, plain} {
		for topic := 0; topic <= maxName; topic += 17 {
			p := connect(t, cfg, &ServerConfig{Credit: 5000})
			for size := 0; size < 1200; size += 1 + size/50 {
				m := proto.Message{Topic: []byte(strings.Repeat("t", topic)), Payload: []byte(strings.Repeat("p", size)), Redelivered: size%2 == 1}
				up, err := p.client.Publish(&m, nil)
				if err != nil {
					t.Fatal(err)
				}
				for rest := up; len(rest) > 0; {
					var f frame
					n, err := cutFrame(rest, minFrame, &f)
					if n == 0 || err != nil {
						t.Fatalf("topic %d, payload %d: %v", topic, size, err)
					}
					if rest = rest[n:]; len(rest) > 0 && n < minFrame-50 {
						t.Errorf("topic %d, payload %d: a frame of %d bytes is not the last", topic, size, n)
					}
				}
				events, _ := p.exchange(t, up)
				if len(events) != 1 || len(events[0].Payload) != size || !strings.Contains(string(events[0].Topic), string(m.Topic)) || events[0].Redelivered != m.Redelivered {
					t.Fatalf("topic %d, payload %d: %d events", topic, size, len(events))
				}
			}
		}
	}
}

func TestHandleMax(t *testing.T) {
	c := NewClient(&Config{Target: Terminus{Address: TopicHere}, Source: Terminus{Address: TopicHere}}, "c")
	c.Open(0, nil)
	hello := opening(raw(doOpen, "broker"))
	begun := raw(doBegin, uint16(0), 0, 100, 100)
	feedAll(t, c, join(hello[:len(hello)-len(begun)], raw(doBegin, uint16(0), 0, 100, 100, 0)))
	if _, err := c.Subscribe(&proto.Subscription{Topic: "a"}, nil); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		out, err := c.Subscribe(&proto.Subscription{Topic: "a"}, nil)
		if says(t, err, "no more than 1 links"); len(out) > 0 {
			t.Errorf("said %q", out)
		}
		_, err = c.Publish(&proto.Message{Topic: []byte("a")}, nil)
		says(t, err, "no more than 1 links")
	}
}
