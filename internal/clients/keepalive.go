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

// keepAlive is the shortest that all libraries accept: libmosquitto refuses less.
const keepAlive = 5 * time.Second

// keepAlives has the callback of every client block, all at the same time.
func (o *Options) keepAlives(ctx context.Context, g *guard.Guard, r *Result, built []*agent.Built) {
	var all sync.WaitGroup
	var rows []*KeepAlive
	for _, b := range built {
		if b.Floor || b.Protocol != agent.MQTT || !slices.Contains(b.Options().Callback, "block") {
			continue
		}
		row := &KeepAlive{Client: b.Name, KeepAlive: int64(keepAlive), Blocked: int64(o.Block)}
		rows = append(rows, row)
		anywhere := *b
		anywhere.Place = agent.Anywhere
		all.Go(func() { row.try(ctx, o, g, &anywhere) })
	}
	all.Wait()
	for _, row := range rows {
		r.KeepAlives = append(r.KeepAlives, *row)
	}
}

// try sends one message to a client whose callback blocks, and watches what comes meanwhile.
func (x *KeepAlive) try(ctx context.Context, o *Options, g *guard.Guard, b *agent.Built) {
	job := o.Job
	job.QoS, job.Callback, job.WorkNS, job.KeepAlive = o.QoS[0], "block", int64(o.Block), int(keepAlive/time.Second)
	k, err := o.open(ctx, g, b, job, 1, "")
	if err != nil {
		x.Invalid = reason(x.Client, err)
		return
	}
	defer k.close()
	c := k.clients[0]
	payload, err := instrument.Payload(o.Payloads[0])
	if err != nil {
		x.Invalid = reason(x.Client, err)
		return
	}
	at, err := c.Send(payload, uint8(o.QoS[0]), true)
	if err != nil {
		x.Invalid = reason(x.Client, err)
		return
	}
	// The broker looks as often as brokers do; the moment of the disconnection is that of its own rule.
	for end := at + int64(o.Block); clock.Now() < end && ctx.Err() == nil; clock.SleepUntil(clock.Now() + int64(look)) {
		if c.Tick() != nil {
			x.Disconnected, x.After = true, clock.Now()-at
			break
		}
		if gone(c) {
			x.Invalid = "it ended the connection by itself"
			return
		}
	}
	for _, ping := range c.Pings() {
		if ping >= at && ping < at+int64(o.Block) {
			x.Pings++
		}
	}
	if ctx.Err() != nil {
		x.Invalid = context.Cause(ctx).Error()
	}
}

// look is how often the broker looks whether a client was silent for too long.
const look = 20 * time.Millisecond
