package amqp10

import (
	"fmt"
	"testing"

	"github.com/mqlab/mqlab/internal/proto"
)

// conversation carries bytes between a client and a server in pieces, and compares what each side reports with what the
// other was asked to say.
type conversation struct {
	t *testing.T
	*pair
	up, down           []byte
	atServer, atClient [proto.Closed + 1][]string // what must still be reported, in order of each kind
	subs               []proto.Subscription
	refs               []uint64 // the server's tokens of subs
	token              uint64
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
			c := &conversation{t: t, pair: connect(t, cfg, &ServerConfig{ConfirmEvery: 3 - every, Credit: 4, SessionWindow: 2 + every})}
			for i := 0; i+1 < len(program); i += 2 {
				c.do(program[i], int(program[i+1]))
			}
			c.settle()
			for kind := range c.atServer {
				if len(c.atServer[kind])+len(c.atClient[kind]) > 0 {
					t.Errorf("kind %d never reported: %.200q at the server, %.200q at the client", kind, c.atServer[kind], c.atClient[kind])
				}
			}
			if c.client.InFlight()+c.server.InFlight() > 0 || c.client.held != nil || c.server.held != nil {
				t.Errorf("%d and %d messages are in flight for ever", c.client.InFlight(), c.server.InFlight())
			}
		}
	})
}

// do carries out one instruction of the program.
func (c *conversation) do(what byte, n int) {
	var err error
	key := []string{"a", "a.b", "some.longer.key"}[n%3]
	payload := make([]byte, n*n/3)
	for i := range payload {
		payload[i] = byte(i * n)
	}
	qos := uint8(n & 1)
	c.token++
	switch what % 5 {
	case 0:
		s := proto.Subscription{Token: uint64(n)<<40 | c.token, Topic: key, QoS: qos}
		c.up, err = c.client.Subscribe(&s, c.up)
		c.subs = append(c.subs, s)
		c.at(&c.atServer, proto.Subscribed, "%s %d", key, qos)
		c.at(&c.atClient, proto.Subscribed, "%d %d", s.Token, qos)
	case 1:
		if c.client.Room(qos) == 0 {
			return
		}
		m := proto.Message{Token: c.token, Topic: []byte(key), Payload: payload, QoS: qos}
		before := len(c.up)
		if c.up, err = c.client.Publish(&m, c.up); err == ErrNoRoom && c.client.cfg.Target.perTopic() && len(c.up) == before {
			return // room is for the topics in use
		}
		c.at(&c.atServer, proto.Delivered, "%s %q", key, payload)
		if qos == 1 {
			c.at(&c.atClient, proto.Acked, "%d", c.token)
		}
	case 2:
		c.settle() // the server must know the subscriptions
		for i := range min(len(c.subs), 3) {
			s := c.subs[i]
			if c.server.Room(1) == 0 {
				continue
			}
			m := proto.Message{Token: c.token, Topic: []byte(key), Payload: payload, Sub: c.refs[i], QoS: qos & s.QoS, Redelivered: n%7 == 0}
			c.down, err = c.server.Publish(&m, c.down)
			c.at(&c.atClient, proto.Delivered, "%d %d %s %q %v", s.Token, s.QoS, key, payload, m.Redelivered)
			if m.QoS == 1 {
				c.at(&c.atServer, proto.Acked, "%d", c.token)
			}
		}
	case 3:
		c.carry(n*30, 0)
	case 4:
		c.carry(0, n*30)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *conversation) at(side *[proto.Closed + 1][]string, kind proto.Kind, format string, args ...any) {
	side[kind] = append(side[kind], fmt.Sprintf(format, args...))
}

// settle carries everything until nobody has more to say.
func (c *conversation) settle() {
	for range 1000 {
		if len(c.up)+len(c.down) == 0 {
			return
		}
		c.carry(len(c.up), len(c.down))
	}
	c.t.Fatalf("not understood: %q to the server, %q to the client", c.up, c.down)
}

// carry lets each side see no more than so many bytes of what the other has sent.
func (c *conversation) carry(up, down int) {
	c.up, c.down = c.feed(c.server, c.up, min(up, len(c.up)), c.down)
	c.down, c.up = c.feed(c.client, c.down, min(down, len(c.down)), c.up)
}

// feed lets a side see the first bytes of in, and returns what it has not consumed and what it answers.
func (c *conversation) feed(s proto.Session, in []byte, visible int, out []byte) (rest, o []byte) {
	var ev proto.Event
	for visible > 0 {
		n, o, err := s.Feed(0, in[:visible], out, &ev)
		if err != nil {
			c.t.Fatal(err)
		}
		out = o
		if n == 0 && ev.Kind == proto.None {
			break
		}
		c.reported(s == proto.Session(c.server), &ev)
		in, visible = in[n:], visible-n
	}
	return in, out
}

func (c *conversation) reported(byServer bool, ev *proto.Event) {
	if ev.Err != nil {
		c.t.Fatal(ev.Err)
	}
	side, got := &c.atClient, ""
	if byServer {
		side = &c.atServer
	}
	switch {
	case ev.Kind == proto.None:
		return
	case ev.Kind == proto.Subscribed && byServer:
		c.refs = append(c.refs, ev.Token)
		got = fmt.Sprintf("%s %d", ev.Topic, ev.QoS)
	case ev.Kind == proto.Subscribed:
		got = fmt.Sprintf("%d %d", ev.Token, ev.QoS)
	case ev.Kind == proto.Delivered && byServer:
		got = fmt.Sprintf("%s %q", ev.Topic, ev.Payload)
	case ev.Kind == proto.Delivered:
		got = fmt.Sprintf("%d %d %s %q %v", ev.Token, ev.QoS, ev.Topic, ev.Payload, ev.Redelivered)
	default:
		got = fmt.Sprint(ev.Token)
	}
	if want := side[ev.Kind]; len(want) == 0 || want[0] != got {
		c.t.Fatalf("kind %d reported as %.300s, expected first of %.300q", ev.Kind, got, want)
	}
	side[ev.Kind] = side[ev.Kind][1:]
}
