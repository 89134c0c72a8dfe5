package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/mqlab/mqlab/internal/capacity"
	"github.com/mqlab/mqlab/internal/gate"
	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/netns"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/report"
	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/scrape"
	"github.com/mqlab/mqlab/internal/summary"
	"github.com/mqlab/mqlab/internal/trial"
)

// runsDir is where run folders go.
const runsDir = "runs"

func newRun() *cobra.Command {
	var flags planFlags
	var out string
	var asJSON bool
	var gates gateFlags
	var metrics, resume string
	cmd := &cobra.Command{
		Use:   "run [SCENARIO]",
		Short: "measure: carry out a scenario (built-in, or a file) and report",
		Long: `Carry out a scenario and report. Without a scenario: the quick comparison of the
embedded brokers and whatever is installed.

Exit codes: 0 done, 1 failed, 2 usage or bad scenario, 3 a limit was missed,
4 not valid or a limit could not be decided, 130 interrupted (what was measured
so far is kept and reported).`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if resume != "" {
				r, err := resumed(cmd, args, resume)
				if err != nil {
					return err
				}
				return r.run(cmd.Context(), cmd.OutOrStdout(), asJSON)
			}
			s, err := flags.load(cmd, args)
			if err != nil {
				return err
			}
			p, err := s.resolve(cmd.Context())
			if err != nil {
				return err
			}
			limits, err := planned(s.Scenario, p)
			if err != nil {
				return err
			}
			judge, err := gates.ready(limits)
			if err != nil {
				return err
			}
			if err := rootless(p); err != nil {
				return err
			}
			r := &runner{plan: p, source: s.text, out: out, judge: judge, address: metrics, stderr: cmd.ErrOrStderr()}
			return r.run(cmd.Context(), cmd.OutOrStdout(), asJSON)
		},
	}
	cmd.AddCommand(newRunClients(), newRunJitter())
	flags.register(cmd)
	gates.register(cmd)
	cmd.Flags().StringVar(&metrics, "metrics", "", "show the run to Prometheus at `:PORT` while it goes on (of this host only, unless HOST:PORT)")
	cmd.Flags().StringVar(&out, "out", runsDir, "folder that the run's folder is made in")
	cmd.Flags().StringVar(&resume, resumeFlag, "", "go on with the search of the `RUN` folder, where it was stopped or killed")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// runner carries out a plan.
type runner struct {
	plan   *plan.Plan
	source string
	out    string
	resume string // a run folder to go on with; "" = a new one
	judge  *judge
	stderr io.Writer

	address string          // of the metrics; "" = none
	metrics *scrape.Metrics // nil = none
}

func (r *runner) run(ctx context.Context, stdout io.Writer, asJSON bool) (err error) {
	if err := checkHost(r.plan); err != nil {
		return err
	}
	g, err := guard.Start()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	m := run.Manifest{
		ID: run.NewID(), Scenario: r.plan.Scenario, Source: r.source, Seed: r.plan.Seed, Started: time.Now().UTC(),
		Command: commandLine(os.Args), Host: describeHost(), Plan: *r.plan,
	}
	if r.address != "" {
		r.metrics = scrape.New(m.ID, m.Scenario, r.plan.Estimate().Trials)
		stop, err := serveMetrics(r.address, r.metrics, r.stderr)
		if err != nil {
			return err
		}
		defer stop()
	}
	folder, err := r.folder(m)
	if err != nil {
		return err
	}
	interrupted := r.trials(ctx, folder, g)
	if interrupted != nil && !errors.Is(interrupted, trial.ErrInterrupted) {
		return interrupted
	}
	return r.finish(folder, stdout, asJSON, interrupted != nil)
}

// folder is where the run is written: a new folder, or the one that is gone on with.
func (r *runner) folder(m run.Manifest) (*run.Writer, error) {
	if r.resume != "" {
		return run.Reopen(r.resume)
	}
	return run.Create(r.out, m)
}

// trials carries out the plan, then once more what a passing disturbance of this host made invalid; the error is what stopped it
// before the end.
func (r *runner) trials(ctx context.Context, folder *run.Writer, g *guard.Guard) error {
	live := newLive(r.stderr, r.plan)
	defer live.close()
	lab := &trial.Lab{Place: netns.Host, Guard: g, RunID: folder.Manifest().ID, Watch: func(w *ledger.Window) {
		live.window(w)
		r.metrics.Window(w)
	}, Say: live.say, Links: new(trial.LinkTests)}
	if r.plan.Search != nil {
		return r.search(ctx, lab, live, folder)
	}
	if err := r.series(ctx, lab, live, folder, r.plan.Trials); err != nil {
		return err
	}
	so, err := run.Open(folder.Dir())
	if err != nil {
		return err
	}
	again := replacements(summary.Of(so), r.plan.Trials)
	live.more(len(again))
	return r.series(ctx, lab, live, folder, again)
}

func (r *runner) series(ctx context.Context, lab *trial.Lab, live *live, folder *run.Writer, trials []plan.Trial) error {
	for _, t := range trials {
		if err := r.trial(ctx, lab, live, folder, t); err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) trial(ctx context.Context, lab *trial.Lab, live *live, folder *run.Writer, t plan.Trial) error {
	out, err := folder.Trial(t.ID)
	if err != nil {
		return err
	}
	live.begin(t)
	r.metrics.Begin(t)
	record, err := lab.Run(ctx, t, out)
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("trial %d: the disk of %s is full: free some space, then run again (what was measured before is kept)", t.ID, folder.Dir())
	case err != nil:
		return err
	}
	live.end(record)
	r.metrics.End()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// replacements returns trials that measure again what was invalid in cells that were valid at other times: there the host was
// disturbed, and the cell itself can be measured. They cost at most a quarter of the plan.
func replacements(s *summary.Summary, planned []plan.Trial) []plan.Trial {
	measurable := map[int]bool{}
	for _, c := range s.Cells {
		measurable[c.Cell] = c.Valid > 0
	}
	var again []plan.Trial
	next := len(planned) + 1
	for i := range s.Trials {
		t := &s.Trials[i]
		if t.Validity != summary.Invalid || t.State != run.Finished || !measurable[t.Cell] || len(again) >= (len(planned)+3)/4 {
			continue
		}
		at := slices.IndexFunc(planned, func(p plan.Trial) bool { return p.ID == t.ID })
		if at < 0 {
			continue
		}
		p := planned[at]
		p.ID = next
		next++
		again = append(again, p)
	}
	return again
}

// finish writes the summary, shows it, and tells by the exit code whether it can be trusted.
func (r *runner) finish(folder *run.Writer, stdout io.Writer, asJSON, interrupted bool) error {
	opened, err := run.Open(folder.Dir())
	if err != nil {
		return err
	}
	s := summary.Of(opened)
	found, err := capacity.Of(s, &opened.Manifest.Plan)
	if err != nil {
		return err
	}
	g, err := r.judge.evaluate(s, found)
	if err != nil {
		return err
	}
	o := report.Options{Dir: folder.Dir(), Gate: g, Searches: found}
	if err := folder.Finish(report.Contract(s, o)); err != nil {
		return err
	}
	if err := writePage(folder.Dir(), s, opened, o); err != nil {
		return err
	}
	o.Color = colours(stdout)
	if asJSON {
		err = report.JSON(stdout, s, o)
	} else {
		err = report.Text(stdout, s, o)
	}
	switch {
	case err != nil:
		return err
	case interrupted:
		return exitError{code: exitInterrupted, err: fmt.Errorf("interrupted; what was measured is in %s", folder.Dir())}
	case found != nil:
		return answered(found)
	}
	return ended(s, g)
}

// writePage leaves the report of a run in its folder, to be opened in a browser.
func writePage(dir string, s *summary.Summary, r *run.Run, o report.Options) error {
	f, err := os.Create(filepath.Join(dir, "report.html"))
	if err != nil {
		return err
	}
	return errors.Join(writeHTML(f, s, r, o), f.Close())
}

// ended tells by the exit code what a reader must know first: nothing was measured, a limit was missed, a cell has no result, a
// limit could not be decided.
func ended(s *summary.Summary, g *gate.Gate) error {
	err, limit := verdict(s), outcome(g)
	var code exitError
	if errors.As(err, &code) && (code.code == exitFailed || g == nil || g.Result != gate.Missed) {
		return err
	}
	return limit
}

// verdict turns a summary into an exit code: a cell without a valid repetition is no result.
func verdict(s *summary.Summary) error {
	failed := 0
	for i := range s.Trials {
		if s.Trials[i].State == run.Failed {
			failed++
		}
	}
	if failed == len(s.Trials) && failed > 0 {
		return exitError{exitFailed, errors.New(s.Trials[0].Failure)}
	}
	var missing []summary.Cell
	for _, c := range s.Cells {
		if c.Valid == 0 {
			missing = append(missing, c)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return exitError{exitInvalid, fmt.Errorf("not valid: %d of %d cells have no valid repetition; %s: %s",
		len(missing), len(s.Cells), missing[0].Subject.Name, whyInvalid(s, &missing[0]))}
}

// whyInvalid is why the first trial of a cell is no result, and what was heard from the broker most often, or else what set the pace.
func whyInvalid(s *summary.Summary, c *summary.Cell) string {
	for i := range s.Trials {
		t := &s.Trials[i]
		first := slices.IndexFunc(t.Reasons, func(r summary.Reason) bool { return r.Level == summary.Invalid })
		if t.Cell != c.Cell || first < 0 {
			continue
		}
		text := t.Reasons[first].Text
		var heard []run.Failure
		if t.State != run.Failed && t.Connections != nil {
			heard = slices.Concat(t.Connections.Failures, t.Connections.Refusals)
		}
		switch b := t.Bottleneck; {
		case len(heard) > 0: // what is refused has no pace
			text += " (" + heard[0].Reason + ")"
		case b != nil && b.Kind != summary.LimitNone && b.Kind != summary.LimitUnknown:
			text += "; bottleneck: " + string(b.Kind)
		}
		return text
	}
	return "it was not measured"
}

// commandLine is what repeats the run: the program by its name.
func commandLine(args []string) []string {
	return append([]string{filepath.Base(args[0])}, args[1:]...)
}
