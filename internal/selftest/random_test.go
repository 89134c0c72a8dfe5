package selftest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/faulty"
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
		p.Phases.Drain = time.Minute // it ends when everything has arrived, however slow the machine is
		p.Writes = pick("", plan.WritesMessage, plan.WritesBatch)
		if n%4 == 0 {
			p.Send = plan.SendWrite
		}
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

// complete checks that everything was offered and sent, and that all accounts agree. A closed loop offers what it can.
func complete(o *outcome, p *plan.Params, truth *faulty.Account) error {
	c := &o.Counts
	if due := p.RatePerS * p.Phases.Measure.Seconds(); p.Pacing == plan.PacingConstant && p.RatePerS > 0 &&
		math.Abs(float64(c.Offered)-due) > float64(p.Publishers) {
		return fmt.Errorf("offered %d, want %g", c.Offered, due)
	}
	if c.Unsent > 0 {
		return fmt.Errorf("%d messages were never sent", c.Unsent)
	}
	return o.agree(truth)
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
					err = complete(out, &trial.Params, &truth.Total)
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
