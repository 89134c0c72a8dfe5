package clients

import (
	"context"
	"time"

	"github.com/mqlab/mqlab/internal/agent"
	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/instrument"
	"github.com/mqlab/mqlab/internal/ktrace"
)

// Mode is a way of sending messages to a client.
type Mode string

// The modes.
const (
	DrainMode     Mode = "drain"     // queued while the client is stopped: the work per message
	PairedMode    Mode = "paired"    // one message at a time, to all clients in turn: its latency
	PacedMode     Mode = "paced"     // on a schedule, one client alone
	BurstMode     Mode = "burst"     // as fast as the client takes them: throughput, never ranked
	BreakdownMode Mode = "breakdown" // one at a time, watched by the kernel: where the time goes

	AllocationsMode Mode = "allocations" // in a process of its own, by a counter put before the program
)

// Modes are all modes, in the order in which they are carried out.
func Modes() []Mode {
	return []Mode{PairedMode, DrainMode, PacedMode, BurstMode, BreakdownMode, AllocationsMode}
}

// The least interval between two messages to a client, and the rate in bytes that it grows with.
const (
	leastInterval = time.Millisecond
	pacedBytes    = 100e6 // a second
)

// interval is that of a schedule for one client alone.
func (s *session) interval() time.Duration {
	return max(leastInterval, time.Duration(float64(s.payload)/pacedBytes*1e9))
}

// load is n messages with the client's next numbers.
func (s *session) load(p *present, n int) instrument.Load {
	return instrument.Load{Messages: n, Payload: s.payload, QoS: s.qos, First: uint32(p.taken.messages)}
}

// sent books a batch, and waits until the client has taken it.
func (s *session) sent(ctx context.Context, p *present, b batch) batch {
	b.number = len(b.sent)
	p.taken.messages += b.number
	p.process.Settle(ctx, uint64(p.taken.messages))
	return b
}

// paced sends messages on a schedule.
func (s *session) paced(ctx context.Context, p *present) {
	load, interval := s.load(p, s.o.Paced), s.interval()
	sent, begin, err := p.client.Paced(ctx, load, interval)
	b := s.sent(ctx, p, batch{first: load.First, sent: sent})
	p.taken.paced, p.err = &b, err
	p.taken.pacedEvery = interval
	for i, at := range sent {
		if at > begin+int64(i)*int64(interval)+int64(interval)/2 {
			p.taken.pacedLate++
		}
	}
}

// burst sends messages as fast as the client takes them.
func (s *session) burst(ctx context.Context, p *present, round int) {
	load := s.load(p, s.drained())
	sent, err := p.client.Burst(ctx, load)
	p.taken.bursts = append(p.taken.bursts, s.sent(ctx, p, batch{round: round, first: load.First, sent: sent}))
	p.err = err
}

// trace sends messages one at a time while the kernel's events are read, and then has the system calls of a drain counted.
func (s *session) trace(ctx context.Context, p *present) {
	counter, err := ktrace.Count(p.process.PID)
	if err == nil {
		defer counter.Close()
	}
	var watcher *ktrace.Watcher
	if err == nil {
		if watcher, err = ktrace.Watch(p.process.PID, s.cores); err == nil {
			defer watcher.Close()
		}
	}
	if err != nil {
		p.taken.untraced = err.Error()
	}
	load := s.load(p, s.o.Traced)
	sent, left, err := p.client.Stamped(ctx, load, max(s.interval(), time.Duration(len(s.here))*s.o.Interval))
	if counter != nil {
		p.taken.calls = new(counter.Calls())
	}
	if watcher != nil {
		p.taken.events, p.taken.eventsLost = watcher.Events()
	}
	b := s.sent(ctx, p, batch{first: load.First, sent: sent})
	p.taken.traced, p.taken.left, p.err = &b, left, err
	if counter == nil || p.err != nil {
		return
	}
	before := counter.Calls()
	load = s.load(p, s.drained())
	d, err := p.client.Drain(ctx, load, p.process)
	if p.err = err; err != nil || d.Messages == 0 {
		return
	}
	p.taken.messages += d.Messages
	p.process.Settle(ctx, uint64(p.taken.messages))
	p.taken.callsDrain = new(float64(counter.Calls()-before) / float64(d.Messages))
}

// allocations has a process of its own count what it allocates: counting costs time.
func (s *session) allocations(ctx context.Context, p *present) {
	if !p.built.Options().Allocation || s.o.Allocator != "" {
		return
	}
	count := func() (*agent.Done, error) {
		b, err := agent.Counting(ctx, p.built, s.o.Folder)
		if err != nil {
			return nil, err
		}
		job, before := s.o.Job, min(beforeCounting, s.drained())
		job.QoS, job.CountFrom = int(s.qos), before-1 // the last before the pause: what other threads read ahead is counted whole
		g, err := s.o.open(ctx, s.g, b, job, 1, "")
		if err != nil {
			return nil, err
		}
		defer g.close()
		load := instrument.Load{Messages: before, Payload: s.payload, QoS: s.qos}
		if _, err := g.clients[0].Burst(ctx, load); err != nil {
			return nil, err
		}
		g.settle(ctx, before)
		load.First, load.Messages = uint32(before), s.drained()
		if _, err := g.clients[0].Burst(ctx, load); err != nil {
			return nil, err
		}
		if err := g.end(ctx, before+s.drained()); err != nil {
			return nil, err
		}
		return g.done, nil
	}
	if p.taken.allocated, p.err = count(); p.err == nil {
		p.taken.allocatedBy = s.drained()
	}
}

// beforeCounting messages come before allocations are counted: buffers have grown then. Of large ones fewer do, as libraries drop what they
// cannot queue.
const beforeCounting = 100

// each carries out a mode for every client that is able, one after the other in a random order.
func (s *session) each(ctx context.Context, mode Mode, rounds int, do func(p *present, round int)) {
	if !s.o.has(mode) {
		return
	}
	for round := range rounds {
		for _, i := range s.random.Perm(len(s.here)) {
			if p := s.here[i]; p.err == nil && ctx.Err() == nil {
				do(p, round)
			}
		}
	}
}

// single sends the rounds of single messages, and takes what they used.
func (s *session) single(ctx context.Context) {
	if !s.o.has(PairedMode) {
		return
	}
	began, before := clock.Now(), s.usage()
	for round := range s.o.Rounds {
		s.paired(ctx, s.o.Lone, &round)
	}
	for i, p := range s.here {
		p.taken.elapsed = clock.Now() - began
		if p.process != nil {
			p.taken.single = p.process.Usage().Sub(before[i])
		}
	}
}
