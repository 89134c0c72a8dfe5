package amqp091

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
		User: "u", Password: "p", VHost: "lab", FrameMax: 5000,
		Exchange: Exchange{Name: "x", Kind: "topic", Arguments: Table{{"alternate-exchange", "y"}}},
	}
	p := connect(t, cfg, &ServerConfig{User: "u", Password: "p"})
	if p.client.frameMax != 5000 || p.server.frameMax != 5000 {
		t.Errorf("frame_max %d at the client, %d at the server", p.client.frameMax, p.server.frameMax)
	}
	for _, want := range []string{protocolHeader, "\x00u\x00p", "connection_name", "\x03lab", "\x01x\x05topic", "alternate-exchange"} {
		if !strings.Contains(string(p.said), want) {
			t.Errorf("the client never said %q", want)
		}
	}
}

func TestHandshakeRefused(t *testing.T) {
	begin := raw(0, connectionStart, uint8(0), uint8(9), uint32(0), uint32(5), []byte("PLAIN"), uint32(0))
	tune := raw(0, connectionTune, uint16(0), uint32(minFrame), uint16(60))
	closing := func(code uint16, text string, cause method) []byte {
		return raw(0, connectionClose, code, text, uint32(cause))
	}
	for name, c := range map[string]struct {
		cfg  Config
		in   []byte
		want []string
	}{
		"password": {
			in:   join(begin, closing(403, "ACCESS_REFUSED - Login was refused", connectionStartOK)),
			want: []string{"broker refused the connection: ACCESS_REFUSED (403): not authorized: \"Login was refused\""},
		},
		"vhost": {
			in:   join(begin, tune, closing(530, "NOT_ALLOWED - vhost x not found", connectionOpen)),
			want: []string{"NOT_ALLOWED (530)", "vhost x not found", "in answer to connection.open"},
		},
		"mechanism":  {cfg: Config{Mechanism: "EXTERNAL"}, in: begin, want: []string{"EXTERNAL", "PLAIN"}},
		"challenge":  {in: join(begin, raw(0, connectionSecure, uint32(0))), want: []string{"second step"}},
		"frame":      {in: join(begin, raw(0, connectionTune, uint16(0), uint32(100), uint16(0))), want: []string{"100 bytes"}},
		"order":      {in: tune, want: []string{"unexpected connection.tune"}},
		"version":    {in: raw(0, connectionStart, uint8(1), uint8(0), uint32(0), uint32(0), uint32(0)), want: []string{"AMQP 1-0"}},
		"short":      {in: raw(0, connectionStart, uint8(0)), want: []string{"malformed connection.start"}},
		"AMQP 1.0":   {in: []byte("AMQP\x00\x01\x00\x00"), want: []string{"wants AMQP 1.0,"}},
		"SASL":       {in: []byte("AMQP\x03\x01\x00\x00"), want: []string{"wants AMQP 1.0 with SASL"}},
		"AMQP 0-9":   {in: []byte("AMQP\x01\x01\x00\x09"), want: []string{"wants AMQP 0-9,"}},
		"AMQP 0-9-1": {in: []byte(protocolHeader), want: []string{"wants AMQP 0-9-1"}},
		"HTTP":       {in: []byte("HTTP/1.1 400"), want: []string{"looks like HTTP"}},
		"noise":      {in: []byte("noise"), want: []string{`begins with "n"`}},
		"exchange": {
			in: join(begin, tune, raw(0, connectionOpenOK, ""), raw(1, channelOpenOK, uint32(0)),
				raw(1, channelClose, uint16(406), "PRECONDITION_FAILED - inequivalent arg", uint32(exchangeDeclare))),
			cfg:  Config{Exchange: Exchange{Name: "x", Kind: "topic"}},
			want: []string{"PRECONDITION_FAILED (406)", "inequivalent arg", "exchange.declare"},
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

func TestConfirms(t *testing.T) {
	p := connect(t, &Config{Window: 6}, &ServerConfig{})
	first := p.publish(t, 0, 100)
	up := p.publish(t, 1, 1, 2, 3)
	up = append(up, p.publish(t, 0, 101)...)
	up = append(up, p.publish(t, 1, 4, 5, 6)...)
	if p.client.InFlight() != 6 || p.client.Room(1) != 0 || p.client.Room(0) == 0 {
		t.Errorf("%d in flight, room for %d", p.client.InFlight(), p.client.Room(1))
	}
	if _, err := p.client.Publish(&proto.Message{QoS: 1}, nil); !errors.Is(err, ErrNoRoom) {
		t.Errorf("beyond the window: %v", err)
	}
	if events, down := feedAll(t, p.server, first); len(events) != 1 || events[0].QoS != 0 || len(down) > 0 {
		t.Errorf("an unconfirmed message: %+v, %q", events, down)
	}
	if events, _ := feedAll(t, p.server, up); len(events) != 7 || events[0].QoS != 1 {
		t.Errorf("%d messages arrived", len(events))
	}
	// Tags: 1 2 3 are tokens 1 2 3, 4 is unconfirmed, 5 6 7 are tokens 4 5 6.
	events, _ := feedAll(t, p.client, join(
		ack(basicAck, 2, false), ack(basicAck, 2, false), ack(basicAck, 4, true), ack(basicAck, 1, true),
		ack(basicNack, 6, false), ack(basicNack, 7, true)))
	var got []string
	for _, ev := range events {
		got = append(got, fmt.Sprint(ev.Kind, ev.QoS, ev.Token, ev.Err != nil))
	}
	want := []string{"5 1 2 false", "5 1 1 false", "5 1 3 false", "5 1 5 true", "5 1 4 true", "5 1 6 true"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("reported %v, want %v", got, want)
	}
	if p.client.InFlight() != 0 || p.client.sent.left != 0 || p.client.Room(1) != 6 {
		t.Errorf("%d in flight, room for %d", p.client.InFlight(), p.client.Room(1))
	}
	_, _, err := final(t, p.client, ack(basicAck, 8, true))
	says(t, err, "basic.ack for delivery tag 8", "last one was 7")
}

func TestReturned(t *testing.T) {
	p := connect(t, &Config{Mandatory: true}, &ServerConfig{})
	p.publish(t, 0, 0xABCDEF)
	p.publish(t, 1, 1, 2, 3)
	returned := func(id messageID) []byte {
		return join(raw(1, basicReturn, uint16(312), "NO_ROUTE", "x", "a.b"),
			appendContent(nil, 1, properties{mode: 2, id: id}, []byte("hello"), minFrame))
	}
	apart := returned(messageID{idOfTag, 3})
	apart = append(appendHeartbeat(apart[:len(apart)-len("hello")-frameOverhead:len(apart)-len("hello")-frameOverhead]),
		apart[len(apart)-len("hello")-frameOverhead:]...)
	events, _ := feedAll(t, p.client, join(
		returned(messageID{idOfToken, 0xABCDEF}), returned(messageID{idOfTag, 2}), returned(messageID{idOfTag, 2}), apart,
		ack(basicAck, 3, true)))
	if len(events) != 4 {
		t.Fatalf("reported %+v", events)
	}
	for i, want := range []proto.Event{{Token: 0xABCDEF}, {Token: 2, QoS: 1}, {Token: 3, QoS: 1}} {
		if ev := events[i]; ev.Kind != proto.Acked || ev.Token != want.Token || ev.QoS != want.QoS || string(ev.Topic) != "a.b" {
			t.Errorf("return %d reported as %+v", i, ev)
		}
		says(t, events[i].Err, "broker returned the message: NO_ROUTE (312): unroutable")
	}
	if ev := events[3]; ev.Token != 1 || ev.Err != nil {
		t.Errorf("the confirmation of the routed message: %+v", ev)
	}
	_, _, err := final(t, p.client, join(raw(1, basicReturn, uint16(312), "NO_ROUTE", "x", "a.b"), plain("")))
	says(t, err, "not ours")
}

func TestDeliveries(t *testing.T) {
	for _, every := range []int{0, 1, 3} {
		p := connect(t, &Config{Exchange: Exchange{Name: "amq.topic"}, AckEvery: every, FrameMax: minFrame}, &ServerConfig{})
		p.subscribe(t, proto.Subscription{Token: 7, Topic: "a.*", QoS: 1})
		p.subscribe(t, proto.Subscription{Token: 1 << 63, Topic: "b.*"})
		big := strings.Repeat("0123456789", 1000)
		header := frameOverhead + headerSize + 1
		interrupted := plain("interrupted")
		again := raw(1, basicDeliver, appendConsumerTag(nil, &proto.Subscription{Token: 7, QoS: 1}), uint64(6), uint8(1), "", "a.f")
		events, out := feedAll(t, p.client, join(
			deliver(7, 1, 1, "a.a", plain("")), deliver(1<<63, 0, 2, "b.a", plain("short")), deliver(7, 1, 3, "a.b", plain(big)),
			deliver(7, 1, 4, "a.c", appendHeartbeat(nil), interrupted[:header], appendHeartbeat(nil), interrupted[header:]),
			deliver(7, 1, 5, "a.d", plain("x")), again, plain("again")))
		want := []string{
			"7 1 a.a  false", "9223372036854775808 0 b.a short false", "7 1 a.b " + big + " false",
			"7 1 a.c interrupted false", "7 1 a.d x false", "7 1 a.f again true",
		}
		for i, ev := range events {
			got := fmt.Sprintf("%d %d %s %s %v", ev.Token, ev.QoS, ev.Topic, ev.Payload, ev.Redelivered)
			if ev.Kind != proto.Delivered || i >= len(want) || got != want[i] {
				t.Errorf("delivery %d reported as %.100s", i, got)
			}
		}
		acks := join(appendAck(nil, 1, 1, false), appendAck(nil, 1, 3, false), appendAck(nil, 1, 4, false),
			appendAck(nil, 1, 5, false), appendAck(nil, 1, 6, false))
		if every == 3 {
			acks = join(appendAck(nil, 1, 4, true), appendAck(nil, 1, 6, true))
		}
		if len(events) != len(want) || string(out) != string(acks) {
			t.Errorf("%d deliveries, acknowledged by %q", len(events), out)
		}
	}
}

func TestHoldAcks(t *testing.T) {
	p := connect(t, &Config{Exchange: Exchange{Name: "amq.topic"}, HoldAcks: true}, &ServerConfig{})
	p.subscribe(t, proto.Subscription{Token: 1, Topic: "a", QoS: 1})
	if _, out := feedAll(t, p.client, deliver(1, 1, 1, "a", plain("x"))); len(out) > 0 {
		t.Errorf("answered %q", out)
	}
}

func TestBlocked(t *testing.T) {
	p := connect(t, &Config{}, &ServerConfig{})
	events, _ := feedAll(t, p.client, raw(0, connectionBlocked, "low on memory"))
	var blocked *BlockedError
	if len(events) != 1 || !errors.As(events[0].Err, &blocked) || blocked.Reason != "low on memory" || !blocked.Temporary() {
		t.Fatalf("reported %+v", events)
	}
	says(t, p.client.Blocked(), "resource alarm", "low on memory")
	if p.client.Room(0) != 0 || p.client.Room(1) != 0 {
		t.Error("there is room while the broker blocks publishers")
	}
	feedAll(t, p.client, raw(0, connectionUnblocked))
	if p.client.Blocked() != nil || p.client.Room(0) == 0 {
		t.Error("still blocked")
	}
	_, out := feedAll(t, p.client, raw(1, channelFlow, uint8(0)))
	if string(out) != string(raw(1, channelFlowOK, uint8(0))) || p.client.Room(0) != 0 {
		t.Errorf("paused: %q, room for %d", out, p.client.Room(0))
	}
	if feedAll(t, p.client, raw(1, channelFlow, uint8(1))); p.client.Room(0) == 0 {
		t.Error("still paused")
	}
}

func TestChannelClosed(t *testing.T) {
	closing := func(cause method) []byte {
		return raw(1, channelClose, uint16(404), "NOT_FOUND - no exchange 'nope' in vhost '/'", uint32(cause))
	}
	ok := string(raw(1, channelCloseOK))
	words := []string{"broker closed the channel: NOT_FOUND (404)", "no exchange 'nope'"}

	p := connect(t, &Config{Exchange: Exchange{Name: "nope"}}, &ServerConfig{})
	for token := range uint64(2) {
		if _, err := p.client.Subscribe(&proto.Subscription{Token: 5 + token, Topic: "a"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	events, out, err := final(t, p.client, join(raw(1, queueDeclareOK, "amq.gen", uint64(0)), closing(queueBind)))
	says(t, err, append(words, "in answer to queue.bind")...)
	if len(events) != 1 || events[0].Kind != proto.Subscribed || events[0].Token != 5 || string(out) != ok {
		t.Errorf("reported %+v, answered %q", events, out)
	}

	p = connect(t, &Config{Exchange: Exchange{Name: "nope"}}, &ServerConfig{})
	p.publish(t, 1, 1)
	events, out, err = final(t, p.client, closing(basicPublish))
	says(t, err, append(words, "in answer to basic.publish")...)
	if len(events) != 0 || string(out) != ok {
		t.Errorf("reported %+v, answered %q", events, out)
	}
}

func TestConnectionClosed(t *testing.T) {
	p := connect(t, &Config{}, &ServerConfig{})
	events, out := feedAll(t, p.client, raw(0, connectionClose, uint16(320), "CONNECTION_FORCED - broker forced connection closure", uint32(0)))
	if len(events) != 1 || events[0].Kind != proto.Closed || string(out) != string(raw(0, connectionCloseOK)) {
		t.Fatalf("reported %+v, answered %q", events, out)
	}
	says(t, events[0].Err, "broker closed the connection: CONNECTION_FORCED (320)", "forced connection closure")
	var temporary interface{ Temporary() bool }
	if !errors.As(events[0].Err, &temporary) || !temporary.Temporary() {
		t.Error("a shutdown is not for ever")
	}
	if p.client.Room(0) != 0 || len(p.client.Close(nil)) > 0 {
		t.Error("something may follow the end")
	}
}

func TestCancelled(t *testing.T) {
	p := connect(t, &Config{}, &ServerConfig{})
	p.subscribe(t, proto.Subscription{Token: 3, Topic: "q"})
	tag := appendConsumerTag(nil, &proto.Subscription{Token: 3})
	for noWait, answer := range []string{string(raw(1, basicCancelOK, tag)), ""} {
		events, out := feedAll(t, p.client, raw(1, basicCancel, tag, uint8(noWait)))
		if len(events) != 1 || events[0].Token != 3 || string(out) != answer {
			t.Fatalf("reported %+v, answered %q", events, out)
		}
		says(t, events[0].Err, "broker cancelled the subscription")
	}
}

func TestClientRefuses(t *testing.T) {
	p := connect(t, &Config{}, &ServerConfig{})
	long := []byte(strings.Repeat("x", 256))
	for want, m := range map[string]proto.Message{
		"no QoS 2": {QoS: 2}, "retained": {Retain: true}, "255 bytes": {Topic: long},
	} {
		out, err := p.client.Publish(&m, []byte("kept"))
		if says(t, err, want); string(out) != "kept" {
			t.Errorf("%s: out is %q", want, out)
		}
	}
	for want, s := range map[string]proto.Subscription{
		"no QoS 2": {QoS: 2, Topic: "q"}, "255 bytes": {Topic: string(long)}, "needs a routing key": {},
	} {
		_, err := p.client.Subscribe(&s, nil)
		says(t, err, want)
	}
	fresh := NewClient(&Config{}, "")
	if _, err := fresh.Publish(&proto.Message{}, nil); !errors.Is(err, ErrNotReady) {
		t.Error(err)
	}
	if _, err := fresh.Subscribe(&proto.Subscription{}, nil); !errors.Is(err, ErrNotReady) {
		t.Error(err)
	}
}

func TestMalformed(t *testing.T) {
	for name, in := range map[string][]byte{
		"no frame type 7":             {7, 0, 0, 0, 0, 0, 0},
		"exceeds the negotiated":      {1, 0, 1, 0, 0xFF, 0, 0},
		"does not end where it says":  {8, 0, 0, 0, 0, 0, 0, 0},
		"unexpected method frame":     raw(2, basicDeliver),
		"unexpected content body":     {3, 0, 1, 0, 0, 0, 0, frameEnd},
		"a method frame of 1 bytes":   {1, 0, 1, 0, 0, 0, 1, 0, frameEnd},
		"malformed basic.deliver":     raw(1, basicDeliver, "someone", uint64(1), uint8(0), "", ""),
		"malformed content header":    deliver(1, 0, 1, "a", []byte{2, 0, 1, 0, 0, 0, 1, 0, frameEnd}),
		"more than the":               deliver(1, 0, 1, "a", []byte{2, 0, 1, 0, 0, 0, 14, 0, 60, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, frameEnd}),
		"more than its header says":   deliver(1, 0, 1, "a", plain("x")[:frameOverhead+headerSize+1], []byte{3, 0, 1, 0, 0, 0, 2, 0, 0, frameEnd}),
		"unexpected basic.ack":        deliver(1, 0, 1, "a", ack(basicAck, 1, false)),
		"unexpected basic.consume-ok": raw(1, basicConsumeOK, appendConsumerTag(nil, &proto.Subscription{})),
		"unexpected channel.flow-ok":  raw(1, channelFlowOK, uint8(1)),
		"unexpected queue.declare-ok": raw(1, queueDeclareOK, "", uint64(0)),
		"method 99 of class 60":       raw(1, 60<<16|99),
	} {
		p := connect(t, &Config{}, &ServerConfig{})
		_, _, err := final(t, p.client, in)
		says(t, err, name)
	}
}

func TestReopen(t *testing.T) {
	p := connect(t, &Config{AckEvery: 2}, &ServerConfig{})
	p.subscribe(t, proto.Subscription{Token: 1, Topic: "q", QoS: 1})
	p.publish(t, 1, 1, 2, 3)
	feedAll(t, p.client, raw(0, connectionBlocked, "low on disk"))
	feedAll(t, p.client, deliver(1, 1, 1, "q", appendHeartbeat(nil))) // its content will never come
	if p.client.InFlight() != 3 {
		t.Errorf("%d in flight", p.client.InFlight())
	}
	p.client.Open(0, nil)
	if p.client.InFlight() != 0 || p.client.Blocked() != nil || p.client.Room(0) != 0 {
		t.Error("something of the old connection is left")
	}
	feedAll(t, p.client, p.heard)
	up := p.publish(t, 1, 9)
	if !strings.HasPrefix(string(up), string(raw(1, confirmSelect, uint8(1)))) {
		t.Errorf("the new channel begins with %q", up)
	}
	if events, _ := feedAll(t, p.client, ack(basicAck, 1, false)); len(events) != 1 || events[0].Token != 9 {
		t.Errorf("reported %+v", events)
	}
}

func TestSizes(t *testing.T) {
	if size := unsafe.Sizeof(Client{}); size > 200 {
		t.Errorf("a client needs %d bytes", size)
	}
	p := connect(t, &Config{}, &ServerConfig{})
	for i := range uint64(1000) {
		p.client.Barrier(i, nil)
	}
	for i := range uint64(1000) {
		if events, _ := feedAll(t, p.client, raw(1, channelFlowOK, uint8(1))); len(events) != 1 || events[0].Token != i {
			t.Fatalf("barrier %d answered as %+v", i, events)
		}
	}
	if p.client.pending != nil {
		t.Error("an idle client keeps room for requests")
	}
}
