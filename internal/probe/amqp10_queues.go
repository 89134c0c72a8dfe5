package probe

import (
	"context"
	"time"

	"github.com/mqlab/mqlab/internal/proto/amqp10"
)

// queues makes a client one of queues. Those of RabbitMQ are as durable as the terminus; Artemis keeps those that hold messages.
func (n *amqp10Lab) queues(c *amqp10.Config) {
	c.Durable = true
	c.Source = amqp10.Terminus{Address: amqp10.TopicHere, Capabilities: []string{"queue"}}
	if n.rabbit {
		c.Source = amqp10.Terminus{Address: "/queue/" + amqp10.TopicHere, Durability: amqp10.UnsettledState}
	}
	c.Target = c.Source
}

// receiver opens one of a queue.
func (n *amqp10Lab) receiver(ctx context.Context, name, key string, adjust func(*amqp10.Config)) (*peer, error) {
	p, err := n.connect(ctx, name, adjust)
	if err != nil {
		return nil, err
	}
	return p.subscribed(key, "", 1)
}

// leaves says why a step that uses a queue is not done: AMQP 1.0 cannot delete the queues of a broker that is not ours.
func (n *amqp10Lab) leaves() string {
	if n.rabbit && n.restart == nil {
		return "it would leave a queue behind, which AMQP 1.0 cannot delete, in a broker that was not started by mqlab"
	}
	return ""
}

func (n *amqp10Lab) groups(ctx context.Context) ([]Answer, error) {
	if why := n.leaves(); why != "" {
		return []Answer{undecided(AskGroups, "%s", why)}, nil
	}
	key := n.key()
	few := func(c *amqp10.Config) { // so that none of the receivers takes all
		n.queues(c)
		c.Credit = sharedMessages / 10
	}
	return team{
		join: func(name string) (*peer, error) { return n.receiver(ctx, name, key, few) },
		open: func() (*peer, error) { return n.connect(ctx, "pub", n.queues) },
		hear: takeTurns(func(p *peer) error { return p.listen(200 * time.Millisecond) }),
	}.groups(key, 1)
}

// absent is a receiver of a queue.
func (n *amqp10Lab) absent(ctx context.Context, key string) absence {
	return queued(func() (*peer, error) { return n.receiver(ctx, "away", key, n.queues) })
}

func (n *amqp10Lab) offline(ctx context.Context) ([]Answer, error) {
	if why := n.leaves(); why != "" {
		return []Answer{undecided(AskOffline, "%s", why)}, nil
	}
	key := n.key()
	pub, err := n.connect(ctx, "pub", n.queues)
	if err != nil {
		return nil, err
	}
	defer pub.close()
	a := n.absent(ctx, key)
	return keepsMost(ctx, func(sent uint64) (offlineSeen, error) { return a.kept(pub, key, sent) })
}

// survives sends to a queue, restarts the broker, and looks what is left.
func (n *amqp10Lab) survives(ctx context.Context, question string, kill bool) ([]Answer, error) {
	key := n.key()
	open := func(name string, adjust func(*amqp10.Config)) func() (*peer, error) {
		return func() (*peer, error) { return n.connect(ctx, name, adjust) }
	}
	restart := func() error { return n.reopened(ctx, kill, open("again", nil)) }
	return n.absent(ctx, key).survives(question, "accepted messages", open("pub", n.queues), key, restart)
}
