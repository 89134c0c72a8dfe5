package resp

import (
	"fmt"
	"testing"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/prototest"
)

// conversation is one between a client and a server that must report all in order.
type conversation struct {
	prototest.Conversation
	client  *PubSub
	server  *Server
	answers []uint64 // tokens of the messages that the server must still see; 0 = it will not be acknowledged
	token   uint64
}

func FuzzConversation(f *testing.F) {
	f.Add([]byte{0, 0, 4, 1, 1, 5, 9, 4, 200, 5, 200, 3, 7, 2, 4, 255, 5, 255})
	f.Add([]byte{1, 255, 1, 3, 2, 0, 0, 1, 4, 1, 4, 100, 5, 3, 5, 90, 2, 1, 2, 4})
	f.Fuzz(func(t *testing.T, program []byte) {
		for _, cfg := range []*Config{{}, {RESP2: true}, {User: "u", Password: "p"}} {
			c := &conversation{client: NewPubSub(cfg, "n"), server: NewServer(&ServerConfig{User: "u", Password: cfg.Password})}
			c.T, c.Client, c.Server, c.Words, c.InOrder = t, c.client, c.server, c.words, true
			c.Up, c.Down = c.client.Open(0, nil), c.server.Open(0, nil)
			c.AtServer(proto.Ready, "")
			c.AtClient(proto.Ready, "")
			c.Settle()
			c.Play(program, c.do)
		}
	})
}

// do carries out one instruction of the program. Whatever makes the client report is settled at once, since deliveries
// may overtake answers.
func (c *conversation) do(what byte, n int) (err error) {
	c.token++
	topic := []string{"a", "a/b", "some/longer/topic"}[n%3]
	payload := prototest.Filler(n*n/7, n)
	switch what % 6 {
	case 0:
		c.Settle()
		c.Up, err = c.client.Subscribe(&proto.Subscription{Token: c.token, Topic: topic + []string{"", "*"}[n/3%2]}, c.Up)
		c.AtServer(proto.Subscribed, "%s", topic+[]string{"", "*"}[n/3%2])
		c.AtClient(proto.Subscribed, "%d", c.token)
		c.Settle()
	case 1:
		if c.client.subscriber && !c.client.resp3 {
			return nil
		}
		m := proto.Message{Token: c.token, Topic: []byte(topic), Payload: payload, QoS: uint8(n % 2)}
		c.Up, err = c.client.Publish(&m, c.Up)
		c.AtServer(proto.Delivered, "%s %q", topic, payload)
		c.answers = append(c.answers, uint64(m.QoS)*c.token)
	case 2:
		if len(c.server.subs) == 0 {
			return nil
		}
		sub := c.server.subs[n%len(c.server.subs)]
		c.Down, err = c.server.Publish(&proto.Message{Topic: []byte(topic), Payload: payload, Sub: sub.token}, c.Down)
		c.AtClient(proto.Delivered, "%s %q", topic, payload)
	case 3:
		c.Settle()
		c.Up = c.client.Barrier(c.token, c.Up)
		c.AtClient(proto.Barrier, "%d", c.token)
		c.Settle()
	case 4:
		c.Carry(n, 0)
	case 5:
		c.Carry(0, n)
	}
	return err
}

// words are those that reports are expected in. The answer to a message stands behind what was delivered until then.
func (c *conversation) words(atServer bool, ev *proto.Event) string {
	switch {
	case ev.Kind == proto.Ready:
		return ""
	case ev.Kind == proto.Delivered:
		if atServer {
			if answer := c.answers[0]; answer != 0 {
				c.AtClient(proto.Acked, "%d", answer)
			}
			c.answers = c.answers[1:]
		}
		return fmt.Sprintf("%s %q", ev.Topic, ev.Payload)
	case atServer:
		return string(ev.Topic)
	}
	return fmt.Sprint(ev.Token)
}
