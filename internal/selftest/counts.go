package selftest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mqlab/mqlab/internal/faulty"
	"github.com/mqlab/mqlab/internal/plan"
)

// eachKind is how many messages have a fault of each kind.
const eachKind = 10

// spread returns the faults of n messages in a row, each kind eachKind times, far enough from each other not to meet.
func spread(kinds ...faulty.Fault) map[uint64]faulty.Fault {
	faults := map[uint64]faulty.Fault{}
	for i := range uint64(eachKind * len(kinds)) {
		faults[10+20*i] = kinds[i%uint64(len(kinds))]
	}
	return faults
}

func burst(p *plan.Params) {
	p.RatePerS, p.Phases.Measure, p.PayloadBytes = 2500, 400*time.Millisecond, 256
}

const burstMessages = 1000

// messageFaults measures a broker that loses, repeats, swaps, damages and adds messages.
func messageFaults(ctx context.Context, t *tester, c column) ([]reading, error) {
	faults := spread(faulty.Fault{Kind: faulty.Lose}, faulty.Fault{Kind: faulty.Repeat}, faulty.Swap,
		faulty.Fault{Kind: faulty.Corrupt}, faulty.Fault{Kind: faulty.Foreign})
	out, truth, err := measureFaulty(ctx, t.trial(c, burst), faulty.Plan{Seed: uint64(t.trials.Load()), Faults: faults})
	if err != nil {
		return nil, err
	}
	n := out.Counts
	return []reading{
		number("faults: sent", burstMessages, n.Sent),
		number("faults: lost or damaged", 2*eachKind, n.Lost),
		number("faults: damaged", eachKind, n.Corrupt),
		number("faults: twice", eachKind, n.Duplicates),
		number("faults: swapped", eachKind, n.Reordered),
		number("faults: of another run", eachKind, n.Foreign),
	}, out.agree(&truth.Total)
}

// lateSubscription measures a broker that begins and confirms subscriptions late: a message sent earlier would be lost.
func lateSubscription(ctx context.Context, t *tester, c column) ([]reading, error) {
	const late = 300 * time.Millisecond
	out, truth, err := measureFaulty(ctx, t.trial(c, func(p *plan.Params) {
		p.RatePerS, p.Phases.Measure = 1000, 200*time.Millisecond
	}), faulty.Plan{LateSubscription: late})
	if err != nil {
		return nil, err
	}
	waited := "no"
	if truth.FirstPublished >= truth.Confirmed {
		waited = "yes"
	}
	return []reading{
		{name: "late subscription: waited", expected: "yes", measured: waited, ok: waited == "yes" && out.connectingTook >= late},
		number("late subscription: lost", 0, out.Counts.Lost),
	}, out.agree(&truth.Total)
}

// noAcks measures a broker that acknowledges nothing: exactly the window leaves, all of it stays unconfirmed, and the rest
// of what was offered is counted as never sent.
func noAcks(ctx context.Context, t *tester, c column) ([]reading, error) {
	if c.protocol == plan.NATS {
		return nil, nil // it has no acknowledgements
	}
	const window, rate, offered = 20, 500, 100
	l, err := startFaulty(c.protocol, faulty.Plan{}, false)
	if err != nil {
		return nil, err
	}
	out, err := measure(ctx, t.trial(c, func(p *plan.Params) {
		p.RatePerS, p.QoS, p.Window = rate, 1, window
		p.Phases.Measure, p.Phases.Drain = 200*time.Millisecond, 200*time.Millisecond
	}), l.url, l.setZero, nil)
	truth := l.truth()
	if err = errors.Join(err, l.stop()); err != nil {
		return nil, err
	}
	n := out.Counts
	if n.Acked+n.Refused > 0 {
		return nil, fmt.Errorf("%d messages were acknowledged by a broker that never does", n.Acked+n.Refused)
	}
	return []reading{
		number("no acks, window 20: sent", window, n.Sent),
		number("no acks: unconfirmed", window, n.Unconfirmed),
		number("no acks: never sent", offered-window, n.Unsent),
	}, out.agree(&truth.Total)
}
