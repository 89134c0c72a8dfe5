package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/explain"
	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/jitter"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/report"
	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/summary"
	"github.com/mqlab/mqlab/internal/trial"
)

// jitterScenario is the name that a measurement of jitter has among the scenarios.
const jitterScenario = "jitter"

// jitterFlags are what is measured. The keys of cases are flags, too.
type jitterFlags struct {
	keys     map[string]*keyFlag // of every case, as given
	cases    []string
	set      string
	rounds   int
	quick    bool
	echo     string
	echoOnly string
	topics   string
	ca       string
	json     bool
	out      string
}

// keyFlag is a key of all cases as it was given. It is checked with the cases.
type keyFlag struct{ value, kind string }

func (k *keyFlag) String() string     { return k.value }
func (k *keyFlag) Type() string       { return k.kind }
func (k *keyFlag) Set(v string) error { k.value = v; return nil }

func newRunJitter() *cobra.Command {
	f := jitterFlags{keys: map[string]*keyFlag{}}
	cmd := &cobra.Command{
		Use:   jitterScenario,
		Short: "round trips of publishing clients, and the cause of their jitter",
		Long: `Measure the round trips of publishing clients, and name the cause of their jitter.
A client publishes on a schedule and gets every message back from an echo. By
default three ways to run a client are compared, 10,000 messages each, one every
100 ms (50 minutes); --quick takes less than one minute, --cases r1 measures all
loops, options and faults of the experiment.

A case is one way to measure, made of the keys below: as flags they hold for all
cases, --case 'key=value,key=value' adds one of its own (name=NAME names it).

The echo is ours and runs here; for another machine start there
  mqlab run jitter --echo-only mqtt://BROKER:1883
and here  mqlab run jitter --echo external --broker mqtt://BROKER:1883

Exit codes: 0 done, 1 failed, 2 usage, 4 a case gave no valid result, 130
interrupted (what was measured so far is kept and reported).`,
		Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.echoOnly != "" {
				return f.sendBack(cmd)
			}
			s, err := f.suite(cmd)
			if err != nil {
				return err
			}
			return f.run(cmd.Context(), cmd.OutOrStdout(), s)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&f.quick, "quick", false, "1,000 messages, one every 15 ms: a first look, not a result")
	flags.StringArrayVar(&f.cases, "case", nil, "measure this case: `key=value,...` (may be repeated)")
	flags.StringVar(&f.set, "cases", "", "measure a `SET` of cases: r1 = all of the experiment")
	flags.IntVar(&f.rounds, "rounds", 1, "rounds of all cases, each in another order")
	base := jitter.R1()
	for _, k := range jitter.Keys {
		v := &keyFlag{k.Value(&base), k.Kind}
		f.keys[k.Name] = v
		flags.Var(v, k.Name, k.Help)
		if k.Switch {
			flags.Lookup(k.Name).NoOptDefVal = "on"
		}
	}
	flags.StringVar(&f.echo, "echo", "", "external = the echo runs elsewhere, or the broker sends back itself")
	flags.StringVar(&f.echoOnly, "echo-only", "", "send messages back at the broker with this `URL` until interrupted; measure nothing")
	flags.StringVar(&f.topics, "topics", jitter.R1Topics.Request+","+jitter.R1Topics.Answer, "the topics of messages and of their answers")
	flags.StringVar(&f.ca, "ca", "", "of a broker elsewhere with TLS (mqtts://): the `FILE` of its certificate authority")
	flags.StringVar(&f.out, "out", runsDir, "folder that the run's folder is made in")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

// suite checks the flags.
func (f *jitterFlags) suite(cmd *cobra.Command) (*jitter.Suite, error) {
	s := &jitter.Suite{CA: f.ca, Say: func(text string) { _, _ = fmt.Fprintln(cmd.ErrOrStderr(), text) }}
	s.Rounds, s.Echo = f.rounds, jitter.Here
	switch {
	case f.rounds < 1 || f.rounds > 1000:
		return nil, usageError("--rounds %d: 1 to 1000", f.rounds)
	case f.echo != "" && f.echo != "external":
		return nil, usageError("--echo %s: there is external only; without --echo it is ours", f.echo)
	case f.echo == "external":
		s.Echo = jitter.Elsewhere
	}
	var err error
	if s.Topics, err = f.topicsGiven(); err != nil {
		return nil, err
	}
	own, err := f.ownCases(cmd)
	if err != nil {
		return nil, err
	}
	for _, text := range own {
		c := f.base(cmd)
		for _, k := range jitter.Keys {
			if cmd.Flags().Changed(k.Name) {
				if err := c.SetKey(k.Name, f.keys[k.Name].value); err != nil {
					return nil, usageError("--%w", err)
				}
			}
		}
		if text != "" {
			if err := c.Set(text); err != nil {
				return nil, usageError("--case '%s': %w", text, err)
			}
		}
		if err := c.Check(); err != nil {
			return nil, usageError("%s%w", inCase(text), err)
		}
		s.Cases = append(s.Cases, c)
	}
	return s, f.together(s)
}

func inCase(text string) string {
	if text == "" {
		return ""
	}
	return "case '" + text + "': "
}

// base is a case before any flag.
func (f *jitterFlags) base(cmd *cobra.Command) jitter.Case {
	c := jitter.R1()
	if f.quick {
		c.Quick()
	}
	return c
}

// ownCases are what cases have of their own. A flag that every case sets itself would have no effect.
func (f *jitterFlags) ownCases(cmd *cobra.Command) ([]string, error) {
	var own []string
	switch {
	case f.set == "r1":
		own = slices.Clone(jitter.R1Cases)
	case f.set != "":
		return nil, usageError("--cases %s: there is the set r1", f.set)
	case len(f.cases) == 0 && cmd.Flags().Changed("client"):
		return []string{""}, nil
	case len(f.cases) == 0:
		own = slices.Clone(jitter.R1Clients)
	}
	own = append(own, f.cases...)
	for _, k := range jitter.Keys {
		if cmd.Flags().Changed(k.Name) && !slices.ContainsFunc(own, func(text string) bool { return !strings.Contains(","+text, ","+k.Name+"=") }) {
			return nil, usageError("--%s: every case says it itself: leave it out", k.Name)
		}
	}
	return own, nil
}

func (f *jitterFlags) topicsGiven() (t jitter.Topics, err error) {
	var ok bool
	if t.Request, t.Answer, ok = strings.Cut(f.topics, ","); !ok || t.Request == "" || t.Answer == "" || t.Request == t.Answer || strings.ContainsAny(f.topics, "#+") {
		return t, usageError("--topics %s: two topics are wanted, without wildcards, such as test/latency,test/echo", f.topics)
	}
	return t, nil
}

// together finds what does not go together among cases.
func (f *jitterFlags) together(s *jitter.Suite) error {
	for i, c := range s.Cases {
		if slices.ContainsFunc(s.Cases[:i], func(o jitter.Case) bool { return o.Name == c.Name }) {
			s.Cases[i].Name = fmt.Sprintf("%s-%d", c.Name, i+1)
		}
		external := strings.Contains(c.Broker, "://")
		switch {
		case s.Echo == jitter.Elsewhere && c.OneWay:
			return usageError("case %s: oneway and --echo external exclude each other: the subscriber notes times of this machine", c.Name)
		case s.Echo == jitter.Elsewhere && !external:
			return usageError("--echo external needs a broker that the echo can reach: give --broker mqtt://host:port")
		case f.ca == "" && strings.HasPrefix(c.Broker, "mqtts://"):
			return usageError("a broker with TLS needs --ca FILE, the certificate authority that signed its certificate")
		case external:
			if err := jitter.CheckURL(c.Broker, f.ca); err != nil {
				return usageError("case %s: %w", c.Name, err)
			}
		}
	}
	encrypted := func(c jitter.Case) bool { return strings.HasPrefix(c.Broker, "mqtts://") }
	if f.ca != "" && !slices.ContainsFunc(s.Cases, encrypted) {
		return usageError("--ca is for a broker elsewhere with TLS: give --broker mqtts://host:port")
	}
	return nil
}

// sendBack is an echo for another machine.
func (f *jitterFlags) sendBack(cmd *cobra.Command) error {
	with := []string{"echo-only", "topics", "ca"}
	var beside string
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if !slices.Contains(with, flag.Name) {
			beside = flag.Name
		}
	})
	if beside != "" {
		return usageError("--echo-only measures nothing: leave out --%s", beside)
	}
	topics, err := f.topicsGiven()
	if err != nil {
		return err
	}
	if err := jitter.CheckURL(f.echoOnly, f.ca); err != nil {
		return usageError("--echo-only: %w", err)
	}
	err = jitter.Echo(cmd.Context(), f.echoOnly, f.ca, topics, func() {
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "sending back what comes on %s to %s, until interrupted\n", topics.Request, topics.Answer)
	})
	if err != nil {
		return fmt.Errorf("--echo-only: %w", err)
	}
	return nil
}

// run measures, keeps each trial in a run folder, and shows what came out.
func (f *jitterFlags) run(ctx context.Context, stdout io.Writer, s *jitter.Suite) (err error) {
	g, err := guard.Start()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	if err := s.Prepare(ctx, broker.Cache()); err != nil {
		return err
	}
	s.Say(fmt.Sprintf("%d cases, about %v", len(s.Cases), s.Estimate().Round(time.Second)))
	folder, err := run.Create(f.out, run.Manifest{
		ID: run.NewID(), Scenario: jitterScenario, Started: time.Now().UTC(), Command: commandLine(os.Args), Host: describeHost(), Plan: plan.Plan{Scenario: jitterScenario},
	})
	if err != nil {
		return err
	}
	if err := jitter.WritePlan(folder.Dir(), &s.Plan); err != nil {
		return errors.Join(err, folder.Finish(nil))
	}
	s.Keep = func(t *jitter.Trial) error { return t.Write(folder.Dir()) }
	stopped := s.Run(ctx, g)
	if stopped != nil && !errors.Is(stopped, trial.ErrInterrupted) {
		return errors.Join(stopped, folder.Finish(nil))
	}
	m := folder.Manifest()
	r, err := openJitter(folder.Dir(), &m)
	if err != nil {
		return errors.Join(err, folder.Finish(nil))
	}
	if err := errors.Join(folder.Finish(r), writeJitterPage(folder.Dir(), r, &m)); err != nil {
		return err
	}
	if err := showJitter(stdout, r, &m, formatOf(f.json), english); err != nil {
		return err
	}
	if stopped != nil {
		return exitError{exitInterrupted, fmt.Errorf("interrupted; what was measured is in %s", folder.Dir())}
	}
	return jitterVerdict(r)
}

// explained is what a word on a page means.
func explained(word string) string {
	text, _ := explain.Text(word)
	return text
}

func formatOf(asJSON bool) string {
	if asJSON {
		return "json"
	}
	return "text"
}

// openJitter reads what was measured again; nil if the run is no measurement of jitter.
func openJitter(dir string, m *run.Manifest) (*jitter.Report, error) {
	if m.Scenario != jitterScenario {
		return nil, nil
	}
	p, trials, err := jitter.Load(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, plainly(err))
	}
	return jitter.NewReport(m.ID, m.Started, *p, trials), nil
}

// english is the language of what is shown while nobody asks for another.
const english = "en"

func showJitter(w io.Writer, r *jitter.Report, m *run.Manifest, format, language string) error {
	switch format {
	case "json":
		return report.WriteJSON(w, r)
	case "csv":
		return jitter.CSV(w, r)
	case "markdown", htmlFormat:
		return jitter.Page(w, format, r, language, m.Command, explained)
	}
	width := terminalWidth(w)
	return jitter.Text(w, r, language, func(head, text string) { printWrapped(w, head, text, width) })
}

// writeJitterPage leaves the report in the run's folder, to be opened in a browser.
func writeJitterPage(dir string, r *jitter.Report, m *run.Manifest) error {
	f, err := os.Create(filepath.Join(dir, "report.html"))
	if err != nil {
		return err
	}
	return errors.Join(jitter.Page(f, htmlFormat, r, english, m.Command, explained), f.Close())
}

// jitterVerdict is an error if a case has no valid round.
func jitterVerdict(r *jitter.Report) error {
	invalid := 0
	var first *jitter.CaseReport
	for i := range r.Cases {
		if r.Cases[i].Validity == summary.Invalid {
			if invalid++; invalid == 1 {
				first = &r.Cases[i]
			}
		}
	}
	if invalid == 0 {
		return nil
	}
	return exitError{exitInvalid, fmt.Errorf("not valid: %d of %d cases; %s: %s", invalid, len(r.Cases), first.Name, first.Why)}
}

// showJitter shows a measurement of jitter again.
func (f *reportFlags) showJitter(w io.Writer, r *jitter.Report, m *run.Manifest, err error) error {
	if err != nil {
		return err
	}
	if f.trial > 0 || len(f.limits) > 0 || f.baseline != "" || f.junit != "" {
		return usageError("a measurement of jitter is shown as a whole and has no limits: leave out --trial, --limit, --baseline and --junit")
	}
	return showJitter(w, r, m, f.format, f.language)
}
