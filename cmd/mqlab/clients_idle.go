package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mqlab/mqlab/internal/agent"
	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/clients/idle"
	"github.com/mqlab/mqlab/internal/clients/show"
	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/trial"
)

// idleScenario is the name that a measurement of clients that wait has in its run folder.
const idleScenario = "clients-idle"

// idleFlags are who waits, and for how long.
type idleFlags struct {
	clientsFlags
	keepAlive, length time.Duration
}

func newRunClientsIdle() *cobra.Command {
	f := idleFlags{}
	cmd := &cobra.Command{
		Use:   "idle",
		Short: "what client libraries cost while they have nothing to say",
		Long: `What client libraries cost while they have nothing to say: CPU time, wake-ups and
memory of each, and what its connection puts on a link, per minute. All wait at
the same time at a broker that is started for them, over an emulated link where
this host allows one through which other programs can be seen.

CPU compares libraries, bytes compare protocols.

Exit codes: 0 done, 1 failed, 2 usage, 4 a client gave no figures, 130
interrupted (what was measured so far is kept and reported).`,
		Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.options(cmd)
			if err != nil {
				return err
			}
			return f.wait(cmd.Context(), cmd.OutOrStdout(), o)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.only, "clients", nil, "only these: "+strings.Join(agentNames(), ", "))
	flags.StringVar(&f.protocol, "protocol", agent.MQTT, "mqtt, amqp091, nats or redis")
	flags.DurationVar(&f.keepAlive, "keepalive", time.Minute, "of MQTT")
	flags.DurationVar(&f.length, "for", 3*time.Minute, "how long they wait")
	flags.StringVar(&f.out, "out", runsDir, "folder that the run's folder is made in")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

// options checks the flags.
func (f *idleFlags) options(cmd *cobra.Command) (*idle.Options, error) {
	if f.keepAlive < 5*time.Second || f.keepAlive > 65535*time.Second || f.keepAlive%time.Second != 0 {
		return nil, usageError("--keepalive %v: whole seconds from 5s, the least that libmosquitto takes, to 65535s", f.keepAlive)
	}
	if f.length < time.Second || f.length > 24*time.Hour {
		return nil, usageError("--for %v: from 1s to 24h", f.length)
	}
	f.rounds = 1
	if err := f.check(); err != nil {
		return nil, err
	}
	o := &idle.Options{
		Protocol: f.protocol, KeepAlive: f.keepAlive, For: f.length, Folder: broker.Cache(),
		Say: func(text string) { _, _ = fmt.Fprintln(cmd.ErrOrStderr(), text) },
	}
	for _, a := range agent.All() {
		if a.Protocol == f.protocol && (len(f.only) == 0 && !a.Floor || slices.Contains(f.only, a.Name)) {
			o.Clients = append(o.Clients, a)
		}
	}
	if len(o.Clients) == 0 {
		return nil, usageError("there is no client of protocol %q: mqtt, amqp091, nats and redis have some", f.protocol)
	}
	return o, nil
}

// wait lets clients wait, keeps what that cost in a run folder, and shows it.
func (f *idleFlags) wait(ctx context.Context, stdout io.Writer, o *idle.Options) (err error) {
	g, err := guard.Start()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	folder, err := run.Create(f.out, run.Manifest{
		ID: run.NewID(), Scenario: idleScenario, Started: time.Now().UTC(), Command: commandLine(os.Args), Host: describeHost(), Plan: plan.Plan{Scenario: idleScenario},
	})
	if err != nil {
		return err
	}
	o.Keep = func(r *idle.Result) error { return r.Write(folder.Dir()) }
	r, stopped := idle.Run(ctx, g, *o)
	interrupted := errors.Is(stopped, trial.ErrInterrupted)
	if r == nil || stopped != nil && !interrupted {
		return errors.Join(stopped, folder.Finish(nil))
	}
	if err := finishIdle(stdout, folder, r, formatOf(f.json)); err != nil {
		return err
	}
	if interrupted {
		return exitError{exitInterrupted, fmt.Errorf("interrupted; what was measured is in %s", folder.Dir())}
	}
	for _, c := range r.Clients {
		if c.Invalid != "" {
			return exitError{exitInvalid, fmt.Errorf("not valid: %s: %s", c.Name, c.Invalid)}
		}
	}
	return nil
}

// finishIdle keeps what waiting cost in its folder and shows it.
func finishIdle(stdout io.Writer, folder *run.Writer, r *idle.Result, format string) error {
	return finishShown(stdout, folder, r, format, func(w io.Writer, format string, o show.Options) error {
		return show.WriteIdle(w, format, r, o)
	})
}

// openIdle reads what waiting cost again; nil if the run is no such measurement.
func openIdle(dir string, m *run.Manifest) (*idle.Result, error) {
	if m.Scenario != idleScenario {
		return nil, nil
	}
	r, err := idle.Load(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: nothing was measured: the run ended before its clients began to wait", dir)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return r, nil
}

// showIdle shows what waiting cost again.
func (f *reportFlags) showIdle(w io.Writer, r *idle.Result, o show.Options) error {
	if f.trial > 0 || len(f.limits) > 0 || f.baseline != "" || f.junit != "" {
		return usageError("clients that wait have no trials and no limits: leave out --trial, --limit, --baseline and --junit")
	}
	o.Color = colours(w)
	return show.WriteIdle(w, f.format, r, o)
}

// compareIdle puts two runs of clients that wait side by side; false if none of the runs is one.
func compareIdle(out io.Writer, format string, runs []*run.Run, anyHost bool) (is bool, err error) {
	var results []*idle.Result
	for _, r := range runs {
		x, err := openIdle(r.Dir, &r.Manifest)
		if err != nil {
			return true, err
		}
		if x != nil {
			results = append(results, x)
		}
	}
	if len(results) == 0 {
		return false, nil
	}
	if len(results) < len(runs) {
		return true, exitError{exitInvalid, errors.New("not comparable: some runs are of clients that wait, others are not")}
	}
	if err := pairOf("runs of clients that wait", runs, anyHost); err != nil {
		return true, err
	}
	c, err := idle.Compare(results[0], results[1])
	if err != nil {
		return true, exitError{exitInvalid, fmt.Errorf("not comparable: %w", err)}
	}
	return true, show.WriteIdleChanges(out, format, runs[0].Manifest.ID, runs[1].Manifest.ID, c, colours(out))
}
