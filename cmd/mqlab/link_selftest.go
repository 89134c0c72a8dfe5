package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/mqlab/mqlab/internal/link/emulate"
	"github.com/mqlab/mqlab/internal/link/linktest"
	"github.com/mqlab/mqlab/internal/report"
	"github.com/mqlab/mqlab/internal/summary"
)

func newLinkSelftest() *cobra.Command {
	var flags linkFlags
	var how linktest.Options
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "selftest [PROFILE]",
		Short: "measure whether a link does what it is told",
		Long: `Send probes over a link and print what was configured beside what was achieved,
with 95 % intervals: delay, its deviation, loss, burst length, rate, queue. It
takes 10 to 20 seconds. A run does the same before its first trial over a link.
Without PROFILE: lpwan.

Exit codes: 0 it does, 2 usage, 4 it does not.`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := "lpwan"
			if len(args) > 0 {
				name = args[0]
			}
			o, err := flags.options(name, false)
			if err != nil {
				return err
			}
			return testLink(cmd, o, how, asJSON)
		},
	}
	flags.register(cmd)
	cmd.Flags().IntVar(&how.Packets, "packets", 0, "probes each way, of delay and loss (0 = 6000)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// testLink opens a link, tests it and prints what came of it.
func testLink(cmd *cobra.Command, o emulate.Options, how linktest.Options, asJSON bool) (err error) {
	if how.Packets < 0 || how.Packets > 1_000_000 || how.Packets > 0 && how.Packets < 100 {
		return usageError("--packets %d: 100 to 1000000 are possible", how.Packets)
	}
	n, choice, err := emulate.Open(cmd.Context(), o)
	if err != nil {
		return usageError("%w", err)
	}
	defer func() {
		if broken := n.Close(); broken != nil {
			err = broken // it is the cause of what the test ran into
		}
	}()
	if choice.Backend == emulate.Toxiproxy {
		return usageError("backend toxiproxy cannot be tested: it counts no packets")
	}
	r, err := linktest.Run(cmd.Context(), n, o.Profile, how)
	if err != nil {
		if cmd.Context().Err() != nil {
			return context.Cause(cmd.Context())
		}
		return err
	}
	out := cmd.OutOrStdout()
	if asJSON {
		err = report.WriteJSON(out, struct {
			Link   any              `json:"link"`
			Choice emulate.Choice   `json:"backend"`
			Facts  any              `json:"facts"`
			Report *linktest.Report `json:"report"`
		}{o.Profile, choice, n.Facts(), r})
	} else {
		printLinkTest(out, o, choice, n, r)
	}
	if err == nil && !r.Pass {
		err = exitError{exitInvalid, fmt.Errorf("link %s does not do what it is told: %s", o.Profile.Name, r.Why[0])}
	}
	return err
}

func printLinkTest(out io.Writer, o emulate.Options, choice emulate.Choice, n emulate.Network, r *linktest.Report) {
	width := terminalWidth(out)
	printWrapped(out, "link     ", o.Profile.Name+": "+describeLink(o.Profile), width)
	f := n.Facts()
	printWrapped(out, "backend  ", fmt.Sprintf("%s (%s); TCP %s, scheduling %s", choice.Backend, choice.Why, f.CongestionControl, f.Scheduler), width)
	for _, why := range f.Why {
		printWrapped(out, "         ", why, width)
	}
	_, _ = fmt.Fprintf(out, "\n  %-5s %-10s %11s %11s  %-28s %6s\n", "way", "what", "configured", "achieved", "95 % interval", "of")
	for _, c := range r.Checks {
		mark := " "
		if !c.Pass {
			mark = "!"
		}
		interval := linkFigure(c.What, c.Interval.Low) + " to " + linkFigure(c.What, c.Interval.High)
		_, _ = fmt.Fprintf(out, "%s %-5s %-10s %11s %11s  %-28s %6s\n", mark, c.Direction, c.What, linkFigure(c.What, c.Configured),
			linkFigure(c.What, c.Achieved), interval, summary.Count(uint64(c.Samples)))
	}
	_, _ = fmt.Fprintln(out)
	for _, u := range r.Untested {
		printWrapped(out, "not tested: ", u, width)
	}
	printWrapped(out, "", fmt.Sprintf("Handed over late: %s at p50, %s at p99, %s at most. Overrun: %s packets. Took %s.",
		summary.Duration(int64(r.Late.P50)), summary.Duration(int64(r.Late.P99)), summary.Duration(int64(r.Late.Max)), summary.Count(r.Overrun), r.Took.Round(100*time.Millisecond)), width)
	if r.Pass {
		_, _ = fmt.Fprintln(out, "It does what it is told.")
		return
	}
	for _, why := range r.Why {
		printWrapped(out, "It does not: ", why, width)
	}
}

// linkFigure writes a figure of a test in its unit.
func linkFigure(what string, v float64) string {
	switch what {
	case linktest.Loss:
		return fmt.Sprintf("%.2f %%", v*100)
	case linktest.Burst:
		return summary.Number(v)
	case linktest.Rate:
		return fmt.Sprintf("%.4g kbit/s", v/1000)
	}
	return summary.Duration(int64(v))
}
