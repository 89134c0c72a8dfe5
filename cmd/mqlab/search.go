package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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
	before, err := run.Open(folder.Dir())
	if err != nil {
		return err
	}
	for i := range before.Trials { // of a search that is gone on with
		hunt.Add(summary.Single(&before.Trials[i]), before.Trials[i].Trial.ID)
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

const resumeFlag = "resume"

// resumed is the run of a search that is gone on with, by the plan that its folder holds.
func resumed(cmd *cobra.Command, args []string, dir string) (*runner, error) {
	alone := []string{resumeFlag, "json", "metrics"}
	var other string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains(alone, f.Name) {
			other = f.Name
		}
	})
	switch {
	case len(args) > 0:
		return nil, usageError("--resume goes on with what was planned: leave out %s", args[0])
	case other != "":
		return nil, usageError("--resume goes on with what was planned: leave out --%s", other)
	}
	r, err := run.Open(dir)
	if err != nil {
		return nil, usageError("--resume: %w", err)
	}
	if r.Manifest.Plan.Search == nil {
		return nil, usageError("--resume is for searches: run %s was planned without", r.Manifest.Scenario)
	}
	return &runner{plan: &r.Manifest.Plan, resume: dir, judge: new(judge), stderr: cmd.ErrOrStderr()}, nil
}

// answered tells by the exit code whether the searches have an answer.
func answered(found []capacity.Result) error {
	i := slices.IndexFunc(found, func(r capacity.Result) bool { return !r.Answered() })
	if i < 0 {
		return nil
	}
	return exitError{exitInvalid, fmt.Errorf("no final answer: %s", found[i].Sentence())}
}
