//go:build !linux

package worker

import (
	"errors"

	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/plan"
)

// chooseEngine says how the share is carried out.
func chooseEngine(*plan.Params, string) Facts {
	return Facts{Engine: plan.EngineGoroutine, Why: "event loops need Linux"}
}

func makeLoops(Facts, *plan.Params, func(n int) engine.Settings, engine.Dialer) ([]shard, error) {
	return nil, errors.New("event loops need Linux: use engine goroutine")
}
