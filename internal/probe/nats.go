package probe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mqlab/mqlab/internal/proto/nats"
)

// natsLab is the lab for NATS.
type natsLab struct {
	*lab
	info nats.Info
}

func prepareNATS(ctx context.Context, l *lab, r *Report) ([]step, error) {
	w, err := l.wire(ctx)
	if err != nil {
		return nil, fmt.Errorf("no NATS connection is accepted: %w", err)
	}
	defer func() { _ = w.nc.Close() }()
	r.Version = w.info.Version
	n := &natsLab{l, w.info}
	return []step{
		{[]string{AskWildcards}, "subscribe with * and >, then publish", 3 * patience, n.wildcards},
		{[]string{AskGroups}, "publish to two subscribers of one queue group", 3 * patience, n.groups},
		{[]string{AskHeaders}, "publish a message with a header", 2 * patience, n.headers},
		{[]string{AskAbsent}, "publish, then subscribe", 2 * patience, n.absent},
		{[]string{AskPayload}, "publish the claimed size, and a byte more, to a subscriber", 5 * patience, n.payloads},
		{[]string{AskNagle}, nagleHow, 2 * patience, n.nagle},
		{[]string{AskSlow}, "publish to a subscriber that does not read", 5 * natsLinger / 2, n.slow},
	}, nil
}

// connect opens a client; headers go with each of its messages.
func (n *natsLab) connect(ctx context.Context, headers []byte) (*peer, error) {
	return n.open(ctx, nats.NewClient(&nats.Config{
		Name: n.run, User: n.login.User, Password: n.login.Password, Token: n.login.Token, TLS: n.tls != nil, Headers: headers,
	}))
}

// subscribed opens a subscriber.
func (n *natsLab) subscribed(ctx context.Context, subject, group string) (*peer, error) {
	p, err := n.connect(ctx, nil)
	if err != nil {
		return nil, err
	}
	return p.subscribed(subject, group, 0)
}

func (n *natsLab) wildcards(ctx context.Context) ([]Answer, error) {
	base := n.key()
	one, err := n.subscribed(ctx, base+".*.leaf", "")
	if err != nil {
		return nil, err
	}
	defer one.close()
	rest, err := n.subscribed(ctx, base+".>", "")
	if err != nil {
		return nil, err
	}
	defer rest.close()
	pub, err := n.connect(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer pub.close()
	seen := wildcardsSeen{one: "*", rest: ">"}
	seen.oneGot, seen.restGot, err = viaWildcards(pub, one, rest, base+".a.leaf", 0)
	return []Answer{seen.answer()}, err
}

func (n *natsLab) groups(ctx context.Context) ([]Answer, error) {
	subject := n.key()
	return team{
		join: func(string) (*peer, error) { return n.subscribed(ctx, subject, "g") },
		open: func() (*peer, error) { return n.connect(ctx, nil) },
	}.groups(subject, 0)
}

func (n *natsLab) headers(ctx context.Context) ([]Answer, error) {
	block, err := nats.EncodeHeaders(nats.Header{Key: "Lab", Value: n.run})
	if err != nil {
		return nil, err
	}
	p, err := n.connect(ctx, block)
	if err != nil {
		return nil, err
	}
	defer p.close()
	subject := n.key()
	if _, err := p.subscribe(subject, "", 0); err != nil {
		return nil, err
	}
	if _, err := p.publishAll(subject, 0, 1, 1); err != nil {
		return []Answer{decided(AskHeaders, "no", "%v", err)}, nil
	}
	if err := p.await(1); err != nil {
		return []Answer{decided(AskHeaders, "no", "the message did not arrive: %v", err)}, nil
	}
	return []Answer{decided(AskHeaders, "yes", "a message with a header arrived")}, nil
}

func (n *natsLab) absent(ctx context.Context) ([]Answer, error) {
	subject := n.key()
	p, err := n.connect(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer p.close()
	if _, err := p.publishAll(subject, 0, 1, 1); err != nil {
		return nil, err
	}
	if _, err := p.subscribe(subject, "", 0); err != nil {
		return nil, err
	}
	err = p.listen(300 * time.Millisecond)
	return []Answer{absentAnswer(len(p.got), 1)}, err
}

// absentAnswer says whether what was published before a subscription arrived.
func absentAnswer(arrived, sent int) Answer {
	value := "misses all"
	if arrived > 0 {
		value = "gets all later"
	}
	return decided(AskAbsent, value, "of %d published before the subscription arrived %d", sent, arrived)
}

func (n *natsLab) payloads(ctx context.Context) ([]Answer, error) {
	subject := n.key()
	seen := sizeSeen{claimed: int(n.info.MaxPayload), bound: packetBound}
	seq := uint64(0)
	err := seen.search(func(size int) (bool, string, error) {
		seq += 2
		return n.passes(ctx, subject, seq, size)
	})
	return []Answer{seen.answer(AskPayload)}, err
}

// passes publishes message seq with this size, and tells whether it arrived; if not, what the server said.
func (n *natsLab) passes(ctx context.Context, subject string, seq uint64, size int) (bool, string, error) {
	sub, err := n.subscribed(ctx, subject, "")
	if err != nil {
		return false, "", err
	}
	defer sub.close()
	w, err := n.wire(ctx)
	if err != nil {
		return false, "", err
	}
	defer func() { _ = w.nc.Close() }()
	refusal := w.write(appendPub(nil, subject, "", payload(seq, size)))
	if refusal != nil {
		if words := w.lastWords(); words != nil {
			refusal = words
		}
	} else {
		_, refusal = w.sync(patience)
	}
	if refusal != nil {
		return false, refusal.Error(), nil
	}
	if err := sub.await(seq); err != nil && !errors.Is(err, errQuiet) {
		return false, "", err
	}
	return len(sub.got) > 0, "silently dropped", nil
}

func (n *natsLab) nagle(ctx context.Context) ([]Answer, error) {
	subject := n.key()
	sub, err := n.subscribed(ctx, subject, "")
	if err != nil {
		return nil, err
	}
	defer sub.close()
	pub, err := n.connect(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer pub.close()
	return n.lab.nagle(ctx, sub, func(seq uint64) error { return pub.publish(message(subject, 0, seq)) })
}

// natsLinger is how long a subscriber that does not read is watched: longer than the server's write deadline by default. The
// publisher waits as long for an answer, since servers hold back who publishes to such a subscriber.
const natsLinger = slowLimit

// natsFeeder publishes; the server tells when a subject has lost its only subscriber.
type natsFeeder struct {
	w              *natsWire
	subject, inbox string
}

func (f *natsFeeder) feed(first, n uint64) (sent uint64, gone bool, err error) {
	var out []byte
	for seq := first; seq < first+n; seq++ {
		out = appendPub(out, f.subject, f.inbox, payload(seq, slowPayload))
	}
	if n == 0 {
		out = appendPub(out, f.subject, f.inbox, nil)
	}
	if err := f.w.write(out); err != nil {
		return 0, false, err
	}
	gone, err = f.w.sync(natsLinger)
	if errors.Is(err, errQuiet) {
		err = errBlocked
	}
	return n, gone, err
}

func (n *natsLab) slow(ctx context.Context) ([]Answer, error) {
	subject := n.key()
	sub, err := n.subscribed(ctx, subject, "")
	if err != nil {
		return nil, err
	}
	defer sub.drop()
	w, err := n.wire(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = w.nc.Close() }()
	w.patience = natsLinger
	seen, err := starve(ctx, sub, &natsFeeder{w, subject, natsInbox + n.run}, natsLinger)
	if err != nil {
		return nil, err
	}
	return []Answer{seen.answer()}, nil
}
