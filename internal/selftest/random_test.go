package selftest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/faulty"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/stamp"
)

// randomTrial draws a short trial and the faults of its broker.
func randomTrial(n int) (plan.Trial, faulty.Plan) {
	rng := rand.New(rand.NewPCG(uint64(n), 2))
	pick := func(words ...string) string { return words[rng.IntN(len(words))] }
	engine := plan.EngineLoop
	if n%2 == 1 || runtime.GOOS != "linux" {
		engine = plan.EngineGoroutine
	}
	protocol := pick(plan.MQTT5, plan.MQTT311, plan.NATS)
	t := trialOf(n+1, engine, protocol, func(p *plan.Params) {
		p.Loops = 1 + rng.IntN(2)
		p.RatePerS, p.Phases.Measure = 20_000, 10*time.Millisecond
		p.Pacing = pick(plan.PacingConstant, plan.PacingPoisson)
		if rng.IntN(2) == 0 {
			p.Phases.WarmUp = 3 * time.Millisecond
		}
		p.Pattern = pick(plan.PatternPairs, plan.PatternFanin, plan.PatternFanout)
		p.Publishers = 1 + rng.IntN(3)
		switch p.Pattern {
		case plan.PatternPairs:
			p.Subscribers = p.Publishers
		case plan.PatternFanout:
			p.Subscribers = 1 + rng.IntN(3)
		}
		if protocol != plan.NATS {
			p.QoS = uint8(rng.IntN(3))
			p.Window = 1 + rng.IntN(200)
		}
		p.PayloadBytes = stamp.Size + rng.IntN(300)
		if rng.IntN(3) == 0 {
			p.PayloadForm, p.PayloadBytes = plan.PayloadJSON, stamp.JSONSize+rng.IntN(300)
		}
		if rng.IntN(5) == 0 && p.QoS > 0 {
			p.RatePerS, p.Window = 0, 1+rng.IntN(4)
		}
	})
	return t, randomFaults(rng)
}

func randomFaults(rng *rand.Rand) faulty.Plan {
	f := faulty.Plan{Seed: rng.Uint64(), Faults: map[uint64]faulty.Fault{}}
	if rng.IntN(2) == 0 {
		f.Delay.Max = time.Duration(rng.IntN(3)) * time.Millisecond
		f.Delay.Overtake = rng.IntN(2) == 0
	}
	if rng.IntN(4) == 0 {
		f.Stalls = []faulty.Stall{{At: time.Duration(rng.IntN(8)) * time.Millisecond, For: time.Duration(1+rng.IntN(5)) * time.Millisecond}}
	}
	kinds := []faulty.Kind{faulty.Lose, faulty.Corrupt, faulty.Repeat, faulty.Defer, faulty.Foreign}
	share := rng.Float64() * 0.3
	for ordinal := range uint64(600) {
		if rng.Float64() < share {
			f.Faults[ordinal] = faulty.Fault{Kind: kinds[rng.IntN(len(kinds))], By: rng.IntN(10)}
		}
	}
	return f
}

// checkAccounts compares the lab's accounts and the oracle's with the truth.
func checkAccounts(o *outcome, truth *faulty.Account) error {
	want := ledger.Counts{
		Expected: truth.Routed, Received: truth.Distinct + truth.Duplicates, Delivered: truth.Distinct, Lost: truth.Missing(),
		Duplicates: truth.Duplicates, Reordered: truth.Reordered, MaxReorder: truth.MaxReorder,
		Corrupt: truth.Corrupted, Foreign: truth.Foreign,
	}
	c, r := o.Counts, &o.recount
	got := ledger.Counts{
		Expected: c.Expected, Received: c.Received, Delivered: c.Delivered, Lost: c.Lost, Duplicates: c.Duplicates,
		Reordered: c.Reordered, MaxReorder: c.MaxReorder, Corrupt: c.Corrupt, Foreign: c.Foreign,
	}
	recount := ledger.Counts{
		Expected: r.Expected, Received: r.Received, Delivered: r.Delivered, Lost: r.Lost, Duplicates: r.Duplicates,
		Reordered: r.Reordered, MaxReorder: r.MaxReorder, Corrupt: r.Corrupt, Foreign: r.Foreign,
	}
	switch {
	case got != want:
		return fmt.Errorf("the lab counts\n %+v\nbut the broker did\n %+v", got, want)
	case recount != want:
		return fmt.Errorf("the oracle counts\n %+v\nbut the broker did\n %+v", recount, want)
	case r.Unknown > 0:
		return fmt.Errorf("%d messages were received that nobody sent", r.Unknown)
	case c.Offered != r.Sent || c.Sent != r.Sent || c.Unsent != 0 || c.Acked != r.Acked || c.Late != 0 || c.Overflow != 0:
		return fmt.Errorf("the oracle counts %d sent, %d acked, the lab\n %+v", r.Sent, r.Acked, c)
	}
	return checkQuantiles(o)
}

// checkQuantiles compares percentiles with the oracle's: a histogram of three digits may say up to 0.1 % more.
func checkQuantiles(o *outcome) error {
	for _, q := range []float64{0.5, 0.99} {
		exact, ok := o.recount.Response(q)
		h := o.Hists[ledger.Response]
		if h == nil {
			if ok {
				return fmt.Errorf("p%g: no histogram", 100*q)
			}
			continue
		}
		got, found := h.QuantileOf(q, int64(o.Counts.Expected))
		if ok != found || ok && (got < exact || got > exact+exact/1000+1) {
			return fmt.Errorf("response p%g is %d (%v), by the oracle %d (%v)", 100*q, got, found, exact, ok)
		}
	}
	return nil
}

// TestRandomFaultPlans measures brokers with random known faults through both engines, several at a time: every count
// must be the truth to the message, and the oracle must agree.
func TestRandomFaultPlans(t *testing.T) {
	plans := 1000
	if testing.Short() || raceDetector {
		plans = 100
	}
	next := make(chan int)
	var wg sync.WaitGroup
	for range 24 {
		wg.Go(func() {
			for n := range next {
				trial, faults := randomTrial(n)
				out, truth, err := measureFaulty(context.Background(), trial, faults)
				if err == nil {
					err = checkAccounts(out, &truth.Total)
				}
				if err != nil {
					p := &trial.Params
					t.Errorf("plan %d (%s, %s, QoS %d, %s %d to %d, %s, window %d): %v", n, p.Engine, trial.Subject.Protocol, p.QoS,
						p.Pattern, p.Publishers, p.Subscribers, p.PayloadForm, p.Window, err)
				}
			}
		})
	}
	for n := range plans {
		next <- n
	}
	close(next)
	wg.Wait()
}
