package selftest

import (
	"fmt"

	"github.com/mqlab/mqlab/internal/faulty"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/selftest/oracle"
)

// agree compares the lab's accounts and the oracle's with what the broker did, to the message.
func (o *outcome) agree(truth *faulty.Account) error {
	want := ledger.Counts{
		Expected: truth.Routed, Received: truth.Distinct + truth.Duplicates, Delivered: truth.Distinct, Lost: truth.Missing(),
		Duplicates: truth.Duplicates, Reordered: truth.Reordered, MaxReorder: truth.MaxReorder,
		Corrupt: truth.Corrupted, Foreign: truth.Foreign,
	}
	if got := deliveries(&o.Counts); got != want {
		return fmt.Errorf("the lab counts %+v, but the broker did %+v", got, want)
	}
	return o.recounted()
}

// recounted compares the lab's accounts with the oracle's.
func (o *outcome) recounted() error {
	c, r := &o.Counts, &o.recount
	if got, want := deliveries(c), recountedDeliveries(r); got != want {
		return fmt.Errorf("the lab counts %+v, the oracle %+v", got, want)
	}
	switch {
	case r.Unknown > 0:
		return fmt.Errorf("%d messages were received that nobody sent", r.Unknown)
	case c.Sent != r.Sent || c.Acked != r.Acked:
		return fmt.Errorf("the lab counts %d sent and %d acknowledged, the oracle %d and %d", c.Sent, c.Acked, r.Sent, r.Acked)
	case c.Offered != c.Sent+c.Unsent || c.Expected != c.Delivered+c.Lost+c.UndeliveredUnsent || c.Late+c.Overflow+c.ClockSkew > 0:
		return fmt.Errorf("the sums do not come out: %+v", *c)
	}
	return o.quantiles()
}

// deliveries picks what c says of deliveries that can have happened.
func deliveries(c *ledger.Counts) ledger.Counts {
	return ledger.Counts{
		Expected: c.Expected - c.UndeliveredUnsent, Received: c.Received, Delivered: c.Delivered, Lost: c.Lost, Duplicates: c.Duplicates,
		Reordered: c.Reordered, MaxReorder: c.MaxReorder, Corrupt: c.Corrupt, Foreign: c.Foreign,
	}
}

func recountedDeliveries(r *oracle.Count) ledger.Counts {
	return ledger.Counts{
		Expected: r.Expected, Received: r.Received, Delivered: r.Delivered, Lost: r.Lost, Duplicates: r.Duplicates,
		Reordered: r.Reordered, MaxReorder: r.MaxReorder, Corrupt: r.Corrupt, Foreign: r.Foreign,
	}
}

// quantiles compares percentiles with the oracle's: a histogram of three digits may say up to 0.1 % more.
func (o *outcome) quantiles() error {
	for _, q := range []float64{0.5, 0.99} {
		exact, known := o.recount.Response(q)
		got, found := o.response(q)
		if known != found || known && (got < exact || got > exact+exact/1000+1) {
			return fmt.Errorf("response p%g is %d ns (known: %v), by the oracle %d ns (known: %v)", 100*q, got, found, exact, known)
		}
	}
	return nil
}

// response is the q-quantile as the lab's reports have it, over the deliveries that can have happened.
func (o *outcome) response(q float64) (ns int64, ok bool) {
	h := o.Hists[ledger.Response]
	if h == nil {
		return 0, false
	}
	return h.QuantileOf(q, int64(o.Counts.Expected-o.Counts.UndeliveredUnsent))
}
