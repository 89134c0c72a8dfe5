package probe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mqlab/mqlab/internal/proto/resp"
)

// streamsLab is the lab for Streams of Redis.
type streamsLab struct{ *redisLab }

// streamBlock is how long a read waits, and with it all else on the connection of a reader.
const streamBlock = 100 * time.Millisecond

func prepareStreams(ctx context.Context, l *lab, r *Report) ([]step, error) {
	w, err := l.redisWire(ctx)
	if err != nil {
		return nil, fmt.Errorf("no Redis connection is accepted: %w", err)
	}
	defer func() { _ = w.nc.Close() }()
	n := &streamsLab{&redisLab{l}}
	return append([]step{
		{[]string{AskRESP3}, "HELLO 3", 2 * patience, n.resp3},
		{[]string{AskStreams}, "add entries, read them by a consumer group", 2 * patience, n.streams},
		{[]string{AskConfirms}, "add entries, and wait for their identifiers", 2 * patience, n.confirms},
		{[]string{AskGroups}, "add to a stream with two readers of one group", 3 * patience, n.groups},
		{[]string{AskRedelivery}, "read without acknowledging, come back; claim what another has read", 4 * patience, n.redelivery},
		{[]string{AskOffline}, "add to a stream whose group has no reader", 4 * patience, n.offline},
		{[]string{AskInFlight}, "add to a stream whose reader never acknowledges", 4 * patience, n.inFlight},
		{[]string{AskNagle}, nagleHow, 2 * patience, n.nagle},
	}, n.survival("add to a stream, end the broker by %s, start it again", n.survives)...), nil
}

// client opens one that adds or reads; adjust may change its configuration.
func (n *streamsLab) client(ctx context.Context, name string, adjust func(*resp.Config)) (*peer, error) {
	c := &resp.Config{User: n.login.User, Password: n.login.Password, Block: streamBlock}
	if adjust != nil {
		adjust(c)
	}
	return n.open(ctx, resp.NewStreams(c, n.run+name))
}

// reader opens one of a group.
func (n *streamsLab) reader(ctx context.Context, name, key string, adjust func(*resp.Config)) (*peer, error) {
	p, err := n.client(ctx, name, adjust)
	if err != nil {
		return nil, err
	}
	return p.subscribed(key, n.run, 1)
}

func holdAcks(c *resp.Config) { c.HoldAcks = true }

func (n *streamsLab) confirms(ctx context.Context) ([]Answer, error) {
	p, err := n.client(ctx, "pub", nil)
	if err != nil {
		return nil, err
	}
	defer p.close()
	return confirmed(p, n.stream(), "entries", "got an identifier"), nil
}

func (n *streamsLab) groups(ctx context.Context) ([]Answer, error) {
	key := n.stream()
	few := func(c *resp.Config) { c.Batch = 1 } // so that none of the readers takes all
	return team{
		join: func(name string) (*peer, error) { return n.reader(ctx, name, key, few) },
		open: func() (*peer, error) { return n.client(ctx, "pub", nil) },
		hear: takeTurns(func(p *peer) error {
			if _, err := p.next(2 * streamBlock); err != nil && !errors.Is(err, errQuiet) {
				return err
			}
			return nil
		}),
	}.groups(key, 1)
}

// redeliverySeen is what became of messages that a reader had, but did not acknowledge.
type redeliverySeen struct {
	sent    int
	again   int // came again to the same reader
	claimed int // were handed over to another
}

func (s *redeliverySeen) answer() Answer {
	value := "no"
	switch {
	case s.again == s.sent && s.claimed == s.sent:
		value = "yes, to others too"
	case s.again == s.sent:
		value = "yes, to the same reader"
	case s.again > 0 || s.claimed > 0:
		value = "partly"
	}
	return decided(AskRedelivery, value, "of %d read and not acknowledged came again to the same reader %d, to another %d", s.sent, s.again, s.claimed).
		with("sent", int64(s.sent)).with("again", int64(s.again)).with("claimed", int64(s.claimed))
}

func (n *streamsLab) redelivery(ctx context.Context) ([]Answer, error) {
	key := n.stream()
	seen := redeliverySeen{sent: redisEntries}
	pub, err := n.client(ctx, "pub", nil)
	if err != nil {
		return nil, err
	}
	defer pub.close()
	for round := range 2 {
		p, err := n.reader(ctx, "forgetful", key, holdAcks)
		if err != nil {
			return nil, err
		}
		if round == 0 {
			_, err = pub.publishAll(key, 1, 1, redisEntries)
		}
		if err == nil {
			err = p.gather(redisEntries, patience)
		}
		got := len(distinct(p.sequences()))
		p.drop()
		switch {
		case err != nil:
			return nil, err
		case round > 0:
			seen.again = got
		case got < redisEntries:
			return []Answer{undecided(AskRedelivery, "of %d entries %d arrived", redisEntries, got)}, nil
		}
	}
	other, err := n.reader(ctx, "other", key, func(c *resp.Config) { c.ClaimIdle = time.Millisecond })
	if err != nil {
		return nil, err
	}
	defer other.close()
	err = other.gather(redisEntries, patience)
	seen.claimed = len(distinct(other.sequences()))
	return []Answer{seen.answer()}, err
}

// absent is a reader of a group.
func (n *streamsLab) absent(ctx context.Context, key string) absence {
	return queued(func() (*peer, error) { return n.reader(ctx, "away", key, nil) })
}

func (n *streamsLab) offline(ctx context.Context) ([]Answer, error) {
	pub, err := n.client(ctx, "pub", nil)
	if err != nil {
		return nil, err
	}
	defer pub.close()
	return keepsMost(ctx, func(sent uint64) (offlineSeen, error) {
		key := n.stream()
		return n.absent(ctx, key).kept(pub, key, sent)
	})
}

func (n *streamsLab) inFlight(ctx context.Context) ([]Answer, error) {
	key := n.stream()
	sub, err := n.reader(ctx, "holds", key, holdAcks)
	if err != nil {
		return nil, err
	}
	defer sub.drop()
	pub, err := n.client(ctx, "pub", nil)
	if err != nil {
		return nil, err
	}
	defer pub.close()
	seen, err := fillWindow(ctx, pair{pub, sub}, key)
	return []Answer{seen.answer()}, err
}

func (n *streamsLab) nagle(ctx context.Context) ([]Answer, error) {
	key := n.stream()
	sub, err := n.client(ctx, "nagle", nil)
	if err != nil {
		return nil, err
	}
	defer sub.drop()
	if _, err := sub.subscribe(key, n.run, 0); err != nil {
		return nil, err
	}
	w, err := n.redisWire(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = w.nc.Close() }()
	return n.lab.nagle(ctx, sub, func(seq uint64) error {
		_, err := w.do("XADD", key, "*", "d", string(payload(seq, 0)))
		return err
	})
}
