package clients

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mqlab/mqlab/internal/agent"
	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/instrument"
)

// spreadMost bounds the messages of such a measurement.
const spreadMost = 20_000

// scale measures one client with several connections at once. Clients run on any core: threads and processes are to show what they gain.
func (o *Options) scale(ctx context.Context, g *guard.Guard, b *agent.Built, connections int, by string) (s Scaled) {
	s = Scaled{Client: b.Name, Connections: connections, By: by, Payload: o.Payloads[0], QoS: o.QoS[0]}
	anywhere := *b
	anywhere.Place = agent.Anywhere
	job := o.Job
	job.QoS = s.QoS
	k, err := o.open(ctx, g, &anywhere, job, connections, by)
	if err != nil {
		s.Invalid = reason(s.Client, err)
		return s
	}
	defer k.close()
	if err := s.measure(ctx, o, k); err != nil {
		s.Invalid = reason(s.Client, err)
	}
	return s
}

// measure sends each connection a message first, then single ones to connections at random, then all as fast as they take them.
func (s *Scaled) measure(ctx context.Context, o *Options, k *group) error {
	load := instrument.Load{Messages: max(s.Connections, 100), Payload: s.Payload, QoS: uint8(s.QoS)}
	if _, err := instrument.Spread(ctx, k.clients, load, 0, o.Seed); err != nil {
		return err
	}
	total := load.Messages
	k.settle(ctx, total)
	load.First, load.Messages = uint32(total), o.Traced
	single, err := instrument.Spread(ctx, k.clients, load, leastInterval, o.Seed)
	if err != nil {
		return err
	}
	alone := batch{first: load.First, sent: single}
	total += len(single)
	k.settle(ctx, total)
	load.First, load.Messages = uint32(total), min(max(o.Drain, 2*s.Connections), spreadMost, max(drainBytes/s.Payload, 100))
	before := k.usage()
	sent, err := instrument.Spread(ctx, k.clients, load, 0, o.Seed)
	if err != nil {
		return err
	}
	total += len(sent)
	k.settle(ctx, total)
	used := k.usage().Sub(before)
	s.Memory, s.Threads, s.Processes = k.memory(), used.ThreadNumber, len(k.processes)
	if err := k.end(ctx, total); err != nil {
		return err
	}
	s.Messages, s.Received = total, len(k.records)
	s.fold(k, &alone, &batch{first: load.First, sent: sent, number: len(sent)}, &used)
	return nil
}

func (s *Scaled) fold(k *group, alone, burst *batch, used *agent.Usage) {
	s.Lone = lone(alone.latencies(k.records))
	last := uint64(0)
	for n := burst.first; n < burst.first+uint32(burst.number); n++ {
		last = max(last, k.records[n].B)
	}
	elapsed := time.Duration(int64(last) - burst.sent[0])
	s.PerSecond = float64(burst.number) / elapsed.Seconds()
	s.CPU = float64(used.CPU) / float64(burst.number)
	s.Switches = float64(used.Voluntary+used.Involuntary) / float64(burst.number)
	s.WaitRatio = float64(used.Waited) / float64(elapsed)
}

// scales measures all clients with all numbers of connections.
func (o *Options) scales(ctx context.Context, g *guard.Guard, r *Result, built []*agent.Built) {
	for _, by := range o.By {
		for _, b := range built {
			if by != agent.ByProcesses && !slices.Contains(b.Options().By, by) {
				continue
			}
			var least *Scaled
			for _, n := range o.Connections {
				if ctx.Err() != nil {
					return
				}
				o.Say(fmt.Sprintf("%s, %d connections by %s", b.Name, n, by))
				s := o.scale(ctx, g, b, n, by)
				switch {
				case s.Invalid != "":
				case least == nil:
					first := s
					least = &first
				case n > least.Connections && s.Memory > least.Memory:
					s.PerConn = new(float64(s.Memory-least.Memory) / float64(n-least.Connections))
				}
				r.Scaled = append(r.Scaled, s)
			}
		}
	}
}
