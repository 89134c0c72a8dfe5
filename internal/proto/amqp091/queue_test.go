package amqp091

import (
	"strings"
	"testing"

	"github.com/mqlab/mqlab/internal/proto"
)

// TestQueues: how the queue of a subscription is named, what kind it is, and that basic.qos is said once.
func TestQueues(t *testing.T) {
	topics := Exchange{Name: "amq.topic"}
	for name, c := range map[string]struct {
		cfg                 Config
		group               string
		queue, declare, key string // declare: the bits durable 2, exclusive 4, auto-delete 8
	}{
		"temporary": {Config{Exchange: topics}, "", "amq.gen-1", "\x00\x0c", "a.*"},
		"shared":    {Config{Exchange: topics}, "g", "g:a.*", "g:a.*\x08", "a.*"},
		"durable":   {Config{Exchange: topics, Queue: Queue{Durable: true}}, "", "c:a.*", "c:a.*\x02", "a.*"},
		"quorum":    {Config{Exchange: topics, Queue: Queue{Type: "quorum"}}, "", "c:a.*", "c:a.*\x02\x00\x00\x00\x18\x0cx-queue-typeS\x00\x00\x00\x06quorum", "a.*"},
		"classic":   {Config{Exchange: topics, Queue: Queue{Type: "classic"}}, "", "amq.gen-1", "\x00\x0c", "a.*"},
		"default":   {Config{}, "g", "a.*", "a.*\x08", "a.*"},
	} {
		t.Run(name, func(t *testing.T) {
			c.cfg.Prefetch = 300
			p := connect(t, &c.cfg, &ServerConfig{})
			s := proto.Subscription{Token: 1, Topic: "a.*", Group: c.group, QoS: 1}
			up, err := p.client.Subscribe(&s, nil)
			if err != nil {
				t.Fatal(err)
			}
			s.Token, s.Topic = 2, "b"
			if up, err = p.client.Subscribe(&s, up); err != nil {
				t.Fatal(err)
			}
			if qos := string(raw(1, basicQos, uint32(0), uint16(300), uint8(0))); strings.Count(string(up), qos) != 1 {
				t.Errorf("basic.qos is missing or repeated in %q", up)
			}
			if !strings.Contains(string(up), c.declare) {
				t.Errorf("%q is not in %q", c.declare, up)
			}
			events, down := feedAll(t, p.server, up)
			if len(events) != 2 || string(events[0].Topic) != c.key || p.server.Queue(1) != c.queue {
				t.Errorf("subscribed %+v to queue %q", events, p.server.Queue(1))
			}
			if exclusive := p.server.Group(1) == ""; exclusive != strings.HasPrefix(c.queue, "amq.gen") {
				t.Errorf("shared as %q", p.server.Group(1))
			}
			if p.server.Room(1) != 300 {
				t.Errorf("room for %d", p.server.Room(1))
			}
			if events, _ := feedAll(t, p.client, down); len(events) != 2 || events[1].Token != 2 {
				t.Errorf("reported %+v", events)
			}
		})
	}
}

func TestMechanisms(t *testing.T) {
	for mechanism, want := range map[string]string{
		"": "\x05PLAIN\x00\x00\x00\x04\x00u\x00p", "ANONYMOUS": "\x09ANONYMOUS\x00\x00\x00\x05mqlab", "EXTERNAL": "\x08EXTERNAL\x00\x00\x00\x01u",
	} {
		c := NewClient(&Config{Mechanism: mechanism, User: "u", Password: "p"}, "")
		c.Open(0, nil)
		_, out := feedAll(t, c, raw(0, connectionStart, uint8(0), uint8(9), uint32(0), appendLong(nil, "PLAIN ANONYMOUS EXTERNAL"), uint32(0)))
		if !strings.Contains(string(out), want) {
			t.Errorf("%s: %q", mechanism, out)
		}
	}
}
