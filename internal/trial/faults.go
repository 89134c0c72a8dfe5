package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/plan"
)

// step is one thing done to the broker at a monotonic time.
type step struct {
	at   int64
	kind string
	do   func() error
}

// startFaults does what the plan asks to be done to the broker, in the background. The function it returns ends that, undoes what
// is still in force, and tells what could not be done.
func (j *job) startFaults(ctx context.Context) func() error {
	var steps []step
	for _, f := range j.trial.Params.Faults {
		steps = append(steps, j.stepsOf(f)...)
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- j.runSteps(ctx, steps) }()
	return func() error {
		cancel()
		return <-done
	}
}

func (j *job) stepsOf(f plan.Fault) []step {
	at := j.measure + int64(f.At)
	return []step{
		{at, "pause", j.broker.Pause},
		{at + int64(f.For), "resume", j.broker.Resume},
	}
}

// runSteps goes on with undoing (resume) when ctx has ended.
func (j *job) runSteps(ctx context.Context, steps []step) error {
	var errs []error
	paused := false
	for _, s := range steps {
		over := sleep(ctx, time.Duration(s.at-clock.Now())) != nil
		if over && (s.kind == "pause" || !paused) {
			continue
		}
		began := clock.Now() // its return may come late: the broker feels it from here on
		if err := s.do(); err != nil {
			errs = append(errs, fmt.Errorf("fault %s: %w", s.kind, err))
			continue
		}
		paused = s.kind == "pause"
		j.add(engine.Event{At: began, Kind: s.kind})
	}
	return errors.Join(errs...)
}
