package prototest_test

import (
	"os/exec"
	"sync"
	"testing"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/amqp10"
	"github.com/mqlab/mqlab/internal/proto/prototest"
)

// rabbitAMQP10 loads the AMQP 1.0 plug-in of the shared RabbitMQ once.
var rabbitAMQP10 struct {
	once sync.Once
	said []byte
	err  error
}

// rabbitMQ10 returns the address of the shared broker with its plug-in for AMQP 1.0, which serves the same port.
func rabbitMQ10(t testing.TB) string {
	t.Helper()
	addr := rabbitMQ(t)
	p := &rabbitAMQP10
	p.once.Do(func() {
		cmd := exec.Command(rabbitBin+"/rabbitmq-plugins", "enable", "--online", "rabbitmq_amqp1_0")
		cmd.Env, cmd.Dir = rabbit.env, rabbit.dir
		p.said, p.err = cmd.CombinedOutput()
	})
	if p.err != nil {
		t.Fatalf("the plug-in does not load: %v\n%s", p.err, p.said)
	}
	return addr
}

// amqp10Client is a client of the suite. Its barrier is a message that nobody receives and the broker settles: it works
// in order. RabbitMQ 3.10 does not answer a flow that asks for an echo.
type amqp10Client struct {
	*amqp10.Client
	share func(s *proto.Subscription) error // makes what a shared subscription receives from; nil = nothing to be done
}

func (c amqp10Client) Subscribe(s *proto.Subscription, out []byte) ([]byte, error) {
	if s.Group != "" && c.share != nil {
		if err := c.share(s); err != nil {
			return out, err
		}
	}
	return c.Client.Subscribe(s, out)
}

const barrierBit = 1 << 63

func (c amqp10Client) Barrier(token uint64, out []byte) []byte {
	o, err := c.Publish(&proto.Message{Token: barrierBit | token, Topic: []byte("nobody.is.here"), QoS: 1}, out)
	if err != nil {
		panic(err)
	}
	return o
}

func (c amqp10Client) Feed(now int64, in, out []byte, ev *proto.Event) (int, []byte, error) {
	n, o, err := c.Client.Feed(now, in, out, ev)
	if ev.Kind == proto.Acked && ev.Token&barrierBit != 0 {
		*ev = proto.Event{Kind: proto.Barrier, Token: ev.Token &^ barrierBit}
	}
	return n, o, err
}

// sharedQueue declares and binds the queue of a group: the plug-in cannot.
func sharedQueue(t testing.TB, addr string) func(s *proto.Subscription) error {
	return func(s *proto.Subscription) error {
		ch, name := libraryAMQP091(t, addr), s.Group+":"+s.Topic
		if _, err := ch.QueueDeclare(name, false, true, false, false, nil); err != nil {
			return err
		}
		return ch.QueueBind(name, s.Topic, "amq.topic", false, nil)
	}
}

// amqp10Protocol is AMQP 1.0 with these settings.
func amqp10Protocol(settings amqp10.Config, share func(s *proto.Subscription) error) *prototest.Protocol {
	return &prototest.Protocol{
		Name: "amqp10",
		NewClient: func(o *prototest.Options) prototest.Client {
			cfg := settings
			if o.User != "" {
				cfg.User, cfg.Password = o.User, o.Password
			}
			cfg.IdleTimeout, cfg.Window, cfg.HoldAcks = o.KeepAlive, o.Window, o.HoldAcks
			if o.ReceiveMaximum > 0 {
				cfg.Credit, cfg.AckEvery = o.ReceiveMaximum, 0
			}
			return amqp10Client{amqp10.NewClient(&cfg, o.ID), share}
		},
		Separator: ".", One: "*", Rest: "#",
		QoS:            []uint8{0, 1},
		ReceiveMaximum: true,
	}
}

// exchange10 are the settings of most tests: the topic exchange that every RabbitMQ has.
func exchange10() amqp10.Config {
	return amqp10.Config{
		User: "guest", Password: "guest", SenderFirst: true,
		Target: amqp10.Terminus{Address: "/exchange/amq.topic"},
		Source: amqp10.Terminus{Address: "/topic/{topic}"},
		Shared: amqp10.Terminus{Address: "/amq/queue/{group}:{topic}"},
	}
}

// TestAMQP10 runs the suite against RabbitMQ.
func TestAMQP10(t *testing.T) {
	t.Parallel()
	b := &prototest.Broker{Name: "rabbitmq", Addr: rabbitMQ10(t)}
	small := exchange10()
	small.FrameMax, small.SessionWindow = 4096, 10
	batched := exchange10()
	batched.Durable, batched.Credit, batched.AckEvery = true, 50, 20
	for name, cfg := range map[string]amqp10.Config{"transient": exchange10(), "small-frames": small, "batched-settling": batched} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prototest.Run(t, amqp10Protocol(cfg, sharedQueue(t, b.Addr)), b)
		})
	}
}
