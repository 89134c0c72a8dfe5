package main

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mqlab/mqlab/internal/capacity"
	"github.com/mqlab/mqlab/internal/gate"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/report"
	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/scenario"
	"github.com/mqlab/mqlab/internal/summary"
)

// gateFlags say what limits are checked against, and where the outcome goes besides the report.
type gateFlags struct {
	baseline string
	anyHost  bool
	junit    string
}

func (f *gateFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.baseline, "baseline", "", "`RUN` folder that limits with baseline are checked against")
	flags.BoolVar(&f.anyHost, "across-hosts", false, "the baseline may be of another machine")
	flags.StringVar(&f.junit, "junit", "", "write limits and validity as JUnit XML to `FILE`")
}

// limitUsage is the help of --limit.
const limitUsage = "what the results must keep: `LIMIT`, such as 'p99 < 5ms', 'nats: lost = 0', 'p99 not worse than baseline' (may be repeated)"

// judge is a gate that is ready: limits read, baseline opened.
type judge struct {
	gateFlags
	limits []gate.Limit
	base   *summary.Summary
}

// ready opens the baseline. Limits that refer to one need it.
func (f *gateFlags) ready(limits []gate.Limit) (*judge, error) {
	j := &judge{gateFlags: *f, limits: limits}
	if err := canWrite(f.junit); err != nil {
		return nil, usageError("--junit %s: %w", f.junit, err)
	}
	switch {
	case f.baseline != "":
		r, err := run.Open(f.baseline)
		if err != nil {
			return nil, usageError("baseline: %w", err)
		}
		j.base = summary.Of(r)
	case gate.NeedsBaseline(limits):
		i := slices.IndexFunc(limits, func(l gate.Limit) bool { return l.Baseline })
		return nil, usageError("limit %q needs a run to compare with: give --baseline RUN", limits[i].Text)
	}
	return j, nil
}

// canWrite tells before a run whether a file can be written after it, and leaves no trace; "" = no file.
func canWrite(name string) error {
	if name == "" {
		return nil
	}
	_, err := os.Lstat(name)
	isNew := errors.Is(err, fs.ErrNotExist)
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return plainly(err)
	}
	err = f.Close()
	if isNew {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}

// evaluate checks the limits, and writes the JUnit file if one is wanted.
func (j *judge) evaluate(s *summary.Summary, found []capacity.Result) (*gate.Gate, error) {
	g := gate.Evaluate(s, j.limits, gate.Options{Baseline: j.base, AnyHost: j.anyHost})
	if j.junit == "" {
		return g, nil
	}
	f, err := os.Create(j.junit)
	if err != nil {
		return g, err
	}
	return g, errors.Join(report.JUnit(f, s, g, found), f.Close())
}

// checkLimit is a limit's syntax.
func checkLimit(text string) error {
	_, err := gate.Parse(text)
	return err
}

// planned are the limits of a scenario. One for a subject that is not in the plan is an error at the place where it was written.
func planned(s *scenario.Scenario, p *plan.Plan) ([]gate.Limit, error) {
	var names []string
	for i := range p.Subjects {
		names = append(names, p.Subjects[i].Name)
	}
	var limits []gate.Limit
	var problems scenario.Errors
	for _, written := range s.Limits {
		l, err := gate.Parse(written.Text)
		if err == nil {
			err = knownSubject(l, names)
		}
		if err != nil {
			problems.Add(written.At, "limits", "%v", err)
		}
		limits = append(limits, l)
	}
	return limits, problems.Err()
}

func knownSubject(l gate.Limit, names []string) error {
	if l.Subject == "" || slices.Contains(names, l.Subject) {
		return nil
	}
	return errors.New(l.Subject + " is not among the subjects; " + scenario.Suggest(l.Subject, names))
}

// recorded are the limits that a run was made with, and those of --limit.
func recorded(r *run.Run, s *summary.Summary, more []string) ([]gate.Limit, error) {
	var names []string
	for i := range s.Cells {
		names = append(names, s.Cells[i].Subject.Name)
	}
	for i := range r.Manifest.Plan.Subjects {
		names = append(names, r.Manifest.Plan.Subjects[i].Name)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	var limits []gate.Limit
	for _, text := range slices.Concat(r.Manifest.Plan.Limits, more) {
		l, err := gate.Parse(text)
		if err == nil {
			err = knownSubject(l, names)
		}
		if err != nil {
			return nil, usageError("--limit %s: %w", text, err)
		}
		limits = append(limits, l)
	}
	return limits, nil
}

// outcome turns a gate into an exit code: a missed limit is a result, an undecidable one is none.
func outcome(g *gate.Gate) error {
	switch {
	case g == nil || g.Result == gate.Pass:
		return nil
	case g.Result == gate.Missed:
		return exitError{exitLimit, errors.New(g.Sentence())}
	}
	return exitError{exitInvalid, errors.New(g.Sentence())}
}
