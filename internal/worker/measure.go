package worker

import (
	"context"
	"errors"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/plan"
)

const (
	// grace is how long after the last expected message duplicates are still waited for; where nothing is acknowledged nothing is
	// sent again, and only what is on its way can come.
	grace      = 50 * time.Millisecond
	graceAcked = 250 * time.Millisecond
	// lateTime is how long after an unfinished drain late messages are still counted as late.
	lateTime = 100 * time.Millisecond
)

// Begin implements Worker.
func (w *Local) Begin(_ context.Context, start int64) error {
	ph := &w.share.Trial.Params.Phases
	w.start = start
	measure := start + int64(ph.WarmUp)
	w.each(func(s *shard, _ int64) { s.core.Begin(start, measure, measure+int64(ph.Measure)) })
	return nil
}

// Measure implements Worker.
func (w *Local) Measure(ctx context.Context) (*Result, error) {
	ph := &w.share.Trial.Params.Phases
	measure := w.start + int64(ph.WarmUp)
	end := measure + int64(ph.Measure)
	w.each(func(s *shard, _ int64) { s.core.Publish() })
	w.each(func(*shard, int64) {}) // a turn later everybody's progress tells of it
	leave := w.visits(ctx, measure, end)
	stop := w.suffer(ctx, measure)
	defer stop()

	err := w.until(ctx, measure, nil)
	spun, used := w.spun(), usage()
	if err == nil {
		err = w.until(ctx, end, nil)
	}
	spun, used = w.spun()-spun, usage().since(used)
	stopped := clock.Now()
	complete := err != nil
	if err == nil {
		err = w.until(ctx, end+int64(ph.Drain), func() bool { complete = w.drained(); return complete })
	}
	if err == nil && complete {
		err = w.until(ctx, clock.Now()+int64(w.grace()), nil)
	}
	visits := leave()
	r := w.finish(complete, func() {
		if w.sink.Team != nil && err == nil {
			w.sink.Team.Closed(ctx)
		}
	})
	r.Spun, r.Used, r.Visits = spun, used, visits
	r.Measured = time.Duration(max(min(stopped, end)-measure, 0))
	return r, err
}

// visits lets visitors come and leave. The function that it returns waits for the last of them and tells what became of all; nil =
// there were none.
func (w *Local) visits(ctx context.Context, measure, end int64) (leave func() *Visits) {
	if w.churn == nil {
		return func() *Visits { return nil }
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.churn.run(ctx, w.start, measure, end)
	}()
	return func() *Visits {
		defer cancel()
		if now := clock.Now(); now < end { // the trial ends early
			cancel()
			end = max(now, measure)
		}
		<-ended
		return w.churn.finish(w.start, measure, end, w.sink.Window)
	}
}

func (w *Local) grace() time.Duration {
	if w.share.Trial.Params.QoS > 0 {
		return graceAcked
	}
	return grace
}

// until waits for a monotonic time, or until done, or until the share cannot succeed any more.
func (w *Local) until(ctx context.Context, at int64, done func() bool) error {
	errTime := errors.New("time")
	ctx, cancel := context.WithTimeoutCause(ctx, time.Duration(at-clock.Now()), errTime)
	defer cancel()
	look := soon
	if done == nil {
		done, look = func() bool { return false }, seldom
	}
	err := w.await(ctx, look, done)
	if errors.Is(err, errTime) {
		return nil
	}
	return err
}

func (w *Local) drained() bool {
	if w.sink.Team != nil {
		return w.sink.Team.Drained(w.progress())
	}
	p := &w.share.Trial.Params
	if w.share.Publishers.Len() < p.Publishers || w.share.Subscribers.Len() < p.Subscribers {
		return false // others know the rest
	}
	return Drained(w.progress(), p)
}

// Drained tells that everything offered has been sent, answered and delivered, where p is the sum over all that carry out a
// trial and the schedule is over.
func Drained(p engine.Progress, t *plan.Params) bool {
	if p.Waiting > 0 || p.Sent < p.Offered || (t.QoS > 0 && p.Answered < p.Sent) {
		return false
	}
	return p.Delivered >= p.Sent*uint64(t.Fan())
}

// receipts lists what each subscriber received of each stream. The members of a shared subscription have theirs in common:
// it is listed as the first one's.
func (w *Local) receipts() (all []Receipt) {
	p := &w.share.Trial.Params
	for i := range w.share.Subscribers.Len() {
		if i > 0 && p.Pattern == plan.PatternShared {
			break
		}
		n := w.share.Subscribers.From + i
		first, _ := p.Streams(n)
		c := w.clients[i]
		seen := w.shards[c.shard].core.Trackers(int(c.id))
		for k := range seen {
			all = append(all, Receipt{Subscriber: n, Stream: uint32(first + k), Seen: &seen[k]})
		}
	}
	return all
}

// finish closes the books, tells that by closed, and then closes the connections.
func (w *Local) finish(complete bool, closed func()) *Result {
	r := &Result{Receipts: w.receipts(), Facts: w.facts, Ended: clock.Now()}
	w.each(func(s *shard, now int64) {
		books := s.core.CloseBooks(now)
		w.mu.Lock()
		defer w.mu.Unlock()
		r.Books = append(r.Books, books...)
	})
	closed()
	if !complete {
		time.Sleep(lateTime)
	}
	w.leaving()
	w.each(func(s *shard, _ int64) {
		tcp := totals(s)
		w.mu.Lock()
		defer w.mu.Unlock()
		r.wire(tcp)
	})
	w.leaving()
	w.each(func(s *shard, now int64) {
		w.mu.Lock()
		defer w.mu.Unlock()
		r.Connections.Add(s.core.Connections())
		r.Recovery.Add(s.core.Recovery())
		r.stages(s.core)
		s.core.Flush(now)
		s.core.Goodbye(now)
	})
	r.Members, r.TLS = w.members(), w.shakes.total()
	if !w.share.Trial.Disturbed() {
		r.Stages = nil
	}
	return r
}

// leaving tells that connections are about to be asked for their totals, or have been.
func (w *Local) leaving() {
	if w.sink.Leaving != nil {
		w.sink.Leaving()
	}
}

// stages adds how far a shard's messages came.
func (r *Result) stages(c *engine.Core) {
	final, atEnd := c.StagesNow()
	if r.Stages == nil {
		r.Stages = &Stages{Final: final, AtEnd: atEnd}
		return
	}
	r.Stages = allOf(r.Stages, &Stages{Final: final, AtEnd: atEnd})
}

// wire adds what a shard's connections carried.
func (r *Result) wire(w *Wire) {
	if w == nil {
		return
	}
	if r.TCP == nil {
		r.TCP = &Wire{}
	}
	r.TCP.Publishers.Add(w.Publishers)
	r.TCP.Subscribers.Add(w.Subscribers)
}

// members is how many messages each member of a shared subscription got; nil where nothing is shared.
func (w *Local) members() (delivered []uint64) {
	if w.share.Trial.Params.Pattern != plan.PatternShared {
		return nil
	}
	for _, c := range w.clients[:w.share.Subscribers.Len()] {
		delivered = append(delivered, w.shards[c.shard].core.Delivered(int(c.id)))
	}
	return delivered
}

func (w *Local) spun() (sum time.Duration) {
	for i := range w.shards {
		sum += w.shards[i].Spun()
	}
	return sum
}
