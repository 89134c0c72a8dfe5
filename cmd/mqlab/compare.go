package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mqlab/mqlab/internal/capacity"
	"github.com/mqlab/mqlab/internal/report"
	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/summary"
)

func newCompare() *cobra.Command {
	var format string
	var anyHost bool
	cmd := &cobra.Command{
		Use:   "compare RUN RUN…",
		Short: "compare runs: what differs besides, and whether the results do",
		Long: `Compare runs by the statistics that are used within a run. A subject that
several runs have is compared with itself; where no subject is in two runs, all
of one load are compared with each other. What differs besides the results
(host, versions, configuration, parameters) is shown first. Two runs of clients
are compared library by library, with the same payload and QoS; two of clients
that wait are put side by side.

Exit codes: 0 compared, 1 failed, 2 usage, 4 not comparable: another load,
guarantee or machine, or nothing valid; the reason is told.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usageError("two runs or more are needed; see %s --help", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(report.AcrossFormats, format) {
				return usageError("unknown format %q: there are %s", format, strings.Join(report.AcrossFormats, ", "))
			}
			var opened []*run.Run
			for _, dir := range args {
				r, err := openRun(dir)
				if err != nil {
					return err
				}
				opened = append(opened, r)
			}
			out := cmd.OutOrStdout()
			if is, err := compareClients(out, format, opened, anyHost); is {
				return err
			}
			if is, err := compareIdle(out, format, opened, anyHost); is {
				return err
			}
			var runs []*summary.Summary
			for _, r := range opened {
				runs = append(runs, summary.Of(r))
			}
			a, err := summary.CompareRuns(runs, anyHost)
			if err != nil {
				return exitError{exitInvalid, notComparable(err)}
			}
			changes, err := capacityChanges(opened, runs)
			if err != nil {
				return err
			}
			return report.WriteAcross(out, format, a, report.Options{Color: colours(out), Changes: changes})
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "one of "+strings.Join(report.AcrossFormats, ", "))
	cmd.Flags().BoolVar(&anyHost, "across-hosts", false, "compare runs of different machines, too")
	return cmd
}

// capacityChanges compares the searches of every later run with those of the first; nil where a run is none.
func capacityChanges(runs []*run.Run, summaries []*summary.Summary) (all []capacity.Change, err error) {
	var first []capacity.Result
	for i, r := range runs {
		found, err := capacity.Of(summaries[i], &r.Manifest.Plan)
		if err != nil || found == nil {
			return nil, err
		}
		if i == 0 {
			first = found
			continue
		}
		all = append(all, capacity.Changes(first, found, [2]string{"A", string(rune('A' + i))})...)
	}
	return all, nil
}

// notComparable puts every reason on one line.
func notComparable(err error) error {
	reasons := lines(err.Error())
	return errors.New("not comparable: " + strings.Join(reasons, fmt.Sprintln()+"not comparable: "))
}
