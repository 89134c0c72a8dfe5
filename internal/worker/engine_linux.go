package worker

import (
	"fmt"

	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/engine/loop"
	"github.com/mqlab/mqlab/internal/engine/loop/uring"
	"github.com/mqlab/mqlab/internal/plan"
)

// chooseEngine says how the share is carried out; needs is what event loops cannot do.
func chooseEngine(p *plan.Params, needs string) Facts {
	switch {
	case p.Engine == plan.EngineGoroutine:
		return Facts{Engine: plan.EngineGoroutine, Why: "asked for"}
	case needs != "":
		return Facts{Engine: plan.EngineGoroutine, Why: needs + " needs it"}
	}
	f := Facts{Engine: plan.EngineLoop, Quantum: quantum(p).String(), KernelTimestamps: true, Why: "event loops on Linux"}
	f.Send, f.SendWhy = plan.SendRing, ""
	if p.Send == plan.SendWrite {
		f.Send, f.SendWhy = plan.SendWrite, "write was asked for"
	} else if err := uring.Probe(); err != nil {
		f.Send, f.SendWhy = plan.SendWrite, err.Error()
	}
	return f
}

func makeLoops(f Facts, p *plan.Params, settings func(n int) engine.Settings, d engine.Dialer) ([]shard, error) {
	if f.Send != plan.SendRing && p.Send == plan.SendRing {
		return nil, fmt.Errorf("engine.send: io_uring was asked for, and does not work here: %s: use auto or write", f.SendWhy)
	}
	cfg := loop.Config{Quantum: quantum(p), KernelTime: f.KernelTimestamps, Ring: f.Send == plan.SendRing}
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
