package amqp10

import (
	"fmt"
	"testing"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/prototest"
)

// conversation is one of a pair.
type conversation struct {
	prototest.Conversation
	*pair
	subs  []proto.Subscription
	refs  []uint64 // the server's tokens of subs
	token uint64
}

func FuzzConversation(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 3, 1, 1, 5, 9, 4, 200, 5, 200, 3, 7, 2, 4, 255, 5, 255, 2, 250})
	f.Add([]byte{1, 255, 1, 3, 0, 1, 2, 0, 2, 255, 4, 1, 4, 1, 4, 100, 5, 3, 5, 90})
	f.Add([]byte{1, 255, 1, 255, 1, 255, 1, 254, 0, 1, 4, 255, 2, 255, 2, 255, 2, 253, 5, 9, 4, 9})
	f.Fuzz(func(t *testing.T, program []byte) {
		for every := range 4 {
			cfg := &Config{
				Target: Terminus{Address: "lab"}, Source: Terminus{Address: "{topic}"}, SenderFirst: every != 1,
				AckEvery: every, Window: 5, FrameMax: minFrame * (1 + every), Durable: every == 1, Credit: 3 + every, SessionWindow: 5 - every,
			}
			if every == 2 {
				cfg.Target.Address, cfg.SenderFirst = TopicHere, false
			}
			c := &conversation{pair: connect(t, cfg, &ServerConfig{ConfirmEvery: 3 - every, Credit: 4, SessionWindow: 2 + every})}
			c.T, c.Client, c.Server, c.Words = t, c.client, c.server, c.words
			c.Play(program, c.do)
			if c.client.InFlight()+c.server.InFlight() > 0 || c.client.held != nil || c.server.held != nil {
				t.Errorf("%d and %d messages are in flight for ever", c.client.InFlight(), c.server.InFlight())
			}
		}
	})
}

// do carries out one instruction of the program.
func (c *conversation) do(what byte, n int) (err error) {
	key := []string{"a", "a.b", "some.longer.key"}[n%3]
	payload := prototest.Filler(n*n/3, n)
	qos := uint8(n & 1)
	c.token++
	switch what % 5 {
	case 0:
		s := proto.Subscription{Token: uint64(n)<<40 | c.token, Topic: key, QoS: qos}
		c.Up, err = c.client.Subscribe(&s, c.Up)
		c.subs = append(c.subs, s)
		c.AtServer(proto.Subscribed, "%s %d", key, qos)
		c.AtClient(proto.Subscribed, "%d %d", s.Token, qos)
	case 1:
		if c.client.Room(qos) == 0 {
			return nil
		}
		m := proto.Message{Token: c.token, Topic: []byte(key), Payload: payload, QoS: qos}
		before := len(c.Up)
		if c.Up, err = c.client.Publish(&m, c.Up); err == ErrNoRoom && c.client.cfg.Target.perTopic() && len(c.Up) == before {
			return nil // room is for the topics in use
		}
		c.AtServer(proto.Delivered, "%s %q", key, payload)
		if qos == 1 {
			c.AtClient(proto.Acked, "%d", c.token)
		}
	case 2:
		c.Settle() // the server must know the subscriptions
		for i := range min(len(c.subs), 3) {
			s := c.subs[i]
			if c.server.Room(1) == 0 {
				continue
			}
			m := proto.Message{Token: c.token, Topic: []byte(key), Payload: payload, Sub: c.refs[i], QoS: qos & s.QoS, Redelivered: n%7 == 0}
			c.Down, err = c.server.Publish(&m, c.Down)
			c.AtClient(proto.Delivered, "%d %d %s %q %v", s.Token, s.QoS, key, payload, m.Redelivered)
			if m.QoS == 1 {
				c.AtServer(proto.Acked, "%d", c.token)
			}
		}
	case 3:
		c.Carry(n*30, 0)
	case 4:
		c.Carry(0, n*30)
	}
	return err
}

// words are those that reports are expected in.
func (c *conversation) words(atServer bool, ev *proto.Event) string {
	switch {
	case ev.Kind == proto.Subscribed && atServer:
		c.refs = append(c.refs, ev.Token)
		return fmt.Sprintf("%s %d", ev.Topic, ev.QoS)
	case ev.Kind == proto.Subscribed:
		return fmt.Sprintf("%d %d", ev.Token, ev.QoS)
	case ev.Kind == proto.Delivered && atServer:
		return fmt.Sprintf("%s %q", ev.Topic, ev.Payload)
	case ev.Kind == proto.Delivered:
		return fmt.Sprintf("%d %d %s %q %v", ev.Token, ev.QoS, ev.Topic, ev.Payload, ev.Redelivered)
	}
	return fmt.Sprint(ev.Token)
}
