package amqp091

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mqlab/mqlab/internal/proto"
)

func TestServerHandshakeRefused(t *testing.T) {
	start := func(mechanism, response string) []byte {
		return raw(0, connectionStartOK, appendTable(nil, nil), mechanism, appendLong(nil, response), "en_US")
	}
	right := start("PLAIN", "\x00u\x00p")
	for name, c := range map[string]struct {
		in   []byte
		want string // of the error
		says string // last thing the server says
	}{
		"version":   {[]byte("AMQP\x00\x01\x00\x00"), "wants AMQP 1.0", protocolHeader},
		"HTTP":      {[]byte("GET / HTTP/1.1"), "looks like HTTP", protocolHeader},
		"password":  {join([]byte(protocolHeader), start("PLAIN", "\x00u\x00x")), "login was refused", "ACCESS_REFUSED - login was refused"},
		"anonymous": {join([]byte(protocolHeader), start("ANONYMOUS", "")), "login was refused", "ACCESS_REFUSED - login was refused"},
		"frame_max": {
			join([]byte(protocolHeader), right, raw(0, connectionTuneOK, uint16(0), uint32(1<<20), uint16(0))),
			"frame_max", "NOT_ALLOWED - ",
		},
		"order": {join([]byte(protocolHeader), raw(0, connectionOpen, "/", "", uint8(0))), "connection.open: it comes out of sequence", "COMMAND_INVALID"},
	} {
		s := NewServer(&ServerConfig{User: "u", Password: "p"})
		s.Open(0, nil)
		_, out, err := final(t, s, c.in)
		if says(t, err, c.want); !strings.Contains(string(out), c.says) {
			t.Errorf("%s: the server says %q", name, out)
		}
	}
}

func TestServerConsumers(t *testing.T) {
	p := connect(t, &Config{}, &ServerConfig{})
	events, out := feedAll(t, p.server, join(
		raw(1, queueDeclare, uint16(0), "", uint8(4), uint32(0)),
		raw(1, queueBind, uint16(0), "", "amq.topic", "a.*", uint8(0), uint32(0)),
		raw(1, basicConsume, uint16(0), "", "", uint8(2), uint32(0)),
		raw(1, queueDeclare, uint16(0), "work", uint8(16), uint32(0)), // no-wait
		raw(1, basicQos, uint32(0), uint16(2), uint8(0)),
		raw(1, basicConsume, uint16(0), "work", "mine", uint8(0), uint32(0)),
		raw(1, exchangeDeclare, uint16(0), "x", "topic", uint8(16), uint32(0)),
	))
	want := join(raw(1, queueDeclareOK, "amq.gen-1", uint64(0)), raw(1, queueBindOK), raw(1, basicConsumeOK, "amq.ctag-1"),
		raw(1, basicQosOK), raw(1, basicConsumeOK, "mine"))
	if string(out) != string(want) {
		t.Errorf("answered %q", out)
	}
	var got []string
	for _, ev := range events {
		got = append(got, fmt.Sprint(ev.Kind, ev.Token, string(ev.Topic), ev.QoS, p.server.Queue(ev.Token), p.server.Group(ev.Token)))
	}
	if fmt.Sprint(got) != "[2 1a.*0amq.gen-1 2 2work1workwork]" {
		t.Errorf("reported %v", got)
	}
	if p.server.Room(0) != room || p.server.Room(1) != 2 {
		t.Errorf("room for %d and %d", p.server.Room(0), p.server.Room(1))
	}
	down := []byte{}
	for token := range uint64(2) {
		var err error
		if down, err = p.server.Publish(&proto.Message{Token: 10 + token, Topic: []byte("work"), Sub: 2, QoS: 1}, down); err != nil {
			t.Fatal(err)
		}
	}
	for want, m := range map[string]proto.Message{
		"no room": {Sub: 2, QoS: 1}, "no subscription 3": {Sub: 3}, "without acknowledgements": {Sub: 1, QoS: 1}, "no QoS 2": {Sub: 2, QoS: 2},
	} {
		_, err := p.server.Publish(&m, nil)
		says(t, err, want)
	}
	events, _ = feedAll(t, p.server, raw(1, basicNack, uint64(0), uint8(1)))
	if len(events) != 2 || events[0].Token != 10 || events[1].Token != 11 || !errors.Is(events[1].Err, errRejected) {
		t.Errorf("reported %+v", events)
	}
	events, out = feedAll(t, p.server, join(raw(1, basicCancel, "mine", uint8(0)), raw(1, channelClose, uint16(200), "", uint32(0))))
	if len(events) != 2 || events[0].Token != 2 || events[1].Token != 1 || events[1].Kind != proto.Unsubscribed ||
		string(out) != string(join(raw(1, basicCancelOK, "mine"), raw(1, channelCloseOK))) {
		t.Errorf("reported %+v, answered %q", events, out)
	}
}

func TestServerClosesChannel(t *testing.T) {
	p := connect(t, &Config{}, &ServerConfig{MaxMessage: 10})
	p.subscribe(t, proto.Subscription{Token: 1, Topic: "q"})
	m := proto.Message{Topic: []byte("q"), Payload: []byte("12345678901")}
	up, err := p.client.Publish(&m, nil)
	if err != nil {
		t.Fatal(err)
	}
	events, down := feedAll(t, p.server, append(up, p.publish(t, 0, 1)...))
	if len(events) != 0 {
		t.Errorf("reported %+v", events)
	}
	_, up, err = final(t, p.client, down)
	says(t, err, "PRECONDITION_FAILED (406)", "larger than the limit", "basic.publish")
	if feedAll(t, p.server, up); len(p.server.channels)+len(p.server.consumers) != 0 {
		t.Error("the channel is still there")
	}
	_, down = feedAll(t, p.server, raw(1, channelOpen, ""))
	_, down2 := feedAll(t, p.server, ack(basicAck, 7, false))
	if !strings.Contains(string(append(down, down2...)), "unknown delivery tag") {
		t.Errorf("answered %q", down2)
	}
}

func TestServerEnds(t *testing.T) {
	for name, in := range map[string][]byte{
		"the channel is not open":       raw(5, basicQos, uint32(0), uint16(2), uint8(0)),
		"the channel is open already":   raw(1, channelOpen, ""),
		"this server does not have it":  raw(1, queueDeclareOK+30),
		"one binding per queue":         join(raw(1, queueBind, uint16(0), "q", "x", "a", uint8(0), uint32(0)), raw(1, queueBind, uint16(0), "q", "x", "b", uint8(0), uint32(0))),
		"the consumer tag is in use":    join(raw(1, basicConsume, uint16(0), "q", "t", uint8(2), uint32(0)), raw(1, basicConsume, uint16(0), "q", "t", uint8(2), uint32(0))),
		"content of a message":          join(raw(1, basicPublish, uint16(0), "", "q", uint8(0)), raw(1, basicQos, uint32(0), uint16(2), uint8(0))),
		"malformed basic.publish":       raw(1, basicPublish, uint16(0)),
		"malformed queue.declare":       raw(1, queueDeclare, uint16(0)),
		"malformed basic.consume":       raw(1, basicConsume, uint16(0)),
		"unexpected content header":     plain("x"),
		"unexpected content body frame": {3, 0, 9, 0, 0, 0, 0, frameEnd},
	} {
		p := connect(t, &Config{}, &ServerConfig{})
		_, out, err := final(t, p.server, in)
		if says(t, err, name); !strings.Contains(string(out), string(raw(0, connectionClose)[7:11])) {
			t.Errorf("%s: answered %q", name, out)
		}
	}
	p := connect(t, &Config{}, &ServerConfig{})
	events, out := feedAll(t, p.server, p.client.Close(nil))
	if len(events) != 1 || events[0].Kind != proto.Closed || events[0].Err != nil || string(out) != string(raw(0, connectionCloseOK)) {
		t.Errorf("a goodbye: %+v, %q", events, out)
	}
	if events, _ := feedAll(t, p.client, out); len(events) > 0 {
		t.Errorf("the answer to the goodbye: %+v", events)
	}
	p = connect(t, &Config{}, &ServerConfig{})
	if events, _ := feedAll(t, p.client, p.server.Close(nil)); len(events) != 1 {
		t.Errorf("reported %+v", events)
	} else {
		says(t, events[0].Err, "CONNECTION_FORCED (320)")
	}
}

func TestServerConfirms(t *testing.T) {
	p := connect(t, &Config{FrameMax: minFrame}, &ServerConfig{ConfirmEvery: 3})
	up := p.publish(t, 1, 1, 2, 3, 4)
	m := proto.Message{Token: 5, Topic: []byte("b"), Payload: make([]byte, 3*minFrame), QoS: 1}
	up, err := p.client.Publish(&m, up)
	if err != nil {
		t.Fatal(err)
	}
	events, down := feedAll(t, p.server, up)
	if len(events) != 5 || len(events[4].Payload) != 3*minFrame || string(events[4].Topic) != "b" || p.server.Exchange() != "" {
		t.Errorf("reported %d messages", len(events))
	}
	if string(down) != string(join(appendAck(nil, 1, 3, true), appendAck(nil, 1, 5, true))) {
		t.Errorf("confirmed by %q", down)
	}
	if events, _ = feedAll(t, p.client, down); len(events) != 5 || p.client.InFlight() != 0 {
		t.Errorf("%d messages confirmed", len(events))
	}
}
