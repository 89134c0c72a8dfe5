package clients

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/mqlab/mqlab/internal/agent"
	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/instrument"
)

// The schedule of a client that is cut off: libraries wait a second or more before they connect again.
const (
	cutInterval = 10 * time.Millisecond
	cutMessages = 500
	cutAt       = 50
)

// reconnects cuts the connection of every client that comes back by itself, all at the same time.
func (o *Options) reconnects(ctx context.Context, g *guard.Guard, r *Result, built []*agent.Built) {
	for _, how := range o.Reconnect {
		var all sync.WaitGroup
		var rows []*Reconnect
		for _, b := range built {
			if !slices.Contains(b.Options().Reconnect, how) {
				continue
			}
			row := &Reconnect{Client: b.Name, How: how, Interval: int64(cutInterval)}
			rows = append(rows, row)
			anywhere := *b
			anywhere.Place = agent.Anywhere
			all.Go(func() { row.try(ctx, o, g, &anywhere) })
		}
		all.Wait()
		for _, row := range rows {
			r.Reconnects = append(r.Reconnects, *row)
		}
	}
}

// current is the connection that a client has now.
type current struct {
	mu     sync.Mutex
	client *instrument.Client // nil = none yet
	all    []*instrument.Client
}

func (c *current) set(client *instrument.Client) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.client, c.all = client, append(c.all, client)
}

func (c *current) get() *instrument.Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.client
}

// try sends a client messages on a schedule, cuts its connection, and books where each message was lost.
func (x *Reconnect) try(ctx context.Context, o *Options, g *guard.Guard, b *agent.Built) {
	job := o.Job
	job.QoS, job.Reconnect = o.QoS[0], x.How
	k, err := o.open(ctx, g, b, job, 1, "")
	if err != nil {
		x.Invalid = reason(x.Client, err)
		return
	}
	defer k.close()
	now := &current{client: k.clients[0]}
	ended := make(chan struct{})
	go func() { // it may come several times
		defer close(ended)
		for ctx.Err() == nil {
			client, err := k.broker.Connect(patience)
			if err != nil {
				return
			}
			now.set(client)
		}
	}()
	sent, cut, err := x.send(ctx, o, now)
	if err == nil {
		k.settle(ctx, sent)
		err = k.collect(ctx, cutMessages)
	}
	_ = k.broker.Close()
	<-ended
	k.clients = append(k.clients, now.all...)
	if err != nil {
		x.Invalid = reason(x.Client, err)
		return
	}
	x.Received = len(k.records)
	x.Cut = sent - x.Received
	if c := now.get(); len(now.all) > 0 {
		if at := c.Connected(); at > cut {
			x.Reconnected = at - cut
		}
		if at := c.Subscribed(); at > cut {
			x.Subscribed = at - cut
		}
	}
}

// send sends what can be sent of the schedule, and cuts the connection within it.
func (x *Reconnect) send(ctx context.Context, o *Options, now *current) (sent int, cut int64, err error) {
	payload, err := instrument.Payload(o.Payloads[0])
	if err != nil {
		return 0, 0, err
	}
	begin := clock.Now()
	for i := range cutMessages {
		clock.SleepUntil(begin + int64(i)*int64(cutInterval))
		if ctx.Err() != nil {
			return sent, cut, context.Cause(ctx)
		}
		c := now.get()
		if i == cutAt {
			cut = clock.Now()
			_ = c.Cut()
		}
		x.Messages++
		instrument.Number(payload, uint32(i))
		switch {
		case gone(c) || c.Connected() == 0:
			x.Away++
		case c.Subscribed() == 0:
			x.Deaf++
		default:
			if _, err := c.Send(payload, uint8(o.QoS[0]), true); err != nil {
				x.Away++
				continue
			}
			sent++
		}
	}
	return sent, cut, nil
}

func gone(c *instrument.Client) bool {
	select {
	case <-c.Ended():
		return true
	default:
		return false
	}
}
