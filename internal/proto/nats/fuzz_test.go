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

// sameHoweverCut checks that the way bytes arrive in does not matter.
func sameHoweverCut(t *testing.T, open func() proto.Session, in []byte, seed uint64) {
	t.Helper()
	cut := prototest.Cut{Open: open, React: react, Units: true}
	cut.Same(t, in, seed)
}

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
		sameHoweverCut(t, func() proto.Session { return NewClient(&Config{}) }, in, seed)
		sameHoweverCut(t, func() proto.Session { return NewClient(&Config{}) }, append([]byte(hello), in...), seed)
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
		sameHoweverCut(t, open, append([]byte(greeting+"PONG\r\n"), in...), seed)
		sameHoweverCut(t, open, append([]byte(hello), in...), seed)
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
		sameHoweverCut(t, func() proto.Session { return NewServer(cfg) }, in, seed)
		sameHoweverCut(t, func() proto.Session { return NewServer(cfg) }, append([]byte(hello), in...), seed)
	})
}

// conversation carries bytes between a client and a server in pieces, and compares what each side reports with what the
// other was asked to say.
type conversation struct {
	t                  *testing.T
	client             *Client
	server             *Server
	up, down           []byte
	atServer, atClient []string // what must still be reported, in order
	subscribed         uint64   // subscriptions the server has seen
	token              uint64
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
			c := &conversation{t: t, client: NewClient(cfg), server: NewServer(&ServerConfig{})}
			c.up, c.down = c.client.Open(0, nil), c.server.Open(0, nil)
			c.atServer, c.atClient = []string{"ready"}, []string{"ready"}
			c.settle()
			for i := 0; i+1 < len(program); i += 2 {
				c.do(program[i], int(program[i+1]))
			}
			c.settle()
			if len(c.atServer)+len(c.atClient) > 0 {
				t.Errorf("never reported: %q at the server, %q at the client", c.atServer, c.atClient)
			}
		}
	})
}

// do carries out one instruction of the program.
func (c *conversation) do(what byte, n int) {
	var err error
	subject := []string{"a", "a.b", "some.longer.subject"}[n%3]
	payload := make([]byte, n*n/7)
	for i := range payload {
		payload[i] = byte(i * n)
	}
	switch what % 6 {
	case 0:
		c.token++
		c.up, err = c.client.Subscribe(&proto.Subscription{Topic: subject, Token: c.token, Group: subject[:n%2]}, c.up)
		c.atServer = append(c.atServer, fmt.Sprintf("subscribed %d %s %q", c.token, subject, subject[:n%2]))
		c.atClient = append(c.atClient, fmt.Sprintf("subscribed %d", c.token))
	case 1:
		c.up, err = c.client.Publish(&proto.Message{Topic: []byte(subject), Payload: payload}, c.up)
		c.atServer = append(c.atServer, fmt.Sprintf("delivered %s %q %q", subject, c.client.cfg.Headers, payload))
	case 2:
		c.settle() // so that deliveries cannot overtake confirmations in our lists
		for sub := range min(c.subscribed, 3) {
			m := proto.Message{Topic: []byte(subject), Payload: payload, Sub: sub + 1}
			c.down, err = c.server.PublishHeaders(&m, c.client.cfg.Headers, c.down)
			sid := c.server.subs[sub+1].sid
			c.atClient = append(c.atClient, fmt.Sprintf("delivered %s%s %q %q", sid, subject, c.client.cfg.Headers, payload))
		}
	case 3:
		c.settle()
		c.token++
		c.up = c.client.Barrier(c.token, c.up)
		c.atClient = append(c.atClient, fmt.Sprintf("barrier %d", c.token))
	case 4:
		c.carry(n, 0)
	case 5:
		c.carry(0, n)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// settle carries everything until nobody has more to say.
func (c *conversation) settle() {
	for range 10 {
		c.carry(len(c.up), len(c.down))
	}
	if len(c.up)+len(c.down) > 0 {
		c.t.Fatalf("not understood: %q to the server, %q to the client", c.up, c.down)
	}
}

// carry lets each side see no more than so many bytes of what the other has sent.
func (c *conversation) carry(up, down int) {
	up, down = min(up, len(c.up)), min(down, len(c.down))
	var ev proto.Event
	for up > 0 {
		n, out, err := c.server.Feed(0, c.up[:up], c.down, &ev)
		if err != nil {
			c.t.Fatal(err)
		}
		if n == 0 {
			break
		}
		c.down = out
		c.serverReports(&ev)
		c.up, up = c.up[n:], up-n
	}
	for down > 0 {
		n, out, err := c.client.Feed(0, c.down[:down], c.up, &ev)
		if err != nil {
			c.t.Fatal(err)
		}
		if n == 0 {
			break
		}
		c.up = out
		c.clientReports(&ev)
		c.down, down = c.down[n:], down-n
	}
}

func (c *conversation) serverReports(ev *proto.Event) {
	switch ev.Kind {
	case proto.None:
	case proto.Ready:
		c.expect(&c.atServer, "ready")
	case proto.Subscribed:
		c.subscribed++
		sid := c.server.subs[ev.Token].sid
		c.expect(&c.atServer, fmt.Sprintf("subscribed %s%s %q", sid, ev.Topic, c.server.Group(ev.Token)))
	case proto.Delivered:
		c.expect(&c.atServer, fmt.Sprintf("delivered %s %q %q", ev.Topic, c.server.Headers(), ev.Payload))
	default:
		c.t.Fatalf("the server reports %+v", ev)
	}
}

func (c *conversation) clientReports(ev *proto.Event) {
	switch ev.Kind {
	case proto.None:
	case proto.Ready:
		c.expect(&c.atClient, "ready")
	case proto.Subscribed:
		c.expect(&c.atClient, fmt.Sprintf("subscribed %d", ev.Token))
	case proto.Delivered:
		c.expect(&c.atClient, fmt.Sprintf("delivered %d %s %q %q", ev.Token, ev.Topic, c.client.Headers(), ev.Payload))
	case proto.Barrier:
		c.expect(&c.atClient, fmt.Sprintf("barrier %d", ev.Token))
	default:
		c.t.Fatalf("the client reports %+v", ev)
	}
	if ev.Err != nil {
		c.t.Fatal(ev.Err)
	}
}

func (c *conversation) expect(list *[]string, got string) {
	c.t.Helper()
	if len(*list) == 0 || (*list)[0] != got {
		c.t.Fatalf("reported %s, expected first of %q", got, *list)
	}
	*list = (*list)[1:]
}
