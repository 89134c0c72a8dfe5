package probe

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/mqlab/mqlab/internal/proto/resp"
)

// redisLab is the lab for Redis.
type redisLab struct{ *lab }

func prepareRedis(ctx context.Context, l *lab, r *Report) ([]step, error) {
	w, err := l.redisWire(ctx)
	if err != nil {
		return nil, fmt.Errorf("no Redis connection is accepted: %w", err)
	}
	defer func() { _ = w.nc.Close() }()
	n := &redisLab{l}
	return append([]step{
		{[]string{AskRESP3}, "HELLO 3", 2 * patience, n.resp3},
		{[]string{AskWildcards}, "subscribe by the patterns ? and *, then publish", 3 * patience, n.patterns},
		{[]string{AskAbsent}, "publish to a channel, then subscribe", 2 * patience, n.absent},
		{[]string{AskPayload}, "publish ever larger messages to a subscriber", 5 * patience, n.payloads},
		{[]string{AskStreams}, "add entries, read them by a consumer group", 2 * patience, n.streams},
		{[]string{AskNagle}, nagleHow, 2 * patience, n.nagle},
		{[]string{AskSlow}, "publish to a subscriber that does not read", 5 * patience, n.slow},
	}, n.survival("add to a stream, end the broker by %s, start it again", n.survives)...), nil
}

// connect opens a client that publishes and subscribes.
func (n *redisLab) connect(ctx context.Context) (*peer, error) {
	return n.open(ctx, resp.NewPubSub(&resp.Config{User: n.login.User, Password: n.login.Password}, n.run))
}

func (n *redisLab) subscribed(ctx context.Context, channel string) (*peer, error) {
	p, err := n.connect(ctx)
	if err != nil {
		return nil, err
	}
	return p.subscribed(channel, "", 0)
}

func (n *redisLab) resp3(ctx context.Context) ([]Answer, error) {
	w, err := n.redisWire(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = w.nc.Close() }()
	if err := w.write(appendWords(nil, "HELLO", "3")); err != nil {
		return nil, err
	}
	if err := w.nc.SetReadDeadline(w.until()); err != nil {
		return nil, err
	}
	line, err := w.in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	if line[0] == '%' {
		return []Answer{decided(AskRESP3, "yes", "HELLO 3 is answered by a map")}, nil
	}
	return []Answer{decided(AskRESP3, "no", "HELLO 3 is answered by %.60q", line)}, nil
}

func (n *redisLab) patterns(ctx context.Context) ([]Answer, error) {
	base := n.topic()
	one, err := n.subscribed(ctx, base+"/?/lea*")
	if err != nil {
		return nil, err
	}
	defer one.close()
	rest, err := n.subscribed(ctx, base+"/*")
	if err != nil {
		return nil, err
	}
	defer rest.close()
	pub, err := n.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer pub.close()
	seen := wildcardsSeen{one: "?", rest: "*"}
	seen.oneGot, seen.restGot, err = viaWildcards(pub, one, rest, base+"/a/leaf", 1)
	return []Answer{seen.answer()}, err
}

func (n *redisLab) absent(ctx context.Context) ([]Answer, error) {
	channel := n.topic()
	pub, err := n.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer pub.close()
	if _, err := pub.publishAll(channel, 1, 1, 1); err != nil {
		return nil, err
	}
	sub, err := n.subscribed(ctx, channel)
	if err != nil {
		return nil, err
	}
	defer sub.close()
	err = sub.listen(300 * time.Millisecond)
	return []Answer{absentAnswer(len(sub.got), 1)}, err
}

// payloads tries sizes. What the server claims (proto-max-bulk-len) is only asked for.
func (n *redisLab) payloads(ctx context.Context) ([]Answer, error) {
	channel := n.topic()
	seen := sizeSeen{bound: packetBound}
	w, err := n.redisWire(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = w.nc.Close() }()
	if v, err := w.do("CONFIG", "GET", "proto-max-bulk-len"); err == nil && len(v) == 2 {
		seen.claimed, _ = strconv.Atoi(v[1])
	}
	seq := uint64(0)
	err = seen.search(func(size int) (bool, string, error) {
		seq++
		return n.passes(ctx, channel, seq, size)
	})
	return []Answer{seen.answer(AskPayload)}, err
}

func (n *redisLab) passes(ctx context.Context, channel string, seq uint64, size int) (bool, string, error) {
	sub, err := n.subscribed(ctx, channel)
	if err != nil {
		return false, "", err
	}
	defer sub.drop()
	w, err := n.redisWire(ctx)
	if err != nil {
		return false, "", err
	}
	defer func() { _ = w.nc.Close() }()
	arrived := make(chan error, 1)
	go func() { arrived <- sub.await(seq) }()
	_, refusal := w.do("PUBLISH", channel, string(payload(seq, size)))
	var said redisError
	if errors.As(refusal, &said) || refusal != nil && !errors.Is(refusal, errQuiet) {
		_ = sub.nc.Close()
		<-arrived
		return false, refusal.Error(), nil
	}
	return <-arrived == nil, "it did not arrive", nil
}

// redisEntries are added to a stream.
const redisEntries = 10

// stream is the key of one that is deleted in the end.
func (n *redisLab) stream() string {
	key := n.topic()
	n.later(key, func(ctx context.Context) error {
		w, err := n.redisWire(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = w.nc.Close() }()
		_, err = w.do("DEL", key)
		return err
	})
	return key
}

// fillStream adds entries to a stream and returns its key.
func (n *redisLab) fillStream(w *redisWire) (key string, err error) {
	key = n.stream()
	for i := range redisEntries {
		if _, err := w.do("XADD", key, "*", "n", strconv.Itoa(i)); err != nil {
			return key, err
		}
	}
	return key, nil
}

func (n *redisLab) streams(ctx context.Context) ([]Answer, error) {
	w, err := n.redisWire(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = w.nc.Close() }()
	key, err := n.fillStream(w)
	if err == nil {
		_, err = w.do("XGROUP", "CREATE", key, "g", "0")
	}
	if err == nil {
		_, err = w.do("XREADGROUP", "GROUP", "g", "c", "COUNT", strconv.Itoa(redisEntries), "STREAMS", key, ">")
	}
	var pending []string
	if err == nil {
		pending, err = w.do("XPENDING", key, "g")
	}
	var refused redisError
	switch {
	case errors.As(err, &refused):
		return []Answer{decided(AskStreams, "no", "%v", err)}, nil
	case err != nil:
		return nil, err
	case len(pending) == 0 || pending[0] != strconv.Itoa(redisEntries):
		return []Answer{undecided(AskStreams, "of %d entries the group has %v to acknowledge", redisEntries, pending)}, nil
	}
	return []Answer{decided(AskStreams, "yes, with groups", "%d entries added, read by a group, to be acknowledged", redisEntries)}, nil
}

func (n *redisLab) nagle(ctx context.Context) ([]Answer, error) {
	channel := n.topic()
	sub, err := n.subscribed(ctx, channel)
	if err != nil {
		return nil, err
	}
	defer sub.close()
	pub, err := n.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer pub.close()
	return n.lab.nagle(ctx, sub, func(seq uint64) error { return pub.publish(message(channel, 0, seq)) })
}

// redisFeeder publishes; the server answers with the number of receivers.
type redisFeeder struct {
	w       *redisWire
	channel string
}

// redisStep is how many messages are published between two looks at that number, which is exact only so.
const redisStep = 4

func (f *redisFeeder) feed(first, n uint64) (sent uint64, gone bool, err error) {
	if n == 0 {
		gone, err = f.publish(appendWords(nil, "PUBLISH", f.channel, ""), 1)
		return 0, gone, err
	}
	for sent < n && !gone && err == nil {
		var out []byte
		for seq := first + sent; seq < first+sent+redisStep; seq++ {
			out = appendWords(out, "PUBLISH", f.channel, string(payload(seq, slowPayload)))
		}
		if gone, err = f.publish(out, redisStep); err == nil {
			sent += redisStep
		}
	}
	return sent, gone, err
}

// publish sends n commands and tells whether one of them had no receiver.
func (f *redisFeeder) publish(commands []byte, n int) (lonely bool, err error) {
	if err := f.w.write(commands); err != nil {
		return false, err
	}
	for range n {
		receivers, err := f.w.number()
		if errors.Is(err, errQuiet) {
			err = errBlocked
		}
		if err != nil {
			return lonely, err
		}
		lonely = lonely || receivers == 0
	}
	return lonely, nil
}

func (n *redisLab) slow(ctx context.Context) ([]Answer, error) {
	channel := n.topic()
	sub, err := n.subscribed(ctx, channel)
	if err != nil {
		return nil, err
	}
	defer sub.drop()
	w, err := n.redisWire(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = w.nc.Close() }()
	seen, err := starve(ctx, sub, &redisFeeder{w, channel}, time.Second)
	if err != nil {
		return nil, err
	}
	return []Answer{seen.answer()}, nil
}

// survives adds to a stream, restarts the broker, and looks what is left. Channels keep nothing, see AskAbsent.
func (n *redisLab) survives(ctx context.Context, question string, kill bool) ([]Answer, error) {
	w, err := n.redisWire(ctx)
	if err != nil {
		return nil, err
	}
	key, err := n.fillStream(w)
	_ = w.nc.Close()
	if err != nil {
		return nil, err
	}
	if err := n.restarted(ctx, kill, func() (err error) { w, err = n.redisWire(ctx); return err }); err != nil {
		return nil, err
	}
	defer func() { _ = w.nc.Close() }()
	if err := w.write(appendWords(nil, "XLEN", key)); err != nil {
		return nil, err
	}
	left, err := w.number()
	if err != nil {
		return nil, err
	}
	seen := logSeen{question: question, what: "entries of a stream", sent: redisEntries, left: left}
	return []Answer{seen.answer()}, nil
}
