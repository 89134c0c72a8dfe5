package amqp10

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
)

func TestServerRefuses(t *testing.T) {
	guarded := &ServerConfig{User: "u", Password: "p"}
	hello := connect(t, &Config{}, &ServerConfig{}).said
	login := func(mechanism, response string) []byte {
		return join([]byte(headerSASL), appendInit(nil, mechanism, response, ""))
	}
	receiver := raw(doAttach, "r", 0, true, nil, nil, described(typeSource, "a"))
	sender := raw(doAttach, "s", 0, false, nil, nil, nil, described(typeTarget, "a"))
	for name, c := range map[string]struct {
		cfg  *ServerConfig
		in   []byte
		want string // error
		said string
	}{
		"password":   {guarded, login("PLAIN", "\x00u\x00x"), "login was refused", string(appendOutcome(nil, 1))},
		"anonymous":  {guarded, login("ANONYMOUS", ""), "login was refused", string(appendOutcome(nil, 1))},
		"no SASL":    {guarded, []byte(headerAMQP), "wants AMQP 1.0 without SASL, not", headerSASL},
		"old":        {&ServerConfig{}, []byte("AMQP\x00\x00\x09\x01"), "wants AMQP 0-9-1", headerSASL},
		"HTTP":       {&ServerConfig{}, []byte("GET / HTTP/1.1"), "looks like HTTP", headerSASL},
		"init":       {&ServerConfig{}, join([]byte(headerSASL), raw(saslInit, 1)), "malformed sasl-init", ""},
		"order":      {&ServerConfig{}, join([]byte(headerAMQP), raw(doBegin, nil, 0, 1, 1)), "unexpected begin", condFraming},
		"no session": {&ServerConfig{}, join([]byte(headerAMQP), raw(doOpen, "c"), receiver), "unexpected attach", condFraming},
		"two":        {&ServerConfig{}, join(hello, receiver, receiver), "used twice", "handle-in-use"},
		"channel": {
			&ServerConfig{}, join(hello, []byte{0, 0, 0, 12, 2, 0, 0, 5, 0, codeULSmall, 0x11, codeList0}), "one session only", condNotAllowed,
		},
		"too large": {&ServerConfig{MaxMessage: 9}, join(hello, sender, part(0, 0, true, false, data("hello"))), "of 10 bytes or more", condFraming},
		"too large in parts": {
			&ServerConfig{MaxMessage: 9}, join(hello, sender, part(0, 0, true, true, data("x")), part(0, 0, true, true, data("hello"))),
			"of 16 bytes or more", condFraming,
		},
		"wrong way": {&ServerConfig{}, join(hello, receiver, part(0, 0, true, false, data("x"))), "not attached", condFraming},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewServer(c.cfg)
			s.Open(0, nil)
			_, out, err := final(t, s, c.in)
			says(t, err, c.want)
			if !strings.Contains(string(out), c.said) {
				t.Errorf("said %q, want %q in it", out, c.said)
			}
		})
	}
}

// TestServerLinks: what subscriptions and targets there are, what is refused, and how all comes to an end.
func TestServerLinks(t *testing.T) {
	p := connect(t, &Config{Source: Terminus{Address: TopicHere}, Target: Terminus{Address: TopicHere}}, &ServerConfig{})
	up, err := p.client.Subscribe(&proto.Subscription{Token: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if events, down := feedAll(t, p.server, up); len(events) != 0 {
		t.Errorf("reported %+v", events)
	} else if events, _ := feedAll(t, p.client, down); len(events) != 1 || events[0].Err == nil {
		t.Errorf("the client reports %+v", events)
	} else {
		says(t, events[0].Err, "broker refused the subscription: amqp:not-found")
	}
	p = connect(t, &Config{Source: Terminus{Address: TopicHere}}, &ServerConfig{})
	for qos := range uint8(2) {
		p.subscribe(t, proto.Subscription{Token: 1, Topic: "a", QoS: qos})
	}
	for want, m := range map[string]*proto.Message{
		"no subscription 9": {Sub: 9}, "no subscription 0": {}, "no QoS 2": {Sub: 1, QoS: 2},
		"settled": {Sub: 1, QoS: 1}, "255 bytes": {Sub: 1, Topic: make([]byte, 256)},
	} {
		out, err := p.server.Publish(m, nil)
		if says(t, err, want); len(out) > 0 {
			t.Errorf("%s: said %q", want, out)
		}
	}
	for token := range uint64(2) {
		if _, err := p.server.Publish(&proto.Message{Sub: 2, QoS: 1, Token: 70 + token}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if p.server.InFlight() != 2 || p.server.Room(1) != 98 {
		t.Errorf("%d in flight, room for %d", p.server.InFlight(), p.server.Room(1))
	}
	events, down := feedAll(t, p.server, join(raw(doDetach, 0, true), raw(doDetach, 7, true), raw(doEnd), raw(doBegin, nil, 0, 9, 9), raw(doClose)))
	var kinds []proto.Kind
	for _, ev := range events {
		kinds = append(kinds, ev.Kind)
	}
	if want := []proto.Kind{proto.Unsubscribed, proto.Acked, proto.Acked, proto.Unsubscribed, proto.Closed}; !slices.Equal(kinds, want) {
		t.Errorf("reported %+v", events)
	}
	if !errors.Is(events[1].Err, errGone) || events[1].Token != 70 || events[4].Err != nil {
		t.Errorf("reported %+v", events)
	}
	want := join(raw(doDetach, 0, true, nil), raw(doEnd), raw(doBegin, uint16(0), 0, 65535, outgoingWindow), raw(doClose, nil))
	if !slices.Equal(down, want) {
		t.Errorf("answered %q, want %q", down, want)
	}
	if _, err := p.server.Publish(&proto.Message{Sub: 1}, nil); err == nil {
		t.Error("delivers to a client that has gone")
	}
}

func TestServerGoodbye(t *testing.T) {
	s := NewServer(&ServerConfig{IdleTimeout: time.Second})
	if out := s.Close(s.Open(0, nil)); len(out) > 0 {
		t.Errorf("closing before the connection says %q", out)
	}
	p := connect(t, &Config{Mechanism: "ANONYMOUS"}, s.cfg)
	events, _ := feedAll(t, p.client, p.server.Close(nil))
	if len(events) != 1 || events[0].Kind != proto.Closed {
		t.Fatalf("reported %+v", events)
	}
	says(t, events[0].Err, "amqp:connection:forced", "shutdown")
	p = connect(t, &Config{}, s.cfg)
	if _, _, err := final(t, p.server, raw(doOpen, "again")); err == nil {
		t.Error("a second open")
	}
	events, _ = feedAll(t, connect(t, &Config{}, s.cfg).server, raw(doClose, failure(condInternal, "oops")))
	if len(events) != 1 || events[0].Kind != proto.Closed {
		t.Fatalf("reported %+v", events)
	}
	says(t, events[0].Err, "client closed the connection: amqp:internal-error")
	now := int64(0)
	var err error
	for range 10 {
		if now, _, err = p.server.Tick(now, nil); err != nil {
			break
		}
	}
	says(t, err, "nothing received for 2s")
}

// TestDrain: a sender that is asked to gives its credit back, and says so even if it has none.
func TestDrain(t *testing.T) {
	p := connect(t, &Config{Source: Terminus{Address: TopicHere}, Credit: 10}, &ServerConfig{})
	p.subscribe(t, proto.Subscription{Topic: "a"})
	for range 2 {
		_, down := feedAll(t, p.server, raw(doFlow, 0, 9, 0, 9, 0, 0, 10, nil, true))
		if want := raw(doFlow, 0, 65535, 0, outgoingWindow, 0, 10, 0, 0, true); !slices.Equal(down, want) {
			t.Errorf("answered %q, want %q", down, want)
		}
	}
	if p.server.Room(0) != 0 {
		t.Errorf("room for %d", p.server.Room(0))
	}
}
