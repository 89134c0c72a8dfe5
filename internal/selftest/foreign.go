package selftest

import (
	"context"
	"errors"
	"net/url"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/faulty"
	"github.com/mqlab/mqlab/internal/plan"
)

// foreignBroker measures a broker of other people behind a relay with known faults. Neither shares the lab's protocol code,
// so that an error on both sides of that cannot hide.
func foreignBroker(ctx context.Context, t *tester, c column) ([]reading, error) {
	if c.protocol == plan.NATS {
		return nil, nil // the relay speaks MQTT
	}
	trial := t.trial(c, burst)
	trial.Subject = plan.Subject{Name: "mochi", Broker: "mochi", Variant: broker.AsShipped, Protocol: c.protocol, Runtime: broker.Embedded}
	b, err := broker.Start(ctx, trial.Subject, broker.Options{Guard: t.Guard})
	if err != nil {
		return nil, err
	}
	out, truth, err := measureRelayed(ctx, trial, b.URL)
	if err = errors.Join(err, b.Stop(context.WithoutCancel(ctx))); err != nil {
		return nil, err
	}
	n := out.Counts
	readings := []reading{
		number("relay: lost or damaged", 2*eachKind, n.Lost),
		number("relay: damaged", eachKind, n.Corrupt),
		number("relay: twice", eachKind, n.Duplicates),
		number("relay: swapped", eachKind, n.Reordered),
	}
	want := faulty.RelayTruth{Packets: burstMessages, Lost: eachKind, Repeated: eachKind, Deferred: eachKind, Damaged: eachKind}
	if truth != want {
		return readings, errors.New("the relay did not do what it was told")
	}
	return readings, out.recounted()
}

func measureRelayed(ctx context.Context, t plan.Trial, target string) (*outcome, faulty.RelayTruth, error) {
	u, err := url.Parse(target)
	if err != nil {
		return nil, faulty.RelayTruth{}, err
	}
	relay := faulty.NewRelay(u.Host, faulty.RelayPlan{
		Seed: t.Seed, Payload: t.Params.PayloadBytes,
		Faults: spread(faulty.Fault{Kind: faulty.Lose}, faulty.Fault{Kind: faulty.Repeat}, faulty.Swap, faulty.Fault{Kind: faulty.Corrupt}),
	})
	addr, stop, err := relay.Listen()
	if err != nil {
		return nil, faulty.RelayTruth{}, err
	}
	passed := func(sent, arrived uint64) bool {
		truth := relay.Truth()
		return truth.Packets >= sent && truth.Packets-truth.Lost+truth.Repeated <= arrived
	}
	out, err := measure(ctx, t, "mqtt://"+addr, func(int64) {}, passed)
	return out, relay.Truth(), errors.Join(err, stop())
}
