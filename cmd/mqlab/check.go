package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/mqlab/mqlab/internal/check"
	"github.com/mqlab/mqlab/internal/report"
)

func newCheck() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "are these results consistent? (a table of any tool)",
		Long: `Check a table of benchmark results, published or your own, for figures that
cannot all be true: more received than sent, percentiles out of order, a mean
outside of its range, more samples than messages, rates that contradict counts,
losses that contradict both, shifted columns, averaged percentiles. FILE is CSV
with a header line, or JSON; - reads standard input. Columns are known by their
names (sent, received, loss_pct, lat_p99_ms, …).

Exit codes: 0 no contradiction, 2 no such table, 4 contradictions; each is told
with its row, its columns and the likely cause.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError("one file is needed; see %s --help", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			table, err := readTable(cmd.InOrStdin(), args[0])
			if err != nil {
				return usageError("%s: %w", args[0], err)
			}
			result := check.Check(table)
			if len(result.Checked) == 0 {
				return usageError("%s: no column is known by its name; there should be some like sent, received, rate, min, p50, p99 or max", args[0])
			}
			out := cmd.OutOrStdout()
			if asJSON {
				err = report.WriteJSON(out, result)
			} else {
				result.Print(out, args[0], func(head, text string) { printWrapped(out, head, text, terminalWidth(out)) })
			}
			if err == nil && len(result.Findings) > 0 {
				err = exitError{exitInvalid, fmt.Errorf("%s: %s", args[0], result.Verdict())}
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// readTable reads a file, or standard input for -.
func readTable(stdin io.Reader, name string) (*check.Table, error) {
	in := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, plainly(err)
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, check.MaxBytes+1))
	if err != nil {
		return nil, plainly(err)
	}
	if len(data) > check.MaxBytes {
		return nil, fmt.Errorf("larger than %d MiB", check.MaxBytes>>20)
	}
	return check.Read(data)
}

// plainly leaves out the call and the path of an error about a file.
func plainly(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
