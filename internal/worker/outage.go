package worker

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/plan"
)

// dripEvery and dripBytes are how much gets through in an outage of kind drip: 64 bytes a second, each way.
const (
	dripEvery = 250 * time.Millisecond
	dripBytes = 16
)

// breaks are what outages do to connections here. The others are done elsewhere, and only watched.
var breaks = map[string]engine.Break{
	plan.OutageReset:     engine.Reset,
	plan.OutageBlackHole: engine.BlackHole,
	plan.OutageHalfOpen:  engine.HalfOpen,
	plan.OutageDrip:      engine.BlackHole,
}

// moment is one change of an outage, at a monotonic time.
type moment struct {
	at int64
	do func()
}

// suffer brings about the outages of the trial that are those of connections, and notes all others, in the background. The function
// that it returns ends that.
func (w *Local) suffer(ctx context.Context, measure int64) (stop func()) {
	list := w.moments(measure)
	if len(list) == 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		for _, m := range list {
			if clock.Pause(ctx, time.Duration(m.at-clock.Now())) != nil {
				return
			}
			m.do()
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

// moments are all changes, in order: outages do not overlap.
func (w *Local) moments(measure int64) (list []moment) {
	trial := &w.share.Trial
	for _, f := range trial.Params.Faults {
		at := measure + int64(f.At)
		list = append(list, w.begins(at, plan.Outage{Kind: f.Kind}), w.ends(at+int64(f.For), plan.Outage{Kind: f.Kind}))
	}
	for _, o := range trial.Outages {
		at, end := measure+int64(o.At), measure+int64(o.At+o.For)
		list = append(list, w.begins(at, o))
		if o.Kind == plan.OutageDrip {
			for t := at + int64(dripEvery); t < end; t += int64(dripEvery) {
				list = append(list, moment{t, func() {
					w.each(func(s *shard, now int64) { s.core.Drip(now, dripBytes) })
				}})
			}
		}
		list = append(list, w.ends(end, o))
	}
	return list
}

func (w *Local) begins(at int64, o plan.Outage) moment {
	publishers, subscribers := o.Hits()
	how := breaks[o.Kind]
	byLink := w.share.Trial.ByLink(&o)
	if byLink {
		how = engine.Elsewhere
	}
	return moment{at, func() {
		if publishers && !byLink {
			w.pubGate.shut(o.Kind)
		}
		if subscribers && !byLink {
			w.subGate.shut(o.Kind)
		}
		w.each(func(s *shard, now int64) {
			s.core.BeginOutage(now, engine.Outage{Break: how, Publishers: publishers, Subscribers: subscribers})
		})
	}}
}

func (w *Local) ends(at int64, o plan.Outage) moment {
	return moment{at, func() {
		w.pubGate.open()
		w.subGate.open()
		w.each(func(s *shard, now int64) { s.core.EndOutage(now) })
	}}
}

// gate is what new connections of one side pass. The zero value is open.
type gate struct {
	mu    sync.Mutex
	kind  string // of the outage; "" = open
	moved chan struct{}
}

func (g *gate) shut(kind string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if kind == plan.OutageReset || kind == plan.OutageBlackHole || kind == plan.OutageDrip {
		g.kind, g.moved = kind, make(chan struct{})
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.kind != "" {
		g.kind = ""
		close(g.moved)
	}
}

// pass returns when a connection may be made, or why not: in a reset network it is refused, in a black hole it waits.
func (g *gate) pass(ctx context.Context) error {
	g.mu.Lock()
	kind, moved := g.kind, g.moved
	g.mu.Unlock()
	switch kind {
	case "":
		return nil
	case plan.OutageReset:
		return &connectError{text: "connect: refused: outage of the network", cause: syscall.ECONNREFUSED, passing: true}
	}
	select {
	case <-moved:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("in an outage of the network: %w", ctx.Err())
	}
}
