package linktest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/link"
)

// mover carries probes through a network, in both directions at once.
type mover interface {
	kind() string
	// delays sends probes over a link without rate and returns each one's delay by its number, or missing.
	delays(ctx context.Context, p link.Profile, o Options) (up, down []time.Duration, err error)
	// flood fills the links that have a rate, for a time, and returns what arrived.
	flood(ctx context.Context, p link.Profile, lasts time.Duration) (up, down []arrival, err error)
	close() error
}

// Run tests a network that has profile p, which must carry nothing else meanwhile, in 10 to 20 seconds. It is left as it was
// configured; but what it draws by chance has moved on, so that what is to have the same losses as something else needs a network of its own.
// An error is that of a test that could not be made.
func Run(ctx context.Context, n Network, p link.Profile, o Options) (r *Report, err error) {
	o = o.filled()
	start := clock.Now()
	r = &Report{Backend: n.Facts().Backend, Untested: unprobed(p)}
	overrunBefore := overrun(n)
	defer func() {
		err = errors.Join(err, n.Change(p.Up, p.Down))
	}()
	if err := n.Change(link.Params{}, link.Params{}); err != nil {
		return r, err
	}
	m, err := newMover(ctx, n)
	if err != nil {
		return r, fmt.Errorf("probes of the link: %w", err)
	}
	defer func() { err = errors.Join(err, m.close()) }()
	r.Probes = m.kind()
	if err := r.delays(ctx, n, m, p, o); err != nil {
		return r, fmt.Errorf("probes of the link: %w", err)
	}
	if err := r.rates(ctx, n, m, p, o); err != nil {
		return r, fmt.Errorf("probes of the link: %w", err)
	}
	r.Late = n.Facts().Late
	r.Overrun = overrun(n) - overrunBefore
	r.Took = time.Duration(clock.Now() - start)
	r.judge(p)
	return r, nil
}

func overrun(n Network) uint64 {
	up, down := n.Counters()
	return up.Overrun.Packets + down.Overrun.Packets
}

// delays checks what happens on the way. Without order, which would make delays depend on how close probes follow each other.
func (r *Report) delays(ctx context.Context, n Network, m mover, p link.Profile, o Options) error {
	bare := link.Profile{Name: p.Name, Up: travelOnly(p.Up), Down: travelOnly(p.Down)}
	if err := n.Change(bare.Up, bare.Down); err != nil {
		return err
	}
	up, down, err := m.delays(ctx, bare, o)
	if err != nil {
		return err
	}
	for way, got := range [][]time.Duration{link.Up: up, link.Down: down} {
		way := link.Direction(way)
		r.Checks = append(r.Checks, checkDelays(way, bare.Params(way), o.Tolerance, got)...)
		if m.kind() == datagrams {
			r.Checks = append(r.Checks, checkLosses(way, bare.Params(way), got)...)
		}
	}
	return flush(n)
}

func travelOnly(p link.Params) link.Params {
	p.Rate, p.OverheadBytes, p.QueueBytes, p.Order = 0, 0, 0, ""
	p.Duplicate, p.Corrupt, p.FixChecksum = 0, 0, false
	return p
}

// unprobed names what no probe tells.
func unprobed(p link.Profile) (all []string) {
	for _, way := range []link.Direction{link.Up, link.Down} {
		of := p.Params(way)
		for _, option := range []struct {
			name string
			is   bool
		}{{"duplicate", of.Duplicate > 0}, {"corrupt", of.Corrupt > 0}, {"correlation", of.Correlation > 0}, {"loss_correlation", of.LossCorrelation > 0}} {
			if option.is {
				all = append(all, fmt.Sprintf("%s %s: not probed", way, option.name))
			}
		}
	}
	return all
}

// flush empties the link.
func flush(n Network) error { return errors.Join(n.Down(true), n.Down(false)) }

// fastest is the rate from which on probes cannot fill a link.
const fastest = 200_000_000

// shortest is the queue that probes can keep full, longest the one that a test has time for.
const (
	shortest = 20 * time.Millisecond
	longest  = 10 * time.Second
)

// room is how long a probe waits that comes when the queue is all but full.
func room(p link.Params, size int) time.Duration {
	if p.Mode == link.NetEm {
		return time.Duration(p.QueueLimit()) * p.AirTime(size)
	}
	return time.Duration(float64(p.Queue()) * 8e9 / float64(p.Rate))
}

// rates checks what a full link carries, where a direction has a rate.
func (r *Report) rates(ctx context.Context, n Network, m mover, p link.Profile, o Options) error {
	full := link.Profile{Name: p.Name}
	var tested [2]bool
	for way, to := range []*link.Params{link.Up: &full.Up, link.Down: &full.Down} {
		way := link.Direction(way)
		of := p.Params(way)
		switch {
		case of.Rate > fastest:
			r.Untested = append(r.Untested, fmt.Sprintf("%s %s: faster than probes can fill, %d kbit/s", way, Rate, fastest/1000))
		case of.Rate > 0:
			tested[way] = true
			*to = rateOnly(of)
		}
	}
	if !tested[link.Up] && !tested[link.Down] {
		return nil
	}
	if err := n.Change(full.Up, full.Down); err != nil {
		return err
	}
	up, down, err := m.flood(ctx, full, o.Full)
	if err != nil {
		return err
	}
	for way, got := range [][]arrival{link.Up: up, link.Down: down} {
		if way := link.Direction(way); tested[way] {
			r.rate(way, p.Params(way), full.Params(way), o, m, got)
		}
	}
	return flush(n)
}

// rate adds the checks of one direction.
func (r *Report) rate(way link.Direction, want, tested link.Params, o Options, m mover, got []arrival) {
	checks := checkRate(way, tested, o.Tolerance, got)
	switch {
	case len(checks) == 0:
		r.Why = append(r.Why, fmt.Sprintf("%s %s: only %d probes arrived", way, Rate, len(got)))
	case m.kind() != datagrams:
		r.Untested = append(r.Untested, fmt.Sprintf("%s %s: streams wait instead", way, Queue))
		checks = checks[:1]
	case room(tested, floodSize(tested, o.Full)) > longest:
		r.Untested = append(r.Untested, fmt.Sprintf("%s %s: longer than %v", way, Queue, longest))
		checks = checks[:1]
	case tested.Queue() != want.Queue():
		r.Untested = append(r.Untested, fmt.Sprintf("%s %s: shorter than %v", way, Queue, shortest))
		checks = checks[:1]
	}
	r.Checks = append(r.Checks, checks...)
}

func rateOnly(p link.Params) link.Params {
	q := link.Params{Rate: p.Rate, OverheadBytes: p.OverheadBytes, QueueBytes: p.QueueBytes, Mode: p.Mode, QueuePackets: p.QueuePackets}
	if least := int(float64(p.Rate) / 8 * shortest.Seconds()); q.Mode != link.NetEm && q.Queue() < least {
		q.QueueBytes = least
	}
	return q
}

// tail is how long after the last probe none can still come.
func tail(p link.Params) time.Duration {
	spread := map[link.Distribution]time.Duration{link.Normal: 7, link.Pareto: 13, link.ParetoNormal: 12}[p.Distribution]
	return p.Delay + max(spread, 1)*p.Jitter + 100*time.Millisecond
}

// settle waits until nothing is in flight any more.
func settle(ctx context.Context, n Network, p link.Profile) error {
	limit := time.After(max(tail(p.Up), tail(p.Down)))
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-limit:
			return nil
		case <-time.After(20 * time.Millisecond): // also for what has arrived to be read
		}
		if up, down := n.Counters(); up.InFlight.Packets+down.InFlight.Packets == 0 {
			return nil
		}
	}
}
