package amqp091

import (
	"testing"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/prototest"
)

// react does what makes more answers possible.
func react(s proto.Session, ev *proto.Event, out []byte) []byte {
	switch s := s.(type) {
	case *Client:
		if ev.Kind == proto.Ready {
			for token := range uint64(4) {
				out, _ = s.Subscribe(&proto.Subscription{Topic: "a.*", Token: token, QoS: uint8(token % 2)}, out)
				out, _ = s.Publish(&proto.Message{Topic: []byte("a.b"), Token: token, QoS: uint8(token % 2)}, out)
			}
			return s.Barrier(9, out)
		}
	case *Server:
		if ev.Kind == proto.Delivered {
			out, _ = s.Publish(&proto.Message{Topic: ev.Topic, Payload: ev.Payload, Sub: 1}, out)
			out, _ = s.Publish(&proto.Message{Topic: ev.Topic, Payload: ev.Payload, Sub: 2, QoS: 1, Token: 5}, out)
		}
	}
	return out
}

// however checks that the way bytes arrive in does not matter.
var however = prototest.Cut{React: react}

func FuzzClientFeed(f *testing.F) {
	cfg := &Config{Exchange: Exchange{Name: "amq.topic"}, Mandatory: true, FrameMax: minFrame}
	hello := connect(f, cfg, &ServerConfig{}).heard
	interrupted := plain("interrupted")
	returned := raw(1, basicReturn, uint16(312), "NO_ROUTE", "x", "a.b")
	consumed := raw(1, basicConsumeOK, appendConsumerTag(nil, &proto.Subscription{}))
	for _, in := range [][]byte{
		join(consumed, raw(1, channelFlow, uint8(0)), deliver(0, 0, 1, "a.b", plain("hello")), deliver(1, 1, 2, "a", plain(""))),
		join(deliver(1, 1, 1, "a", plain(string(make([]byte, 2*minFrame)))), ack(basicAck, 3, true), ack(basicNack, 1, true)),
		join(deliver(1, 1, 1, "a", appendHeartbeat(nil), interrupted[:23], appendHeartbeat(nil), interrupted[23:])),
		join(returned, appendContent(nil, 1, properties{id: messageID{idOfTag, 1}}, []byte("x"), minFrame), ack(basicAck, 1, false)),
		join(returned, appendHeartbeat(nil), appendContent(nil, 1, properties{id: messageID{idOfToken, 1}}, nil, minFrame)),
		join(raw(0, connectionBlocked, "low"), raw(0, connectionUnblocked), raw(0, connectionClose, uint16(320), "", uint32(0)), consumed),
		raw(1, channelClose, uint16(404), "NOT_FOUND", uint32(queueBind)),
		raw(1, basicCancel, appendConsumerTag(nil, &proto.Subscription{}), uint8(0)),
		[]byte("AMQP\x00\x01\x00\x00"), []byte("HTTP/1.1 400\r\n"),
		deliver(1, 1, 1, "a", []byte{2, 0, 1, 0xFF, 0, 0, 0}),
	} {
		f.Add(in, uint64(1))
	}
	f.Fuzz(func(t *testing.T, in []byte, seed uint64) {
		however.Same(t, func() proto.Session { return NewClient(cfg, "c") }, in, seed)
		however.Same(t, func() proto.Session { return NewClient(cfg, "c") }, join(hello, in), seed)
	})
}

func FuzzServerFeed(f *testing.F) {
	hello := connect(f, &Config{FrameMax: minFrame}, &ServerConfig{}).said
	bind := join(raw(1, queueDeclare, uint16(0), "", uint8(4), uint32(0)), raw(1, queueBind, uint16(0), "", "amq.topic", "a.*", uint8(0), uint32(0)))
	publish := raw(1, basicPublish, uint16(0), "amq.topic", "a.b", uint8(0))
	for _, in := range [][]byte{
		join(bind, raw(1, basicConsume, uint16(0), "", "", uint8(2), uint32(0)), publish, plain("hello"), publish, plain("")),
		join(raw(1, basicQos, uint32(0), uint16(1), uint8(0)), raw(1, basicConsume, uint16(0), "q", "x", uint8(0), uint32(0)),
			raw(1, basicConsume, uint16(0), "q", "y", uint8(0), uint32(0)), raw(1, confirmSelect, uint8(0)),
			publish, plain(string(make([]byte, 99))), ack(basicAck, 1, true), raw(1, basicCancel, "x", uint8(0))),
		join(publish, plain(string(make([]byte, 101)))),
		join(publish, appendHeartbeat(nil), plain("x"), raw(2, channelOpen, ""), raw(2, channelClose, uint16(200), "", uint32(0))),
		join(raw(1, basicConsume, uint16(0), "q", "x", uint8(0), uint32(0)), raw(0, connectionClose, uint16(200), "", uint32(0)), publish),
		[]byte("AMQP\x00\x01\x00\x00"), []byte("GET / HTTP/1.1\r\n"),
	} {
		f.Add(in, uint64(1))
	}
	cfg := &ServerConfig{MaxMessage: 100, FrameMax: minFrame}
	f.Fuzz(func(t *testing.T, in []byte, seed uint64) {
		however.Same(t, func() proto.Session { return NewServer(cfg) }, in, seed)
		however.Same(t, func() proto.Session { return NewServer(cfg) }, join(hello, in), seed)
	})
}
