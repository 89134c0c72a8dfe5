package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mqlab/mqlab/internal/capacity"
	"github.com/mqlab/mqlab/internal/explain"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/report"
	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/summary"
)

// htmlFormat is the one format that needs the run itself, for its charts.
const htmlFormat = "html"

// reportFlags say what of a run is shown, and how.
type reportFlags struct {
	gateFlags
	format, root string
	language     string
	trials       bool
	trial        int
	histogram    string
	samples      bool
	limits       []string
}

func newReport() *cobra.Command {
	var f reportFlags
	cmd := &cobra.Command{
		Use:   "report [RUN]",
		Short: "show a run again, in any format (no RUN = the latest)",
		Long: `Show a run again, in any format; or one of its trials: its report, a percentile
distribution as HdrHistogram's tools write it, or the times of every message.
The limits that the run was made with are checked again, and those of --limit.

Exit codes: 0 done, 1 failed, 2 usage, 3 a limit was missed, 4 a limit could not
be decided.`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			dir, err := runFolder(args, f.root)
			if err != nil {
				return err
			}
			r, err := openRun(dir)
			if err != nil {
				return err
			}
			c, err := openClients(dir, &r.Manifest)
			switch {
			case err != nil:
				return err
			case c != nil:
				return f.showClients(cmd.OutOrStdout(), c, clientsShown(&r.Manifest, dir))
			}
			if i, err := openIdle(dir, &r.Manifest); err != nil || i != nil {
				if err != nil {
					return err
				}
				return f.showIdle(cmd.OutOrStdout(), i, clientsShown(&r.Manifest, dir))
			}
			if j, err := openJitter(dir, &r.Manifest); err != nil || j != nil {
				return f.showJitter(cmd.OutOrStdout(), j, &r.Manifest, err)
			}
			return f.show(cmd.OutOrStdout(), dir, r)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.format, "format", "text", "one of "+strings.Join(formats(), ", "))
	flags.StringVar(&f.root, "out", runsDir, "folder of run folders, to find the latest in")
	flags.BoolVar(&f.trials, "trials", false, "show every trial (of client libraries: every payload)")
	flags.StringVar(&f.language, "lang", "en", "of findings, measurements of jitter, and traps of client libraries: en, zh")
	flags.IntVar(&f.trial, "trial", 0, "show trial `N` only")
	flags.StringVar(&f.histogram, "histogram", "", "of --trial: the percentile distribution (.hgrm, in microseconds) of `METRIC`, such as service")
	flags.Lookup("histogram").NoOptDefVal = ledger.Response.String()
	flags.BoolVar(&f.samples, "samples", false, "of --trial: the times of every message as CSV")
	flags.StringArrayVar(&f.limits, "limit", nil, limitUsage)
	f.register(cmd)
	return cmd
}

func formats() []string { return append(slices.Clone(report.Formats), htmlFormat) }

// check finds flags that do not go together.
func (f *reportFlags) check() error {
	gated := len(f.limits) > 0 || f.baseline != "" || f.junit != ""
	switch {
	case !slices.Contains(formats(), f.format):
		return usageError("unknown format %q: there are %s", f.format, strings.Join(formats(), ", "))
	case f.language != "en" && f.language != "zh":
		return usageError("unknown language %q: there are en, zh", f.language)
	case f.trial == 0 && (f.histogram != "" || f.samples):
		return usageError("--histogram and --samples are of one trial: give --trial N")
	case f.histogram != "" && f.samples:
		return usageError("--histogram and --samples are two outputs: give one of them")
	case f.trial != 0 && gated:
		return usageError("limits are for whole runs: leave out --trial")
	}
	return nil
}

// show writes what the flags ask for.
func (f *reportFlags) show(out io.Writer, dir string, r *run.Run) error {
	o := report.Options{Color: colours(out), Trials: f.trials, Dir: dir, Language: f.language}
	if f.trial != 0 {
		return f.showTrial(out, r, o)
	}
	s := summary.Of(r)
	limits, err := recorded(r, s, f.limits)
	if err != nil {
		return err
	}
	j := &judge{gateFlags: f.gateFlags, limits: limits}
	if len(f.limits) > 0 || f.baseline != "" {
		if j, err = f.ready(limits); err != nil {
			return err
		}
	}
	if o.Searches, err = capacity.Of(s, &r.Manifest.Plan); err != nil {
		return err
	}
	if o.Gate, err = j.evaluate(s, o.Searches); err != nil {
		return err
	}
	if err := f.write(out, s, r, o); err != nil {
		return err
	}
	return outcome(o.Gate)
}

func (f *reportFlags) write(out io.Writer, s *summary.Summary, r *run.Run, o report.Options) error {
	if f.format != htmlFormat {
		return report.Write(out, f.format, s, o)
	}
	return writeHTML(out, s, r, o)
}

// writeHTML writes the page whose words are explained.
func writeHTML(out io.Writer, s *summary.Summary, r *run.Run, o report.Options) error {
	return report.HTML(out, s, r, o, func(word string) string {
		text, _ := explain.Text(word)
		return text
	})
}

func (f *reportFlags) showTrial(out io.Writer, r *run.Run, o report.Options) error {
	i := slices.IndexFunc(r.Trials, func(t run.Trial) bool { return t.Trial.ID == f.trial })
	if i < 0 {
		return usageError("there is no trial %d: the run has %d", f.trial, len(r.Trials))
	}
	switch {
	case f.samples:
		return report.SamplesCSV(out, r, f.trial)
	case f.histogram != "":
		return writeHistogram(out, &r.Trials[i], f.histogram)
	}
	r.Trials = r.Trials[i : i+1]
	return f.write(out, summary.Of(r).Only(f.trial), r, o)
}

// writeHistogram writes the distribution of a trial's times.
func writeHistogram(out io.Writer, t *run.Trial, name string) error {
	m, ok := ledger.ParseMetric(name)
	if !ok {
		var names []string
		for m := range ledger.NumMetrics {
			names = append(names, m.String())
		}
		return usageError("there is no histogram %q: there are %s", name, strings.Join(names, ", "))
	}
	h, expected := summary.Distribution(t, m)
	if h == nil {
		return fmt.Errorf("trial %d recorded no %s times", t.Trial.ID, name)
	}
	return h.WriteHGRM(out, int64(expected))
}

// openRun opens a run that the user named.
func openRun(dir string) (*run.Run, error) {
	r, err := run.Open(dir)
	if err != nil {
		return nil, usageError("%w", err)
	}
	return r, nil
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
