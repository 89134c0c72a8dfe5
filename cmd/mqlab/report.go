package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mqlab/mqlab/internal/report"
	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/summary"
)

func newReport() *cobra.Command {
	var format, root string
	var trials bool
	cmd := &cobra.Command{
		Use:   "report [RUN]",
		Short: "show a run again, in any format (no RUN = the latest)",
		Args:  atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(report.Formats, format) {
				return usageError("unknown format %q: there are %s", format, strings.Join(report.Formats, ", "))
			}
			dir, err := runFolder(args, root)
			if err != nil {
				return err
			}
			r, err := run.Open(dir)
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			return report.Write(out, format, summary.Of(r), report.Options{Color: colours(out), Trials: trials, Dir: dir})
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "one of "+strings.Join(report.Formats, ", "))
	cmd.Flags().StringVar(&root, "out", runsDir, "folder of run folders, to find the latest in")
	cmd.Flags().BoolVar(&trials, "trials", false, "show every trial")
	return cmd
}

func runFolder(args []string, root string) (string, error) {
	if len(args) > 0 {
		return args[0], nil
	}
	dir, err := run.Latest(root)
	if err != nil {
		return "", fmt.Errorf("%w; make one with mqlab run", err)
	}
	return dir, nil
}
