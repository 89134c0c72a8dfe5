package probe

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/proto/nats"
)

// jetLab is the lab for JetStream. Each step has a stream of its own, which is deleted in the end.
type jetLab struct{ *natsLab }

func prepareJetStream(ctx context.Context, l *lab, r *Report) ([]step, error) {
	w, err := l.wire(ctx)
	if err != nil {
		return nil, fmt.Errorf("no NATS connection is accepted: %w", err)
	}
	defer func() { _ = w.nc.Close() }()
	r.Version = w.info.Version
	n := &jetLab{&natsLab{l, w.info}}
	p, err := n.client(ctx, "first", n.stream(n.key(), nil))
	if err != nil {
		return nil, fmt.Errorf("no stream can be made: %w", err)
	}
	p.close()
	return append([]step{
		{[]string{AskConfirms}, "publish into a stream, and wait for each answer", 2 * patience, n.confirms},
		{[]string{AskGroups}, "publish to two clients of one consumer", 3 * patience, n.groups},
		{[]string{AskOffline}, "publish to a durable consumer without a client", 4 * patience, n.offline},
		{[]string{AskLimit}, fmt.Sprintf("publish %d messages into a stream of %d", 2*streamBound, streamBound), 3 * patience, n.limit},
		{[]string{AskInFlight}, "publish to a client that never acknowledges", 4 * patience, n.inFlight},
		{[]string{AskRedelivery}, "read without acknowledging, come back", 4 * patience, n.redelivery},
		{[]string{AskPayload}, "publish ever larger messages into a stream with a client", 5 * patience, n.payloads},
		{[]string{AskNagle}, nagleHow, 2 * patience, n.nagle},
	}, n.survival("publish into a stream on disk, end the broker by %s, start it again", n.survives)...), nil
}

// streamBound is how many messages the stream holds whose limit is tried.
const streamBound = 1000

// stream describes one for a subject; adjust may change it.
func (n *jetLab) stream(subject string, adjust func(*nats.Stream)) *nats.Stream {
	s := &nats.Stream{Name: strings.ReplaceAll(subject, ".", "-"), Subjects: []string{subject}, Storage: nats.StorageFile, Durable: true, Inactive: time.Minute}
	if adjust != nil {
		adjust(s)
	}
	return s
}

// client opens one that publishes into a stream and receives from it. The stream is deleted when the probe ends.
func (n *jetLab) client(ctx context.Context, name string, s *nats.Stream) (*peer, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	p, err := n.open(ctx, nats.NewJetStream(n.config(), s, n.run+name))
	if err == nil {
		n.later(s.Name, func(ctx context.Context) error {
			last := *s
			last.Delete = true
			p, err := n.open(ctx, nats.NewJetStream(n.config(), &last, n.run+"last"))
			if err == nil {
				p.close()
			}
			return err
		})
	}
	return p, err
}

func (n *jetLab) config() *nats.Config {
	return &nats.Config{Name: n.run, User: n.login.User, Password: n.login.Password, Token: n.login.Token, TLS: n.tls != nil}
}

// consumer opens a client that receives, as a member of a group if that is not empty.
func (n *jetLab) consumer(ctx context.Context, name, group string, s *nats.Stream, qos uint8) (*peer, error) {
	p, err := n.client(ctx, name, s)
	if err != nil {
		return nil, err
	}
	return p.subscribed(s.Subjects[0], group, qos)
}

func (n *jetLab) confirms(ctx context.Context) ([]Answer, error) {
	subject := n.key()
	p, err := n.client(ctx, "pub", n.stream(subject, nil))
	if err != nil {
		return nil, err
	}
	defer p.close()
	return confirmed(p, subject, "messages", "were stored, by the server's word"), nil
}

func (n *jetLab) groups(ctx context.Context) ([]Answer, error) {
	subject := n.key()
	s := n.stream(subject, nil)
	return team{
		join: func(name string) (*peer, error) { return n.consumer(ctx, name, "g", s, 1) },
		open: func() (*peer, error) { return n.client(ctx, "pub", s) },
	}.groups(subject, 1)
}

// absent is a durable consumer of a stream.
func (n *jetLab) absent(ctx context.Context, s *nats.Stream) absence {
	return queued(func() (*peer, error) { return n.consumer(ctx, "away", "", s, 1) })
}

// keeps publishes to a stream whose durable consumer is away, and returns what it gets when it is back.
func (n *jetLab) keeps(ctx context.Context, s *nats.Stream, sent uint64) (seen offlineSeen, err error) {
	pub, err := n.client(ctx, "pub", s)
	if err != nil {
		return seen, err
	}
	defer pub.close()
	return n.absent(ctx, s).kept(pub, s.Subjects[0], sent)
}

func (n *jetLab) offline(ctx context.Context) ([]Answer, error) {
	return keepsMost(ctx, func(sent uint64) (offlineSeen, error) { return n.keeps(ctx, n.stream(n.key(), nil), sent) })
}

// limit fills a stream past what it holds.
func (n *jetLab) limit(ctx context.Context) ([]Answer, error) {
	s := n.stream(n.key(), func(s *nats.Stream) { s.MaxMessages = streamBound })
	seen, err := n.keeps(ctx, s, 2*streamBound)
	a := seen.answer()
	a.Question = AskLimit
	return []Answer{a}, err
}

func (n *jetLab) inFlight(ctx context.Context) ([]Answer, error) {
	subject := n.key()
	s := n.stream(subject, func(s *nats.Stream) { s.HoldAcks = true })
	sub, err := n.consumer(ctx, "holds", "", s, 1)
	if err != nil {
		return nil, err
	}
	defer sub.drop()
	pub, err := n.client(ctx, "pub", s)
	if err != nil {
		return nil, err
	}
	defer pub.close()
	seen, err := fillWindow(ctx, pair{pub, sub}, subject)
	return []Answer{seen.answer()}, err
}

func (n *jetLab) redelivery(ctx context.Context) ([]Answer, error) {
	const sent = 10
	subject := n.key()
	s := n.stream(subject, func(s *nats.Stream) { s.HoldAcks, s.AckWait = true, time.Second })
	seen := redeliverySeen{sent: sent}
	p, err := n.consumer(ctx, "forgetful", "g", s, 1)
	if err != nil {
		return nil, err
	}
	if _, err = p.publishAll(subject, 1, 1, sent); err == nil {
		err = p.gather(sent, patience)
	}
	first := len(distinct(p.sequences()))
	p.drop()
	switch {
	case err != nil:
		return nil, err
	case first < sent:
		return []Answer{undecided(AskRedelivery, "of %d messages %d arrived", sent, first)}, nil
	}
	for _, again := range []struct {
		name string
		got  *int
	}{{"forgetful", &seen.again}, {"other", &seen.claimed}} {
		p, err := n.consumer(ctx, again.name, "g", s, 1)
		if err != nil {
			return nil, err
		}
		err = p.gather(sent, 3*s.AckWait)
		*again.got = len(distinct(p.sequences()))
		p.drop()
		if err != nil {
			return nil, err
		}
	}
	return []Answer{seen.answer()}, nil
}

func (n *jetLab) payloads(ctx context.Context) ([]Answer, error) {
	subject := n.key()
	s := n.stream(subject, nil)
	seen := sizeSeen{claimed: int(n.info.MaxPayload), bound: packetBound}
	seq := uint64(0)
	err := seen.search(func(size int) (bool, string, error) {
		seq++
		sub, err := n.consumer(ctx, fmt.Sprint("size", seq), "", s, 1)
		if err != nil {
			return false, "", err
		}
		defer sub.drop()
		w, err := n.wire(ctx)
		if err != nil {
			return false, "", err
		}
		defer func() { _ = w.nc.Close() }()
		refusal := w.write(appendPub(nil, subject, "", payload(seq, size)))
		if refusal == nil {
			_, refusal = w.sync(patience)
		}
		if refusal != nil {
			if words := w.lastWords(); words != nil {
				refusal = words
			}
			return false, refusal.Error(), nil
		}
		return sub.await(seq) == nil, "it did not arrive", nil
	})
	return []Answer{seen.answer(AskPayload)}, err
}

func (n *jetLab) nagle(ctx context.Context) ([]Answer, error) {
	subject := n.key()
	s := n.stream(subject, nil)
	sub, err := n.consumer(ctx, "nagle", "", s, 0) // acknowledges nothing, and so writes nothing
	if err != nil {
		return nil, err
	}
	defer sub.close()
	pub, err := n.client(ctx, "pub", s)
	if err != nil {
		return nil, err
	}
	defer pub.close()
	return n.lab.nagle(ctx, sub, func(seq uint64) error { return pub.publish(message(subject, 0, seq)) })
}

// survives publishes into a stream, restarts the broker, and looks what is left.
func (n *jetLab) survives(ctx context.Context, question string, kill bool) ([]Answer, error) {
	s := n.stream(n.key(), nil)
	open := func(name string) func() (*peer, error) {
		return func() (*peer, error) { return n.client(ctx, name, s) }
	}
	restart := func() error { return n.reopened(ctx, kill, open("again")) }
	return n.absent(ctx, s).survives(question, "stored messages", open("pub"), s.Subjects[0], restart)
}
