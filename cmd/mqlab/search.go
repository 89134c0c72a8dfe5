package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/mqlab/mqlab/internal/capacity"
	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/summary"
	"github.com/mqlab/mqlab/internal/trial"
)

// search carries out probes until every search has ended; the error is what stopped it before.
func (r *runner) search(ctx context.Context, lab *trial.Lab, live *live, folder *run.Writer) error {
	hunt, err := capacity.New(r.plan)
	if err != nil {
		return err
	}
	for {
		t, more := hunt.Next()
		if !more {
			return nil
		}
		lab.Enough = hunt.Watch(t).Window
		if err := r.trial(ctx, lab, live, folder, t); err != nil {
			return err
		}
		done, err := run.OpenTrial(folder.Dir(), t.ID)
		if err != nil {
			return err
		}
		hunt.Add(summary.Single(done), t.ID)
	}
}

// answered tells by the exit code whether the searches have an answer.
func answered(found []capacity.Result) error {
	open := func(r capacity.Result) bool { return r.Sustainable == nil && r.Why == "" || !r.Settled }
	i := slices.IndexFunc(found, open)
	if i < 0 {
		return nil
	}
	return exitError{exitInvalid, fmt.Errorf("no final answer: %s", found[i].Sentence())}
}
