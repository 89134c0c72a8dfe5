package resp

import (
	"fmt"
	"testing"

	"github.com/mqlab/mqlab/internal/proto"
)

// conversation carries bytes between a client and a server in pieces, and compares what each side reports with what the
// other was asked to say.
type conversation struct {
	t                  *testing.T
	client             *PubSub
	server             *Server
	up, down           []byte
	atServer, atClient []string // what must still be reported, in order
	answers            []string // what the client reports once the server has seen the command
	token              uint64
}

func FuzzConversation(f *testing.F) {
	f.Add([]byte{0, 0, 4, 1, 1, 5, 9, 4, 200, 5, 200, 3, 7, 2, 4, 255, 5, 255})
	f.Add([]byte{1, 255, 1, 3, 2, 0, 0, 1, 4, 1, 4, 100, 5, 3, 5, 90, 2, 1, 2, 4})
	f.Fuzz(func(t *testing.T, program []byte) {
		for _, cfg := range []*Config{{}, {RESP2: true}, {User: "u", Password: "p"}} {
			c := &conversation{t: t, client: NewPubSub(cfg, "n"), server: NewServer(&ServerConfig{User: "u", Password: cfg.Password})}
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

// do carries out one instruction of the program. Whatever makes the client report is settled at once, since deliveries
// may overtake answers.
func (c *conversation) do(what byte, n int) {
	var err error
	c.token++
	topic := []string{"a", "a/b", "some/longer/topic"}[n%3]
	payload := make([]byte, n*n/7)
	for i := range payload {
		payload[i] = byte(i * n)
	}
	switch what % 6 {
	case 0:
		c.settle()
		c.up, err = c.client.Subscribe(&proto.Subscription{Token: c.token, Topic: topic + []string{"", "*"}[n/3%2]}, c.up)
		c.atServer = append(c.atServer, "subscribed "+topic+[]string{"", "*"}[n/3%2])
		c.atClient = append(c.atClient, fmt.Sprintf("subscribed %d", c.token))
		c.settle()
	case 1:
		if c.client.subscriber && !c.client.resp3 {
			return
		}
		m := proto.Message{Token: c.token, Topic: []byte(topic), Payload: payload, QoS: uint8(n % 2)}
		c.up, err = c.client.Publish(&m, c.up)
		c.atServer = append(c.atServer, fmt.Sprintf("delivered %s %q", topic, payload))
		if m.QoS == 1 {
			c.answers = append(c.answers, fmt.Sprintf("acked %d", c.token))
		} else {
			c.answers = append(c.answers, "")
		}
	case 2:
		if len(c.server.subs) == 0 {
			return
		}
		sub := c.server.subs[n%len(c.server.subs)]
		c.down, err = c.server.Publish(&proto.Message{Topic: []byte(topic), Payload: payload, Sub: sub.token}, c.down)
		c.atClient = append(c.atClient, fmt.Sprintf("delivered %s %q", topic, payload))
	case 3:
		c.settle()
		c.up = c.client.Barrier(c.token, c.up)
		c.atClient = append(c.atClient, fmt.Sprintf("barrier %d", c.token))
		c.settle()
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
	c.up = c.move(c.server, c.up, up, &c.down, c.serverReports)
	c.down = c.move(c.client, c.down, down, &c.up, c.clientReports)
}

func (c *conversation) move(to proto.Session, in []byte, most int, back *[]byte, report func(*proto.Event)) []byte {
	most = min(most, len(in))
	var ev proto.Event
	for most > 0 {
		n, out, err := to.Feed(0, in[:most], *back, &ev)
		if err != nil {
			c.t.Fatal(err)
		}
		if n == 0 && ev.Kind == proto.None {
			break
		}
		*back = out
		report(&ev)
		in, most = in[n:], most-n
	}
	return in
}

func (c *conversation) serverReports(ev *proto.Event) {
	switch ev.Kind {
	case proto.None:
	case proto.Ready:
		expect(c.t, &c.atServer, "ready")
	case proto.Subscribed:
		expect(c.t, &c.atServer, fmt.Sprintf("subscribed %s", ev.Topic))
	case proto.Delivered:
		expect(c.t, &c.atServer, fmt.Sprintf("delivered %s %q", ev.Topic, ev.Payload))
		if answer := c.answers[0]; answer != "" { // its answer stands behind what was delivered so far
			c.atClient = append(c.atClient, answer)
		}
		c.answers = c.answers[1:]
	default:
		c.t.Fatalf("the server reports %+v", ev)
	}
}

func (c *conversation) clientReports(ev *proto.Event) {
	switch ev.Kind {
	case proto.None:
	case proto.Ready:
		expect(c.t, &c.atClient, "ready")
	case proto.Subscribed:
		expect(c.t, &c.atClient, fmt.Sprintf("subscribed %d", ev.Token))
	case proto.Delivered:
		expect(c.t, &c.atClient, fmt.Sprintf("delivered %s %q", ev.Topic, ev.Payload))
	case proto.Acked:
		expect(c.t, &c.atClient, fmt.Sprintf("acked %d", ev.Token))
	case proto.Barrier:
		expect(c.t, &c.atClient, fmt.Sprintf("barrier %d", ev.Token))
	default:
		c.t.Fatalf("the client reports %+v", ev)
	}
	if ev.Err != nil {
		c.t.Fatal(ev.Err)
	}
}

func expect(t *testing.T, list *[]string, got string) {
	t.Helper()
	if len(*list) == 0 || (*list)[0] != got {
		t.Fatalf("reported %s, expected first of %q", got, *list)
	}
	*list = (*list)[1:]
}
