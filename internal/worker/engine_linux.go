package worker

import (
	"time"

	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/engine/loop"
	"github.com/mqlab/mqlab/internal/plan"
)

// preciseBelow is the rate per second up to which the automatic quantum is precise: more wake-ups cost more than they tell.
const preciseBelow = 2000

const coarseQuantum = 100 * time.Microsecond

// chooseEngine says how the share is carried out; needs is what event loops cannot do.
func chooseEngine(p *plan.Params, needs string) Facts {
	switch {
	case p.Engine == plan.EngineGoroutine:
		return Facts{Engine: plan.EngineGoroutine, Why: "asked for"}
	case needs != "":
		return Facts{Engine: plan.EngineGoroutine, Why: needs + " needs it"}
	}
	return Facts{Engine: plan.EngineLoop, Quantum: quantum(p).String(), KernelTimestamps: true, Why: "event loops on Linux"}
}

// quantum returns how finely the schedule is kept; 0 = precise.
func quantum(p *plan.Params) time.Duration {
	if d, err := time.ParseDuration(p.Quantum); err == nil {
		return d
	}
	if p.Quantum != plan.QuantumPrecise && (p.RatePerS == 0 || max(p.RatePerS, p.RampToPerS) > preciseBelow) {
		return coarseQuantum
	}
	return 0
}

func makeLoops(f Facts, p *plan.Params, settings func(n int) engine.Settings, d engine.Dialer) ([]shard, error) {
	cfg := loop.Config{Quantum: quantum(p), KernelTime: f.KernelTimestamps}
	var shards []shard
	for n := range f.Loops {
		l, err := loop.New(cfg, settings(n), d)
		if err != nil {
			return nil, err
		}
		shards = append(shards, newShard(l, l.Core))
	}
	return shards, nil
}
