package clients

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/mqlab/mqlab/internal/agent"
	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/instrument"
	"github.com/mqlab/mqlab/internal/stat"
)

// How memory is watched. What a program takes while it warms up, in the first quarter, is no leak.
const (
	leakReadings = 40
	leakWarm     = leakReadings / 4
	leakInterval = 2 * time.Millisecond
)

// leaks watches the memory of all clients under steady load, all at the same time.
func (o *Options) leaks(ctx context.Context, g *guard.Guard, r *Result, built []*agent.Built) {
	var all sync.WaitGroup
	rows := make([]Leak, len(built))
	for i, b := range built {
		rows[i] = Leak{Client: b.Name}
		anywhere := *b
		anywhere.Place = agent.Anywhere
		all.Go(func() {
			if err := rows[i].watch(ctx, o, g, &anywhere); err != nil {
				rows[i] = Leak{Client: b.Name, Invalid: err.Error()}
			}
		})
	}
	all.Wait()
	r.Leaks = append(r.Leaks, rows...)
}

func (x *Leak) watch(ctx context.Context, o *Options, g *guard.Guard, b *agent.Built) error {
	job := o.Job
	job.QoS = o.QoS[0]
	job.Capacity = int(o.Leak/leakInterval) + 10_000
	k, err := o.open(ctx, g, b, job, 1, "")
	if err != nil {
		return err
	}
	defer k.close()
	payload, err := instrument.Payload(o.Payloads[0])
	if err != nil {
		return err
	}
	var messages, memory []float64
	begin := clock.Now()
	each := int64(o.Leak) / leakReadings
	for i := 0; clock.Now() < begin+int64(o.Leak); i++ {
		clock.SleepUntil(begin + int64(i)*int64(leakInterval))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		instrument.Number(payload, uint32(i))
		if _, err := k.clients[0].Send(payload, uint8(job.QoS), true); err != nil {
			return err
		}
		x.Messages++
		if clock.Now() >= begin+int64(len(memory)+1)*each {
			messages, memory = append(messages, float64(x.Messages)), append(memory, float64(k.memory()))
		}
	}
	x.Duration = clock.Now() - begin
	if err := k.end(ctx, x.Messages); err != nil {
		return err
	}
	if err := x.judge(messages, memory); err != nil {
		return err
	}
	if n, has := collections(b.Language, k.done); has && n < leakCollections {
		x.Grows, x.Undecided = false, fmt.Sprintf("its runtime collected garbage %d times only: watch for longer", n)
	}
	return nil
}

// leakCollections are needed before growth is no garbage that waits for its collection.
const leakCollections = 5

// collections is how often a runtime has collected all garbage; has is false where what is not used is freed at once.
func collections(l agent.Language, d *agent.Done) (n uint64, has bool) {
	switch {
	case l == agent.Go && d.Collections != nil:
		return *d.Collections, true
	case l == agent.Node && d.FullCollections != nil:
		return *d.FullCollections, true
	}
	return 0, false
}

// judge finds the growth per message behind the warm-up.
func (x *Leak) judge(messages, memory []float64) error {
	warm := min(leakWarm, len(memory))
	slope, ok := stat.Slope(messages[warm:], memory[warm:])
	if !ok {
		return fmt.Errorf("%d readings of the memory are too few", len(memory))
	}
	x.Readings, x.First, x.Last = len(memory)-warm, uint64(memory[warm]), uint64(memory[len(memory)-1])
	x.Slope, x.Low, x.High, x.Grows = slope.Value, slope.Low, slope.High, slope.Low > 0
	return nil
}
