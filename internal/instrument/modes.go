package instrument

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
)

// Load is what is sent to a client in one mode.
type Load struct {
	Messages int
	Payload  int // bytes
	QoS      uint8
	First    uint32 // number of the first message
}

// Sent is when the writing of each message began, by its number less that of the first; ns.
type Sent []int64

// pace waits until a time: asleep to shortly before, then awake. The sender has a thread of its own.
func pace(at int64) {
	const awake = 60_000
	for clock.Now() < at-awake {
		clock.SleepThreadUntil(at - awake)
	}
	for clock.Now() < at {
	}
}

// each sends the messages of a load; before is called before each of them.
func (c *Client) each(ctx context.Context, l Load, before func(i int)) (Sent, error) {
	payload, err := Payload(l.Payload)
	if err != nil {
		return nil, err
	}
	sent := make(Sent, 0, l.Messages)
	for i := range l.Messages {
		if err := ctx.Err(); err != nil {
			return sent, context.Cause(ctx)
		}
		Number(payload, l.First+uint32(i))
		before(i)
		at, err := c.Send(payload, l.QoS, true)
		if err != nil {
			return sent, err
		}
		sent = append(sent, at)
	}
	return sent, nil
}

// Burst sends messages as fast as the client takes them. The throughput is the library's; latencies are those of the queue.
func (c *Client) Burst(ctx context.Context, l Load) (Sent, error) {
	return c.each(ctx, l, func(int) {})
}

// Paced sends messages on a schedule, one every interval; the first is due at begin.
func (c *Client) Paced(ctx context.Context, l Load, interval time.Duration) (sent Sent, begin int64, err error) {
	begin = clock.Now() + int64(interval)
	sent, err = c.each(ctx, l, func(i int) { pace(begin + int64(i)*int64(interval)) })
	return sent, begin, err
}

// Stamped is Paced, and has the kernel say when each message left to the network device; 0 = it did not.
func (c *Client) Stamped(ctx context.Context, l Load, interval time.Duration) (sent, left Sent, err error) {
	left = make(Sent, l.Messages)
	if c.raw != nil && c.raw.stampSends(true) == nil {
		defer func() { _ = c.raw.stampSends(false) }()
	}
	begin := clock.Now() + int64(interval)
	sent, err = c.each(ctx, l, func(i int) {
		pace(begin + int64(i)*int64(interval) - stampsBefore)
		if i > 0 {
			left[i-1] = c.stamp()
		}
		pace(begin + int64(i)*int64(interval))
	})
	pace(clock.Now() + int64(interval))
	if len(sent) == l.Messages && l.Messages > 0 {
		left[l.Messages-1] = c.stamp()
	}
	return sent, left, err
}

// stampsBefore is how long before a message is due the stamp of the one before is read, ns.
const stampsBefore = 100_000

func (c *Client) stamp() int64 {
	if c.raw == nil {
		return 0
	}
	return c.raw.left()
}

// Paired sends one message at a time, each round one to every client in a random order, so that all see the same host. A client that
// fails is left out from then on; errs has why.
func Paired(ctx context.Context, clients []*Client, l Load, interval time.Duration, seed uint64) (sent []Sent, errs []error) {
	random := rand.New(rand.NewPCG(seed, 0))
	sent, errs = make([]Sent, len(clients)), make([]error, len(clients))
	payload, err := Payload(l.Payload)
	if err != nil {
		for i := range errs {
			errs[i] = err
		}
		return sent, errs
	}
	at := clock.Now() + int64(interval)
	for round := range l.Messages {
		for _, i := range random.Perm(len(clients)) {
			at += int64(interval)
			if ctx.Err() != nil && errs[i] == nil {
				errs[i] = context.Cause(ctx)
			}
			if errs[i] != nil {
				continue
			}
			Number(payload, l.First+uint32(round))
			pace(at)
			began, err := clients[i].Send(payload, l.QoS, true)
			if err != nil {
				errs[i] = err
				continue
			}
			sent[i] = append(sent[i], began)
		}
	}
	return sent, errs
}

// Spread sends the messages of a load to several clients: to each in turn as fast as it takes them, or with an interval to one at random.
func Spread(ctx context.Context, clients []*Client, l Load, interval time.Duration, seed uint64) (Sent, error) {
	payload, err := Payload(l.Payload)
	if err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(seed, 1))
	begin := clock.Now() + int64(interval)
	sent := make(Sent, 0, l.Messages)
	for i := range l.Messages {
		if ctx.Err() != nil {
			return sent, context.Cause(ctx)
		}
		c := clients[i%len(clients)]
		if interval > 0 {
			c = clients[random.IntN(len(clients))]
			pace(begin + int64(i)*int64(interval))
		}
		Number(payload, l.First+uint32(i))
		at, err := c.Send(payload, l.QoS, true)
		if err != nil {
			return sent, err
		}
		sent = append(sent, at)
	}
	return sent, nil
}

// Drained is what Drain did.
type Drained struct {
	Messages int   // that the socket and the window took while the client was stopped
	Thawed   int64 // when the client went on, ns
}

// Freezer stops a client's process and lets it go on.
type Freezer interface {
	Pause() error
	Resume() error
}

// Drain queues as many messages of a load in the socket as it takes while the client's process is stopped, and then lets it go on: what
// follows is the library's work alone, without sender and wake-ups. Of an encrypted connection it queues what fits for sure.
func (c *Client) Drain(ctx context.Context, l Load, process Freezer) (d Drained, err error) {
	payload, err := Payload(l.Payload)
	if err != nil {
		return d, err
	}
	room, err := c.Grow(sendBuffer)
	if err != nil {
		return d, err
	}
	if c.raw == nil {
		l.Messages = min(l.Messages, room/4/(l.Payload+encryptedOverhead))
	}
	if err := process.Pause(); err != nil {
		return d, err
	}
	for d.Messages < l.Messages && ctx.Err() == nil {
		Number(payload, l.First+uint32(d.Messages))
		if c.raw == nil && c.Room(l.QoS) == 0 {
			break
		}
		if _, err = c.Send(payload, l.QoS, c.raw == nil); err != nil {
			break
		}
		d.Messages++
	}
	if errors.Is(err, ErrFull) {
		err = nil
	}
	d.Thawed = clock.Now()
	return d, errors.Join(err, process.Resume(), c.Flush())
}

// encryptedOverhead is more than what a message takes besides its payload, with TLS; the kernel counts its own structures as well, which
// is why a quarter of the buffer is used, only.
const encryptedOverhead = 1024

// sendBuffer is what the socket is asked to hold while the client is stopped, in bytes.
const sendBuffer = 128 << 20
