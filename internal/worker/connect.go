package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/plan"
)

// Prepare implements Worker. The first connection goes alone: what is wrong with it is wrong with all.
func (w *Local) Prepare(ctx context.Context) error {
	for i := range w.shards {
		w.running.Go(func() {
			defer close(w.shards[i].ended)
			if err := w.shards[i].Run(w.ctx); err != nil {
				w.failed <- err
			}
		})
	}
	ctx, cancel := context.WithTimeoutCause(ctx, ReadyTime(&w.share.Trial.Params, int(float64(len(w.clients))/w.part())), errNotReady)
	defer cancel()
	if err := w.connect(ctx); err != nil {
		return w.unanswered(err)
	}
	w.lean()
	return nil
}

// connect dials one client after the other, and returns when all are ready.
func (w *Local) connect(ctx context.Context) error {
	p := &w.share.Trial.Params.Connect
	part := w.part()
	rate, together := p.RatePerS*part, max(int(float64(cmp.Or(p.AtOnce, usualAtOnce))*part), 1)
	began := clock.Now()
	for i, c := range w.clients {
		if err := w.await(ctx, soon, func() bool { return i-w.ready() < atOnce(i, together) }); err != nil {
			return err
		}
		at := clock.Now()
		if rate > 0 {
			at = began + int64(float64(i)/rate*1e9)
			if err := clock.Pause(ctx, time.Duration(at-clock.Now())); err != nil {
				return err
			}
		}
		s := &w.shards[c.shard]
		s.Do(func(int64) { s.Dial(int(c.id), at) })
	}
	return w.await(ctx, soon, func() bool { return w.ready() == len(w.clients) })
}

// usualAtOnce is how many connections are on their way at one time unless the scenario says otherwise: fewer than the queue of new
// connections of any broker holds.
const usualAtOnce = 64

// atOnce is how many connections may be on their way when i are dialled: one at first, then many.
func atOnce(i, most int) int {
	if i <= 1 {
		return 1
	}
	return most
}

// part is how much of the trial's connections this share holds.
func (w *Local) part() float64 {
	if w.share.Of == 0 || len(w.clients) == 0 {
		return 1
	}
	return float64(len(w.clients)) / float64(w.share.Trial.Connections())
}

// ReadyTime is how long Prepare may take for n connections of all shares together.
func ReadyTime(p *plan.Params, n int) time.Duration { return 2*p.Connect.Timeout + dialTime(p, n) }

// dialTime is how long connecting n times may take beyond the time-out of a single one.
func dialTime(p *plan.Params, n int) time.Duration {
	perSecond := 200.0 // slower than any broker of the lab on a small machine
	if p.Connect.RatePerS > 0 {
		perSecond = min(perSecond, p.Connect.RatePerS)
	}
	return time.Duration(float64(n) / perSecond * 1e9)
}

var errNotReady = errors.New("not all connections became ready in time")

// How often await looks at most. Each look wakes a processor, which beside a light load is a good part of what the generator costs.
const (
	soon   = 5 * time.Millisecond  // where what it waits for may come any time
	seldom = 50 * time.Millisecond // where only a failure would end the wait
)

// await polls until done, or until the share cannot succeed any more.
func (w *Local) await(ctx context.Context, look time.Duration, done func() bool) error {
	for wait := 50 * time.Microsecond; ; wait = min(2*wait, look) {
		if err := w.err(); err != nil {
			return err
		}
		if done() {
			return nil
		}
		if err := clock.Pause(ctx, wait); err != nil {
			if errors.Is(err, errNotReady) {
				return w.notReady()
			}
			return err
		}
	}
}

// unanswered words the end of a connection on which the first client, a subscriber, got no answer.
func (w *Local) unanswered(err error) error {
	var worded *connectError
	var op *net.OpError
	switch {
	case w.ready() > 0 || errors.As(err, &worded):
		return err
	case errors.As(err, &op) && op.Op == tlsAlert:
		return w.hear.explainTLS(err)
	case !errors.Is(err, engine.ErrClosed) && !errors.Is(err, syscall.ECONNRESET):
		return err
	}
	tls := "without TLS"
	if w.hear.tls != nil {
		tls = "within TLS"
	}
	hint := ""
	if s := &w.share.Trial.Subject; s.Encrypted() && s.TLS.CertFile == "" {
		hint = " (it may ask for a client certificate: tls.cert_file, tls.key_file)" // TLS 1.3 refuses one after the handshake, perhaps too late to be read
	}
	return fmt.Errorf("%s did not answer: %w: does that port speak %s, %s?%s", w.hear.addr, err, w.share.Trial.Subject.SubscribeProtocol(), tls, hint)
}

// Connections returns the counts so far. It may be called until Close.
func (w *Local) Connections() engine.Connections {
	var c engine.Connections
	w.each(func(s *shard, _ int64) {
		w.mu.Lock()
		defer w.mu.Unlock()
		c.Add(s.core.Connections())
	})
	return c
}

// notReady says how far Prepare came in time, and what most of the failures were; without any, the broker was silent.
func (w *Local) notReady() error {
	c := w.Connections()
	why := fmt.Sprintf("%s accepts connections, but does not answer in %s", w.hear.addr, w.share.Trial.Subject.SubscribeProtocol())
	most := 0
	for reason, n := range c.Failures {
		if n > most {
			why, most = reason, n
		}
	}
	return fmt.Errorf("%w: %d of %d: %s", errNotReady, w.ready(), len(w.clients), why)
}

func (w *Local) err() error {
	select {
	case err := <-w.failed:
		return err
	default:
	}
	for i := range w.shards {
		if err := w.shards[i].Progress().Err; err != nil {
			return err
		}
	}
	return nil
}
