package probe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/amqp091"
)

// amqpLab is the lab for AMQP 0-9-1. It publishes to the topic exchange that every broker has.
type amqpLab struct{ *lab }

const (
	amqpExchange = "amq.topic"
	amqpExpires  = int64(60_000) // milliseconds after which the broker removes a durable queue of ours that nobody uses
)

func prepareAMQP(ctx context.Context, l *lab, r *Report) ([]step, error) {
	n := &amqpLab{l}
	p, err := n.connect(ctx, "first", nil)
	if err != nil {
		return nil, fmt.Errorf("no AMQP connection is accepted: %w", err)
	}
	p.close()
	return append([]step{
		{[]string{AskConfirms}, "publish with publisher confirms", 2 * patience, n.confirms},
		{[]string{AskMandatory}, "publish mandatory to a key that no queue is bound to", 2 * patience, n.mandatory},
		{[]string{AskWildcards}, "bind queues with * and #, then publish", 3 * patience, n.wildcards},
		{[]string{AskGroups}, "publish to two consumers of one queue", 3 * patience, n.groups},
		{[]string{AskQuorum}, "declare a queue of type quorum, publish to it", 3 * patience, n.quorum},
		{[]string{AskPayload}, "publish ever larger messages to a consumer", 5 * patience, n.payloads},
		{[]string{AskOffline}, "publish to a durable queue whose consumer is away", 4 * patience, n.offline},
		{[]string{AskInFlight}, "publish to a consumer that never acknowledges, without prefetch", 4 * patience, n.inFlight},
		{[]string{AskNagle}, nagleHow, 2 * patience, n.nagle},
		{[]string{AskSlow}, "publish to a consumer that does not read", 6 * patience, n.slow},
	}, n.survival("durable queue, persistent messages; end by %s, start again", n.survives)...), nil
}

// connect opens a client of this name; adjust may change its configuration.
func (n *amqpLab) connect(ctx context.Context, name string, adjust func(*amqp091.Config)) (*peer, error) {
	c := &amqp091.Config{User: n.login.User, Password: n.login.Password, Exchange: amqp091.Exchange{Name: amqpExchange}}
	if c.User == "" {
		c.User, c.Password = "guest", "guest" // which brokers accept from this host
	}
	if adjust != nil {
		adjust(c)
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return n.open(ctx, amqp091.NewClient(c, n.run+name))
}

// durable makes queues outlive their consumer, for a minute, and messages the broker.
func durable(c *amqp091.Config) {
	c.Persistent = true
	c.Queue = amqp091.Queue{Durable: true, Arguments: amqp091.Table{{Name: "x-expires", Value: amqpExpires}}}
}

// subscribed opens a consumer of messages of QoS 1: one of a group, if that is not empty.
func (n *amqpLab) subscribed(ctx context.Context, name, key, group string, adjust func(*amqp091.Config)) (*peer, error) {
	p, err := n.connect(ctx, name, adjust)
	if err != nil {
		return nil, err
	}
	return p.subscribed(key, group, 1)
}

// pair connects a publisher and a consumer with a queue of its own.
func (n *amqpLab) pair(ctx context.Context, key string, qos uint8, adjust func(*amqp091.Config)) (p pair, err error) {
	if p.sub, err = n.connect(ctx, "sub", adjust); err != nil {
		return p, err
	}
	if _, err = p.sub.subscribe(key, "", qos); err == nil {
		p.pub, err = n.connect(ctx, "pub", nil)
	}
	if err != nil {
		p.close()
		return pair{}, err
	}
	return p, nil
}

func (n *amqpLab) confirms(ctx context.Context) ([]Answer, error) {
	key := n.key()
	p, err := n.pair(ctx, key, 1, nil)
	if err != nil {
		return nil, err
	}
	defer p.close()
	return confirmed(p.pub, key, "messages", "were confirmed"), nil
}

func (n *amqpLab) mandatory(ctx context.Context) ([]Answer, error) {
	p, err := n.connect(ctx, "mandatory", func(c *amqp091.Config) { c.Mandatory = true })
	if err != nil {
		return nil, err
	}
	defer p.close()
	if _, err := p.publishAll(n.key(), 1, 1, 1); err != nil {
		return nil, err
	}
	var returned *amqp091.ReasonError
	if errors.As(p.acked[1], &returned) {
		return []Answer{decided(AskMandatory, "yes", "%v", returned)}, nil
	}
	return []Answer{decided(AskMandatory, "no", "the message was confirmed, not returned")}, nil
}

func (n *amqpLab) wildcards(ctx context.Context) ([]Answer, error) {
	return amqpWildcards(n.key(), func(filter string) (pair, error) { return n.pair(ctx, filter, 1, nil) })
}

// amqpWildcards subscribes to what is below base, in the two ways that brokers of AMQP have, and publishes there.
func amqpWildcards(base string, open func(filter string) (pair, error)) ([]Answer, error) {
	one, err := open(base + ".*.leaf")
	if err != nil {
		return nil, err
	}
	defer one.close()
	rest, err := open(base + ".#")
	if err != nil {
		return nil, err
	}
	defer rest.close()
	seen := wildcardsSeen{one: "*", rest: "#"}
	seen.oneGot, seen.restGot, err = viaWildcards(one.pub, one.sub, rest.sub, base+".a.leaf", 1)
	return []Answer{seen.answer()}, err
}

func (n *amqpLab) groups(ctx context.Context) ([]Answer, error) {
	key := n.key()
	return team{
		join: func(name string) (*peer, error) { return n.subscribed(ctx, name, key, n.run, nil) },
		open: func() (*peer, error) { return n.connect(ctx, "pub", nil) },
	}.groups(key, 1)
}

func (n *amqpLab) quorum(ctx context.Context) ([]Answer, error) {
	key := n.key()
	p, err := n.pair(ctx, key, 1, func(c *amqp091.Config) {
		durable(c)
		c.Queue.Type = "quorum"
	})
	if err != nil {
		return []Answer{decided(AskQuorum, "no", "%v", err)}, nil
	}
	defer p.close()
	if _, err := p.pub.publishAll(key, 1, 1, 1); err != nil {
		return nil, err
	}
	if err := p.sub.await(1); err != nil {
		return []Answer{decided(AskQuorum, "no", "declared, but the message did not arrive: %v", err)}, nil
	}
	return []Answer{decided(AskQuorum, "yes", "declared, and a message arrived through it")}, nil
}

func (n *amqpLab) payloads(ctx context.Context) ([]Answer, error) {
	key := n.key()
	seen := sizeSeen{bound: packetBound}
	seq := uint64(0)
	err := seen.search(func(size int) (bool, string, error) {
		seq++
		p, err := n.pair(ctx, key, 1, nil)
		if err != nil {
			return false, "", err
		}
		defer p.close()
		arrived := make(chan error, 1)
		go func() { arrived <- p.sub.await(seq) }()
		m := message(key, 1, seq)
		m.Payload = payload(seq, size)
		if err = p.pub.publish(m); err == nil {
			err = p.pub.settle()
		}
		return p.arrives(arrived, errors.Join(err, p.pub.acked[seq]))
	})
	return []Answer{seen.answer(AskPayload)}, err
}

// absent is a consumer of a durable queue that is bound to key.
func (n *amqpLab) absent(ctx context.Context, name, key string) absence {
	return queued(func() (*peer, error) { return n.subscribed(ctx, name, key, "", durable) })
}

func (n *amqpLab) offline(ctx context.Context) ([]Answer, error) {
	key := n.key()
	pub, err := n.connect(ctx, "pub", nil)
	if err != nil {
		return nil, err
	}
	defer pub.close()
	a := n.absent(ctx, "offline", key)
	return keepsMost(ctx, func(sent uint64) (offlineSeen, error) { return a.kept(pub, key, sent) })
}

func (n *amqpLab) inFlight(ctx context.Context) ([]Answer, error) {
	key := n.key()
	p, err := n.pair(ctx, key, 1, func(c *amqp091.Config) { c.HoldAcks = true })
	if err != nil {
		return nil, err
	}
	defer p.close()
	seen, err := fillWindow(ctx, p, key)
	return []Answer{seen.answer()}, err
}

func (n *amqpLab) nagle(ctx context.Context) ([]Answer, error) {
	key := n.key()
	p, err := n.pair(ctx, key, 0, nil)
	if err != nil {
		return nil, err
	}
	defer p.close()
	return n.lab.nagle(ctx, p.sub, func(seq uint64) error { return p.pub.publish(message(key, 0, seq)) })
}

// amqpFeeder publishes mandatory messages: when the consumer is cut off, its queue goes with it, and they come back.
type amqpFeeder struct {
	pub *peer
	key string
}

func (f *amqpFeeder) feed(first, n uint64) (sent uint64, gone bool, err error) {
	for seq := first; seq < first+n; seq++ {
		m := message(f.key, 0, seq)
		m.Payload = payload(seq, slowPayload)
		if err := f.pub.publish(m); err != nil {
			return sent, false, err
		}
		sent++
	}
	if n == 0 {
		if err := f.pub.publish(&proto.Message{Token: first, Topic: []byte(f.key)}); err != nil {
			return 0, false, err
		}
	}
	err = f.pub.settle()
	if errors.Is(err, errQuiet) {
		err = errBlocked
	}
	return sent, len(f.pub.acked) > 0, err
}

func (n *amqpLab) slow(ctx context.Context) ([]Answer, error) {
	key := n.key()
	p, err := n.pair(ctx, key, 0, nil)
	if err != nil {
		return nil, err
	}
	defer p.pub.close()
	defer p.sub.drop()
	pub, err := n.connect(ctx, "slowpub", func(c *amqp091.Config) { c.Mandatory = true })
	if err != nil {
		return nil, err
	}
	defer pub.close()
	seen, err := starve(ctx, p.sub, &amqpFeeder{pub, key}, time.Second)
	if err != nil {
		return nil, err
	}
	return []Answer{seen.answer()}, nil
}

// survives publishes to a durable queue, restarts the broker, and looks what is left.
func (n *amqpLab) survives(ctx context.Context, question string, kill bool) ([]Answer, error) {
	key := n.key()
	open := func(name string, adjust func(*amqp091.Config)) func() (*peer, error) {
		return func() (*peer, error) { return n.connect(ctx, name, adjust) }
	}
	restart := func() error { return n.reopened(ctx, kill, open("again", nil)) }
	return n.absent(ctx, "survivor", key).survives(question, "confirmed messages", open("pub", durable), key, restart)
}
