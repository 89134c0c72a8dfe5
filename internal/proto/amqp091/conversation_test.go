package amqp091

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
	token uint64
}

func FuzzConversation(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 4, 1, 1, 5, 9, 4, 200, 5, 200, 3, 7, 2, 4, 255, 5, 255, 2, 250})
	f.Add([]byte{1, 255, 1, 3, 0, 1, 2, 0, 2, 255, 4, 1, 4, 1, 4, 100, 5, 3, 5, 90})
	f.Fuzz(func(t *testing.T, program []byte) {
		for every := range 4 {
			cfg := &Config{
				Exchange: Exchange{Name: "amq.topic"}, AckEvery: every, Window: 5, FrameMax: minFrame * (1 + every%2),
				Mandatory: every == 2, Persistent: every == 1,
			}
			c := &conversation{pair: connect(t, cfg, &ServerConfig{ConfirmEvery: 3 - every})}
			c.T, c.Client, c.Server, c.Words = t, c.client, c.server, c.words
			c.Play(program, c.do)
			if c.client.InFlight() > 0 {
				t.Errorf("%d messages are in flight for ever", c.client.InFlight())
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
	switch what % 6 {
	case 0:
		s := proto.Subscription{Token: uint64(n)<<40 | c.token, Topic: key, QoS: qos}
		if n%5 == 0 {
			s.Group = fmt.Sprint("g", len(c.subs))
		}
		c.Up, err = c.client.Subscribe(&s, c.Up)
		c.subs = append(c.subs, s)
		c.AtServer(proto.Subscribed, "%d %s %d", len(c.subs), key, qos)
		c.AtClient(proto.Subscribed, "%d %d", s.Token, qos)
	case 1:
		if c.client.Room(qos) == 0 {
			return nil
		}
		m := proto.Message{Token: c.token, Topic: []byte(key), Payload: payload, QoS: qos}
		c.Up, err = c.client.Publish(&m, c.Up)
		c.AtServer(proto.Delivered, "%s %q", key, payload)
		if qos == 1 {
			c.AtClient(proto.Acked, "%d", c.token)
		}
	case 2:
		c.Settle() // the server must know the subscriptions
		for i := range min(len(c.subs), 3) {
			s := c.subs[i]
			m := proto.Message{Token: c.token, Topic: []byte(key), Payload: payload, Sub: uint64(i + 1), QoS: qos & s.QoS, Redelivered: n%7 == 0}
			c.Down, err = c.server.Publish(&m, c.Down)
			c.AtClient(proto.Delivered, "%d %d %s %q %v", s.Token, s.QoS, key, payload, m.Redelivered)
			if m.QoS == 1 {
				c.AtServer(proto.Acked, "%d", c.token)
			}
		}
	case 3:
		c.Up = c.client.Barrier(c.token, c.Up)
		c.AtClient(proto.Barrier, "%d", c.token)
	case 4:
		c.Carry(n*30, 0)
	case 5:
		c.Carry(0, n*30)
	}
	return err
}

// words are those that reports are expected in.
func (c *conversation) words(atServer bool, ev *proto.Event) string {
	switch {
	case ev.Kind == proto.Subscribed && atServer:
		return fmt.Sprintf("%d %s %d", ev.Token, ev.Topic, ev.QoS)
	case ev.Kind == proto.Subscribed:
		return fmt.Sprintf("%d %d", ev.Token, ev.QoS)
	case ev.Kind == proto.Delivered && atServer:
		return fmt.Sprintf("%s %q", ev.Topic, ev.Payload)
	case ev.Kind == proto.Delivered:
		return fmt.Sprintf("%d %d %s %q %v", ev.Token, ev.QoS, ev.Topic, ev.Payload, ev.Redelivered)
	}
	return fmt.Sprint(ev.Token)
}
