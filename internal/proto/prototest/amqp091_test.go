package prototest_test

import (
	"testing"

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
type amqp091Peer struct{ *clientPeer[*amqp091.Client] }

// dialAMQP091 connects a client and waits until it is accepted.
func dialAMQP091(t testing.TB, addr string, c *amqp091.Client) *amqp091Peer {
	t.Helper()
	return &amqp091Peer{dialPeer(t, addr, c)}
}

// subscribe asks for a subscription without waiting for the answer.
func (p *amqp091Peer) subscribe(token uint64, topic string, qos uint8) {
	p.t.Helper()
	p.ask(proto.Subscription{Token: token, Topic: topic, QoS: qos})
}

func (p *amqp091Peer) publish(token uint64, topic string, qos uint8, payload []byte) {
	p.t.Helper()
	p.say(proto.Message{Token: token, Topic: []byte(topic), Payload: payload, QoS: qos})
}
