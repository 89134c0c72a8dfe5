package prototest_test

import (
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/amqp091"
	"github.com/mqlab/mqlab/internal/proto/prototest"
)

// amqp091Protocol is AMQP 0-9-1 over the topic exchange that every broker has.
func amqp091Protocol(settings amqp091.Config) *prototest.Protocol {
	return &prototest.Protocol{
		Name: "amqp091",
		NewClient: func(o *prototest.Options) prototest.Client {
			cfg := settings
			if o.User != "" {
				cfg.User, cfg.Password = o.User, o.Password
			}
			cfg.Heartbeat, cfg.Window, cfg.HoldAcks = o.KeepAlive, o.Window, o.HoldAcks
			if o.ReceiveMaximum > 0 {
				cfg.Prefetch = o.ReceiveMaximum
			}
			return amqp091.NewClient(&cfg, o.ID)
		},
		Separator: ".", One: "*", Rest: "#",
		QoS:            []uint8{0, 1},
		ReceiveMaximum: true,
	}
}

// topics are the settings of most tests.
func topics() amqp091.Config {
	return amqp091.Config{User: "guest", Password: "guest", Exchange: amqp091.Exchange{Name: "amq.topic"}}
}

// TestAMQP091 runs the suite against RabbitMQ with several kinds of exchanges and queues.
func TestAMQP091(t *testing.T) {
	t.Parallel()
	b := &prototest.Broker{Name: "rabbitmq", Addr: rabbitMQ(t)}
	declared := topics()
	declared.Exchange = amqp091.Exchange{Name: "lab", Kind: "topic", AutoDelete: false}
	declared.Mandatory = false
	declared.FrameMax = 4096
	batched := topics()
	batched.Prefetch, batched.AckEvery = 100, 50
	for name, cfg := range map[string]amqp091.Config{
		"transient": topics(), "small-frames": declared, "batched-acks": batched,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prototest.Run(t, amqp091Protocol(cfg), b)
		})
	}
}

// amqp091Peer is one of our clients on a connection.
type amqp091Peer struct {
	*prototest.Conn
	t      testing.TB
	client *amqp091.Client
}

// dialAMQP091 connects a client and waits until it is accepted.
func dialAMQP091(t testing.TB, addr string, c *amqp091.Client) *amqp091Peer {
	t.Helper()
	conn, err := prototest.Dial(addr, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Abort() })
	p := &amqp091Peer{Conn: conn, t: t, client: c}
	p.expect(proto.Ready, 0)
	return p
}

// next waits for an event.
func (p *amqp091Peer) next() *proto.Event {
	p.t.Helper()
	ev, err := p.Next(patience)
	if err != nil {
		p.t.Fatal(err)
	}
	return ev
}

// expect wants the next event to be without error and of this kind, and returns it.
func (p *amqp091Peer) expect(kind proto.Kind, token uint64) *proto.Event {
	p.t.Helper()
	ev := p.next()
	if ev.Kind != kind || ev.Token != token || ev.Err != nil {
		p.t.Fatalf("kind %d, token %d, %v; want kind %d, token %d", ev.Kind, ev.Token, ev.Err, kind, token)
	}
	return ev
}

// subscribe asks for a subscription without waiting for the answer.
func (p *amqp091Peer) subscribe(token uint64, topic string, qos uint8) {
	p.t.Helper()
	s := proto.Subscription{Token: token, Topic: topic, QoS: qos}
	if err := p.Send(func(out []byte) ([]byte, error) { return p.client.Subscribe(&s, out) }); err != nil {
		p.t.Fatal(err)
	}
}

func (p *amqp091Peer) publish(token uint64, topic string, qos uint8, payload []byte) {
	p.t.Helper()
	m := proto.Message{Token: token, Topic: []byte(topic), Payload: payload, QoS: qos}
	if err := p.Send(func(out []byte) ([]byte, error) { return p.client.Publish(&m, out) }); err != nil {
		p.t.Fatal(err)
	}
}

// quiet wants nothing to be reported for a while, during which the broker has handled all that was sent.
func (p *amqp091Peer) quiet(token uint64) {
	p.t.Helper()
	if err := p.Send(func(out []byte) ([]byte, error) { return p.client.Barrier(token, out), nil }); err != nil {
		p.t.Fatal(err)
	}
	p.expect(proto.Barrier, token)
	if ev, err := p.Next(50 * time.Millisecond); err != prototest.ErrQuiet {
		p.t.Fatalf("reported %+v, %v", ev, err)
	}
}
