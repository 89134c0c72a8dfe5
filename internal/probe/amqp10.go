package probe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/amqp10"
)

// amqp10Lab is the lab for AMQP 1.0. What an address means is up to the broker, so there are two kinds of them: those of
// RabbitMQ 3, and those of Artemis, which takes any name as that of a topic or a queue.
type amqp10Lab struct {
	*lab
	rabbit bool
}

// amqp10Credit is how many messages a broker may have under way to a receiver that never settles: more than the probe sends.
const amqp10Credit = 2 * windowBound

func prepareAMQP10(ctx context.Context, l *lab, _ *Report) ([]step, error) {
	n := &amqp10Lab{lab: l}
	p, err := n.connect(ctx, "first", nil)
	if err != nil {
		return nil, fmt.Errorf("no AMQP 1.0 connection is accepted: %w", err)
	}
	p.close()
	if n.rabbit, err = n.hasExchanges(ctx); err != nil {
		return nil, err
	}
	return append([]step{
		{[]string{AskConfirms}, "send unsettled messages to a topic with a receiver", 2 * patience, n.confirms},
		{[]string{AskMandatory}, "send a message to a topic without a receiver", 2 * patience, n.mandatory},
		{[]string{AskWildcards}, "receive from topics with * and #, then send", 3 * patience, n.wildcards},
		{[]string{AskGroups}, "send to a queue with two receivers", 3 * patience, n.groups},
		{[]string{AskPayload}, "send ever larger messages to a receiver", 5 * patience, n.payloads},
		{[]string{AskOffline}, "send to a queue whose receiver is away", 4 * patience, n.offline},
		{[]string{AskInFlight}, "send to a receiver that never settles, with credit for all", 4 * patience, n.inFlight},
		{[]string{AskNagle}, nagleHow, 2 * patience, n.nagle},
		{[]string{AskSlow}, "send to a receiver that does not read, with credit for all", 6 * patience, n.slow},
	}, n.survival("queue, durable messages; end by %s, start again", n.survives)...), nil
}

// hasExchanges tells whether a message that is sent to an exchange of RabbitMQ arrives at a topic of it: to Artemis they are
// two names that have nothing in common.
func (n *amqp10Lab) hasExchanges(ctx context.Context) (bool, error) {
	tried := &amqp10Lab{lab: n.lab, rabbit: true}
	key := tried.key()
	p, err := tried.pair(ctx, key, 1, nil)
	if err != nil {
		return false, context.Cause(ctx) // refused: it is not RabbitMQ
	}
	defer p.close()
	if err := sendSettled(p.pub, message(key, 0, 1)); err != nil {
		return false, context.Cause(ctx)
	}
	if err := p.sub.listen(quiet); err != nil {
		return false, context.Cause(ctx)
	}
	return len(p.sub.got) > 0, nil
}

// connect opens a client of topics; adjust may change its configuration.
func (n *amqp10Lab) connect(ctx context.Context, name string, adjust func(*amqp10.Config)) (*peer, error) {
	c := &amqp10.Config{User: n.login.User, Password: n.login.Password, IdleTimeout: time.Minute, Credit: amqp10Credit, AckEvery: 1}
	switch {
	case n.rabbit:
		c.Target.Address, c.Source.Address = "/exchange/"+amqpExchange, "/topic/"+amqp10.TopicHere
	default:
		c.Source = amqp10.Terminus{Address: amqp10.TopicHere, Capabilities: []string{"topic"}}
		c.Target = c.Source
	}
	n.anybody(c)
	if adjust != nil {
		adjust(c)
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return n.open(ctx, amqp10.NewClient(c, n.run+name))
}

// anybody logs in as whoever the broker accepts from this host, where no user is given.
func (n *amqp10Lab) anybody(c *amqp10.Config) {
	if c.User == "" {
		c.User, c.Password = "guest", "guest"
		if n.subject.Broker != "rabbitmq" && !n.rabbit {
			c.Mechanism, c.User, c.Password = "ANONYMOUS", "", ""
		}
	}
}

// pair connects a sender and a receiver.
func (n *amqp10Lab) pair(ctx context.Context, key string, qos uint8, adjust func(*amqp10.Config)) (p pair, err error) {
	if p.sub, err = n.connect(ctx, "sub", adjust); err != nil {
		return p, err
	}
	if _, err = p.sub.subscribe(key, "", qos); err == nil {
		p.pub, err = n.connect(ctx, "pub", adjust)
	}
	if err != nil {
		p.close()
		return pair{}, err
	}
	return p, nil
}

// sendSettled sends a message of QoS 0. The first waits within the session until the broker gives the sender credit.
func sendSettled(p *peer, m *proto.Message) error {
	if err := p.publish(m); err != nil {
		return err
	}
	for deadline := time.Now().Add(patience); p.client.Room(0) <= 0; {
		if time.Now().After(deadline) {
			return errQuiet
		}
		if _, err := p.next(5 * time.Millisecond); err != nil && !errors.Is(err, errQuiet) {
			return err
		}
	}
	return nil
}

func (n *amqp10Lab) confirms(ctx context.Context) ([]Answer, error) {
	key := n.key()
	p, err := n.pair(ctx, key, 1, nil)
	if err != nil {
		return nil, err
	}
	defer p.close()
	return confirmed(p.pub, key, "messages", "were accepted"), nil
}

func (n *amqp10Lab) mandatory(ctx context.Context) ([]Answer, error) {
	key := n.key()
	p, err := n.connect(ctx, "mandatory", nil)
	if err != nil {
		return nil, err
	}
	defer p.close()
	if _, err := p.publishAll(key, 1, 1, 1); err != nil {
		return nil, err
	}
	if said := p.acked[1]; said != nil {
		return []Answer{decided(AskMandatory, "yes", "%v", said)}, nil
	}
	return []Answer{decided(AskMandatory, "no", "the message was accepted, and is gone")}, nil
}

func (n *amqp10Lab) wildcards(ctx context.Context) ([]Answer, error) {
	return amqpWildcards(n.key(), func(filter string) (pair, error) { return n.pair(ctx, filter, 1, nil) })
}

func (n *amqp10Lab) payloads(ctx context.Context) ([]Answer, error) {
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
		err = p.pub.publish(m)
		for err == nil && !p.pub.answered(seq) {
			_, err = p.pub.next(patience)
		}
		return p.arrives(arrived, errors.Join(err, p.pub.acked[seq]))
	})
	return []Answer{seen.answer(AskPayload)}, err
}

func (n *amqp10Lab) inFlight(ctx context.Context) ([]Answer, error) {
	key := n.key()
	p, err := n.pair(ctx, key, 1, func(c *amqp10.Config) { c.HoldAcks = true })
	if err != nil {
		return nil, err
	}
	defer p.close()
	seen, err := fillWindow(ctx, p, key)
	return []Answer{seen.answer()}, err
}

func (n *amqp10Lab) nagle(ctx context.Context) ([]Answer, error) {
	key := n.key()
	p, err := n.pair(ctx, key, 0, nil) // a receiver that settles nothing writes nothing
	if err != nil {
		return nil, err
	}
	defer p.close()
	return n.lab.nagle(ctx, p.sub, func(seq uint64) error { return sendSettled(p.pub, message(key, 0, seq)) })
}

// amqp10Feeder sends unsettled messages and waits for the outcome of each. Nothing tells it whether the receiver is gone.
type amqp10Feeder struct {
	pub *peer
	key string
}

func (f *amqp10Feeder) feed(first, n uint64) (sent uint64, gone bool, err error) {
	for seq := first; seq < first+n; seq++ {
		m := message(f.key, 1, seq)
		m.Payload = payload(seq, slowPayload)
		if err := f.pub.publish(m); err != nil {
			return sent, false, held(err)
		}
		sent++
	}
	for seq := first; seq < first+n; seq++ {
		for !f.pub.answered(seq) {
			if _, err := f.pub.next(patience); err != nil {
				return sent, false, held(err)
			}
		}
	}
	return sent, false, nil
}

// held words silence of the broker towards a publisher.
func held(err error) error {
	if errors.Is(err, errQuiet) {
		return errBlocked
	}
	return err
}

func (n *amqp10Lab) slow(ctx context.Context) ([]Answer, error) {
	key := n.key()
	p, err := n.pair(ctx, key, 1, nil)
	if err != nil {
		return nil, err
	}
	defer p.pub.close()
	defer p.sub.drop()
	seen, err := starve(ctx, p.sub, &amqp10Feeder{p.pub, key}, 0)
	if err != nil {
		return nil, err
	}
	return []Answer{seen.answer()}, nil
}
