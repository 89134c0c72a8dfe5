package nats

import (
	"fmt"
	"testing"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/prototest"
)

// react does what makes more answers possible.
func react(s proto.Session, ev *proto.Event, out []byte) []byte {
	switch s := s.(type) {
	case *Client:
		if ev.Kind == proto.Ready {
			for token := range uint64(3) {
				out, _ = s.Subscribe(&proto.Subscription{Topic: "a.*", Token: token}, out)
			}
			return s.Barrier(9, out)
		}
	case *JetStream:
		if ev.Kind == proto.Ready {
			out, _ = s.Subscribe(&proto.Subscription{Topic: "a.*", Token: 5, QoS: 1}, out)
			out, _ = s.Publish(&proto.Message{Topic: []byte("a.b"), Token: 3, QoS: 1}, out)
		}
	case *Server:
		if ev.Kind == proto.Delivered {
			out, _ = s.PublishHeaders(&proto.Message{Topic: ev.Topic, Payload: ev.Payload, Sub: 1}, s.Headers(), out)
		}
	}
	return out
}

// however checks that the way bytes arrive in does not matter.
var however = prototest.Cut{React: react, Units: true}

func FuzzClientFeed(f *testing.F) {
	const hello = greeting + "PONG\r\n"
	for _, in := range []string{
		hello + "PONG\r\n-ERR 'Permissions Violation for Subscription to \"a.*\"'\r\nPONG\r\nPONG\r\nPONG\r\n",
		hello + "MSG a.b 1 5\r\nhello\r\nMSG a 2 re 0\r\n\r\nHMSG a 1 12 14\r\nNATS/1.0\r\n\r\nok\r\nPING\r\n+OK\r\n",
		hello + "INFO {\"max_payload\":1,\"ldm\":true}\r\nMSG a.b 1 5\r\nhello!!",
		greeting + "-ERR 'Authorization Violation'\r\n",
		"HTTP/1.1 400\r\n",
		hello + "hmsg\ta  1 12  12\nNATS/1.0\r\n\r\n\r\npong\n",
	} {
		f.Add([]byte(in), uint64(1))
	}
	f.Fuzz(func(t *testing.T, in []byte, seed uint64) {
		however.Same(t, func() proto.Session { return NewClient(&Config{}) }, in, seed)
		however.Same(t, func() proto.Session { return NewClient(&Config{}) }, append([]byte(hello), in...), seed)
	})
}

func FuzzJetStreamFeed(f *testing.F) {
	hello := greeting + "PONG\r\n" + inboxMessage("s", created) + inboxMessage("c0", created)
	for _, in := range []string{
		inboxMessage("3", `{"stream":"S", "seq":1}`) + "MSG a.b 2 $JS.ACK.S.C.2.5.5.1.0 2\r\nhi\r\n",
		statusMessage("d.0", 2, "408 Request Timeout\r\nNats-Pending-Messages: 400") + "MSG a.b 9 0\r\n\r\n",
		statusMessage("d.0", 2, "409 Consumer Deleted") + statusMessage("3", 1, "503"),
		inboxMessage("3", refused) + inboxMessage("c1", refused) + inboxMessage("s", refused),
		"HMSG a.b 2 $JS.ACK.d.a.S.C.1.5.5.1.0.x 12 14\r\nNATS/1.0\r\n\r\nok\r\n",
	} {
		f.Add([]byte(in), uint64(1))
	}
	open := func() proto.Session { return NewJetStream(&Config{}, &testStream, "me") }
	f.Fuzz(func(t *testing.T, in []byte, seed uint64) {
		however.Same(t, open, append([]byte(greeting+"PONG\r\n"), in...), seed)
		however.Same(t, open, append([]byte(hello), in...), seed)
	})
}

func FuzzServerFeed(f *testing.F) {
	const hello = "CONNECT {\"headers\":true}\r\n"
	for _, in := range []string{
		"PING\r\nSUB a.* 1\r\nSUB b group x\r\nPUB a.b 5\r\nhello\r\nUNSUB 1 3\r\nUNSUB x\r\n",
		"SUB > 1\r\nHPUB a re 12 14\r\nNATS/1.0\r\n\r\nok\r\nPUB a 101\r\n",
		"PUB a 2\r\nabcd",
		"PUB a.* 0\r\n\r\npong\n+ok\nWHAT\r\n",
	} {
		f.Add([]byte(in), uint64(1))
		f.Add([]byte(hello+in), uint64(2))
	}
	cfg := &ServerConfig{MaxPayload: 100}
	f.Fuzz(func(t *testing.T, in []byte, seed uint64) {
		however.Same(t, func() proto.Session { return NewServer(cfg) }, in, seed)
		however.Same(t, func() proto.Session { return NewServer(cfg) }, append([]byte(hello), in...), seed)
	})
}

// conversation is one between a client and a server that must report all in order.
type conversation struct {
	prototest.Conversation
	client     *Client
	server     *Server
	subscribed uint64 // subscriptions the server has seen
	token      uint64
}

func FuzzConversation(f *testing.F) {
	f.Add([]byte{0, 0, 4, 1, 1, 5, 9, 4, 200, 5, 200, 3, 7, 2, 4, 255, 5, 255})
	f.Add([]byte{1, 255, 1, 3, 2, 0, 4, 1, 4, 1, 4, 100, 5, 3, 5, 90})
	headers, err := EncodeHeaders(Header{"Some", "value"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, program []byte) {
		for _, cfg := range []*Config{{}, {Headers: headers}} {
			c := &conversation{client: NewClient(cfg), server: NewServer(&ServerConfig{})}
			c.T, c.Client, c.Server, c.Words, c.InOrder = t, c.client, c.server, c.words, true
			c.Up, c.Down = c.client.Open(0, nil), c.server.Open(0, nil)
			c.AtServer(proto.Ready, "")
			c.AtClient(proto.Ready, "")
			c.Settle()
			c.Play(program, c.do)
		}
	})
}

// do carries out one instruction of the program.
func (c *conversation) do(what byte, n int) (err error) {
	subject := []string{"a", "a.b", "some.longer.subject"}[n%3]
	payload := prototest.Filler(n*n/7, n)
	switch what % 6 {
	case 0:
		c.token++
		c.Up, err = c.client.Subscribe(&proto.Subscription{Topic: subject, Token: c.token, Group: subject[:n%2]}, c.Up)
		c.AtServer(proto.Subscribed, "%d %s %q", c.token, subject, subject[:n%2])
		c.AtClient(proto.Subscribed, "%d", c.token)
	case 1:
		c.Up, err = c.client.Publish(&proto.Message{Topic: []byte(subject), Payload: payload}, c.Up)
		c.AtServer(proto.Delivered, "%s %q %q", subject, c.client.cfg.Headers, payload)
	case 2:
		c.Settle() // so that deliveries cannot overtake confirmations in our lists
		for sub := range min(c.subscribed, 3) {
			m := proto.Message{Topic: []byte(subject), Payload: payload, Sub: sub + 1}
			c.Down, err = c.server.PublishHeaders(&m, c.client.cfg.Headers, c.Down)
			sid := c.server.subs[sub+1].sid
			c.AtClient(proto.Delivered, "%s%s %q %q", sid, subject, c.client.cfg.Headers, payload)
		}
	case 3:
		c.Settle()
		c.token++
		c.Up = c.client.Barrier(c.token, c.Up)
		c.AtClient(proto.Barrier, "%d", c.token)
	case 4:
		c.Carry(n, 0)
	case 5:
		c.Carry(0, n)
	}
	return err
}

// words are those that reports are expected in.
func (c *conversation) words(atServer bool, ev *proto.Event) string {
	switch {
	case ev.Kind == proto.Ready:
		return ""
	case ev.Kind == proto.Subscribed && atServer:
		c.subscribed++
		return fmt.Sprintf("%s%s %q", c.server.subs[ev.Token].sid, ev.Topic, c.server.Group(ev.Token))
	case ev.Kind == proto.Delivered && atServer:
		return fmt.Sprintf("%s %q %q", ev.Topic, c.server.Headers(), ev.Payload)
	case ev.Kind == proto.Delivered:
		return fmt.Sprintf("%d %s %q %q", ev.Token, ev.Topic, c.client.Headers(), ev.Payload)
	}
	return fmt.Sprint(ev.Token)
}
