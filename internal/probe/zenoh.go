package probe

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/zenoh"
)

// zenohLab is the lab for Zenoh.
type zenohLab struct {
	*lab
	clients int
}

// zenohLease is told to the router, which must not take a subscriber for dead that does not read on purpose.
const zenohLease = 2 * Limit

func prepareZenoh(ctx context.Context, l *lab, _ *Report) ([]step, error) {
	n := &zenohLab{lab: l}
	p, err := n.connect(ctx, zenoh.Config{})
	if err != nil {
		return nil, fmt.Errorf("no Zenoh session is accepted: %w", err)
	}
	p.close()
	return append([]step{
		{[]string{AskReliability}, "publish in the reliable and in the best-effort channel", 3 * patience, n.reliability},
		{[]string{AskWildcards}, "subscribe with * and **, then publish", 3 * patience, n.wildcards},
		{[]string{AskAbsent}, "publish, then subscribe", 2 * patience, n.absent},
		{[]string{AskPayload}, "publish ever larger messages to a subscriber", 5 * patience, n.payloads},
		{[]string{AskNagle}, nagleHow, 2 * patience, n.nagle},
		{[]string{AskSlowDrop}, "publish with congestion control drop to a subscriber that does not read", 5 * patience, n.slow(AskSlowDrop, false)},
		{[]string{AskSlowBlock}, "publish with congestion control block to a subscriber that does not read", 5 * zenohLinger / 2, n.slow(AskSlowBlock, true)},
	}, n.survival("publish, end the router by %s, start it again, subscribe", n.survives)...), nil
}

// connect opens a client; each has another name.
func (n *zenohLab) connect(ctx context.Context, cfg zenoh.Config) (*peer, error) {
	n.clients++
	cfg.User, cfg.Password, cfg.Lease = n.login.User, n.login.Password, zenohLease
	return n.open(ctx, zenoh.NewClient(&cfg, fmt.Sprint(n.run, n.clients)))
}

// pair opens a subscriber and a publisher of messages that are not dropped.
func (n *zenohLab) pair(ctx context.Context, key string) (pub, sub *peer, err error) {
	if sub, err = n.subscribed(ctx, key); err != nil {
		return nil, nil, err
	}
	if pub, err = n.connect(ctx, zenoh.Config{Block: true}); err != nil {
		sub.close()
		return nil, nil, err
	}
	return pub, sub, nil
}

func (n *zenohLab) subscribed(ctx context.Context, key string) (*peer, error) {
	p, err := n.connect(ctx, zenoh.Config{})
	if err != nil {
		return nil, err
	}
	return p.subscribed(key, "", 0)
}

// channelMessages are published in each channel.
const channelMessages = 100

// reliability counts what arrives of each channel.
func (n *zenohLab) reliability(ctx context.Context) ([]Answer, error) {
	var arrived [2]int
	for i, bestEffort := range []bool{false, true} {
		key := n.topic()
		sub, err := n.subscribed(ctx, key)
		if err != nil {
			return nil, err
		}
		defer sub.close()
		pub, err := n.connect(ctx, zenoh.Config{Block: true, BestEffort: bestEffort})
		if err != nil {
			return nil, err
		}
		defer pub.close()
		if _, err := pub.publishAll(key, 0, 1, channelMessages); err != nil {
			return nil, err
		}
		if err := sub.await(channelMessages); err != nil && !errors.Is(err, errQuiet) {
			return nil, err
		}
		arrived[i] = len(distinct(sub.sequences()))
	}
	return []Answer{channelsAnswer(arrived[0], arrived[1])}, nil
}

// channelsAnswer says which channels carry messages.
func channelsAnswer(reliable, bestEffort int) Answer {
	value := "neither channel"
	switch {
	case reliable > 0 && bestEffort > 0:
		value = "reliable, best effort"
	case reliable > 0:
		value = "reliable only"
	case bestEffort > 0:
		value = "best effort only"
	}
	return decided(AskReliability, value, "of %d messages in each channel arrived %d (reliable) and %d (best effort); nothing is acknowledged",
		channelMessages, reliable, bestEffort).with("reliable", int64(reliable)).with("best_effort", int64(bestEffort))
}

func (n *zenohLab) wildcards(ctx context.Context) ([]Answer, error) {
	base := n.topic()
	one, err := n.subscribed(ctx, base+"/*/leaf")
	if err != nil {
		return nil, err
	}
	defer one.close()
	pub, rest, err := n.pair(ctx, base+"/**")
	if err != nil {
		return nil, err
	}
	defer rest.close()
	defer pub.close()
	seen := wildcardsSeen{one: "*", rest: "**"}
	seen.oneGot, seen.restGot, err = viaWildcards(pub, one, rest, base+"/a/leaf", 0)
	return []Answer{seen.answer()}, err
}

func (n *zenohLab) absent(ctx context.Context) ([]Answer, error) {
	key := n.topic()
	if err := n.leave(ctx, key, 1); err != nil {
		return nil, err
	}
	arrived, err := n.find(ctx, key)
	return []Answer{absentAnswer(arrived, 1)}, err
}

// leave publishes to nobody.
func (n *zenohLab) leave(ctx context.Context, key string, messages uint64) error {
	pub, err := n.connect(ctx, zenoh.Config{Block: true})
	if err != nil {
		return err
	}
	defer pub.close()
	_, err = pub.publishAll(key, 0, 1, messages)
	return err
}

// find subscribes and counts what arrives.
func (n *zenohLab) find(ctx context.Context, key string) (int, error) {
	sub, err := n.subscribed(ctx, key)
	if err != nil {
		return 0, err
	}
	defer sub.close()
	err = sub.listen(300 * time.Millisecond)
	return len(sub.got), err
}

func (n *zenohLab) payloads(ctx context.Context) ([]Answer, error) {
	key := n.topic()
	seen := sizeSeen{bound: packetBound}
	seq := uint64(0)
	err := seen.search(func(size int) (bool, string, error) {
		seq += 2
		return n.passes(ctx, key, seq, size)
	})
	return []Answer{seen.answer(AskPayload)}, err
}

// passes publishes message seq with this size, and tells whether it arrived; if not, what the router did. A small message
// behind it shows when there is nothing to wait for any more.
func (n *zenohLab) passes(ctx context.Context, key string, seq uint64, size int) (bool, string, error) {
	pub, sub, err := n.pair(ctx, key)
	if err != nil {
		return false, "", err
	}
	defer sub.drop()
	defer pub.drop()
	arrived := make(chan error, 1)
	go func() { arrived <- sub.await(seq + 1) }() // a subscriber that does not read would hold back the publisher
	err = pub.publish(&proto.Message{Topic: []byte(key), Payload: payload(seq, size)})
	if err == nil {
		_, err = pub.publishAll(key, 0, seq+1, 1)
	}
	if err != nil {
		_ = sub.nc.Close()
		<-arrived
		return false, err.Error(), nil
	}
	if err := <-arrived; err != nil && !errors.Is(err, errQuiet) {
		return false, "", err
	}
	return len(sub.got) > 0 && sub.got[0].seq == seq, "silently dropped", nil
}

func (n *zenohLab) nagle(ctx context.Context) ([]Answer, error) {
	key := n.topic()
	pub, sub, err := n.pair(ctx, key)
	if err != nil {
		return nil, err
	}
	defer sub.close()
	defer pub.close()
	return n.lab.nagle(ctx, sub, func(seq uint64) error { return pub.publish(message(key, 0, seq)) })
}

// zenohLinger is how long the publisher waits for the router, which as it is shipped closes a link that blocks after 5 s.
const zenohLinger = slowLimit

// zenohFeeder publishes; that the router has read all shows by its answer to a probe. It does not tell the publisher about
// subscribers.
type zenohFeeder struct {
	pub  *peer
	key  string
	held time.Duration // the longest that the router let the publisher wait
}

func (f *zenohFeeder) feed(first, n uint64) (sent uint64, gone bool, err error) {
	for seq := first; seq < first+n; seq++ {
		if err := f.pub.publish(&proto.Message{Topic: []byte(f.key), Payload: payload(seq, slowPayload)}); err != nil {
			return sent, false, err
		}
		sent++
	}
	asked := time.Now()
	f.pub.token++
	token := f.pub.token
	f.pub.out = f.pub.client.(barrier).Barrier(token, f.pub.out) // a session of Zenoh has it
	if err := f.pub.send(); err != nil {
		return sent, false, err
	}
	for deadline := time.Now().Add(zenohLinger); ; {
		ev, err := f.pub.next(time.Until(deadline))
		switch {
		case errors.Is(err, errQuiet):
			f.held = time.Since(asked)
			return sent, false, errBlocked
		case err != nil:
			return sent, false, err
		case ev.Kind == proto.Barrier && ev.Token == token:
			f.held = max(f.held, time.Since(asked))
			return sent, false, nil
		}
	}
}

func (n *zenohLab) slow(question string, block bool) func(ctx context.Context) ([]Answer, error) {
	return func(ctx context.Context) ([]Answer, error) {
		key := n.topic()
		sub, err := n.subscribed(ctx, key)
		if err != nil {
			return nil, err
		}
		defer sub.drop()
		pub, err := n.connect(ctx, zenoh.Config{Block: block})
		if err != nil {
			return nil, err
		}
		defer pub.drop()
		feeder := &zenohFeeder{pub: pub, key: key}
		seen, err := starve(ctx, sub, feeder, 0)
		if err != nil {
			return nil, err
		}
		return []Answer{heldAnswer(question, seen.answer(), feeder.held)}, nil
	}
}

// heldAnswer adds how long the publisher was made to wait, if that is more than a busy machine needs.
func heldAnswer(question string, a Answer, held time.Duration) Answer {
	a.Question = question
	a.Evidence += fmt.Sprintf("; the publisher waited %.1f s at most", held.Seconds())
	if held > time.Second && strings.HasPrefix(a.Value, "cut") {
		a.Value = fmt.Sprintf("publisher held %.1f s, then %s", held.Seconds(), a.Value)
	}
	return a.with("held_ns", int64(held))
}

// zenohKept are published before a restart.
const zenohKept = 10

// survives publishes to nobody, restarts the router, and looks what is left.
func (n *zenohLab) survives(ctx context.Context, question string, kill bool) ([]Answer, error) {
	key := n.topic()
	if err := n.leave(ctx, key, zenohKept); err != nil {
		return nil, err
	}
	left := 0
	if err := n.restarted(ctx, kill, func() (err error) { left, err = n.find(ctx, key); return err }); err != nil {
		return nil, err
	}
	seen := logSeen{question: question, what: "messages", sent: zenohKept, left: left}
	return []Answer{seen.answer()}, nil
}
