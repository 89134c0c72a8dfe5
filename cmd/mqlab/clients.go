package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mqlab/mqlab/internal/agent"
	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/clients"
	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/scenario"
	"github.com/mqlab/mqlab/internal/trial"
)

// clientsScenario is the name that a comparison of client libraries has among the scenarios.
const clientsScenario = "clients"

// clientsFlags are what is compared.
type clientsFlags struct {
	only     []string
	protocol string
	payloads []string
	qos      []int
	rounds   int
	quick    bool
	json     bool
	out      string
	seed     uint64
	job      agent.Job
	work     time.Duration
	nodelay  bool
	modes    []string
	variants clientsVariants
}

func newRunClients() *cobra.Command {
	f := clientsFlags{}
	cmd := &cobra.Command{
		Use:   clientsScenario,
		Short: "compare client libraries by what each adds to a message",
		Long: `Compare client libraries of C, C++, Python, Node and Go: the work that each does
per message, and what it adds to the time of a single message, with the library
as it is and a broker that measures. What is not installed is named with what to
install (make agents). Clients are kept on one core, in real-time priority where
that is allowed; what cannot be told apart is shown so.

Options of the clients (--list) are given to all; one that has not what is asked
for is left out and named. --connections, --leak, --reconnect and --block are
experiments of their own: without --modes they are all that is done.

Exit codes: 0 done, 1 failed, 2 usage, 4 a client gave no valid result, 130
interrupted (what was measured so far is kept and reported).`,
		Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.variants.list {
				return listClients(cmd.OutOrStdout())
			}
			o, err := f.options(cmd)
			if err != nil {
				return err
			}
			return f.run(cmd.Context(), cmd.OutOrStdout(), o)
		},
	}
	f.register(cmd)
	cmd.Flags().StringVar(&f.out, "out", runsDir, "folder that the run's folder is made in")
	cmd.AddCommand(newRunClientsIdle())
	return cmd
}

// register adds the flags that say what is compared.
func (f *clientsFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.only, "clients", nil, "only these: "+strings.Join(agentNames(), ", "))
	flags.StringVar(&f.protocol, "protocol", agent.MQTT, "mqtt, amqp091, nats or redis")
	flags.StringSliceVar(&f.payloads, "payload", []string{"50B", "256B", "1KiB", "10KiB", "100KiB", "1MiB"}, "sizes of messages")
	flags.IntSliceVar(&f.qos, "qos", []int{0}, "0, 1, 2 (AMQP: 0 = automatic, 1 = manual acknowledgement)")
	flags.IntVar(&f.rounds, "rounds", 15, "rounds of each mode")
	flags.StringSliceVar(&f.modes, "modes", nil, "only these: "+strings.Join(modeNames(), ", "))
	flags.BoolVar(&f.quick, "quick", false, "256 bytes only, and half of the rounds' messages")
	flags.Uint64Var(&f.seed, "seed", 0, "for the same order of clients again")
	flags.StringVar(&f.job.Callback, "callback", "", "queue = the callback hands over to another thread; block = it sleeps")
	flags.DurationVar(&f.work, "work", 0, "what a message costs the program")
	flags.StringVar(&f.job.Loop, "loop", "", "how the library runs: start, forever, own, sleep")
	flags.StringVar(&f.job.GC, "gc", "", "of Python: default, thresholds, frozen, off")
	flags.IntVar(&f.job.Retain, "retain", 0, "of Python: containers that the program keeps")
	flags.BoolVar(&f.nodelay, "nodelay", false, "set TCP_NODELAY in the client")
	f.variants.flags(flags)
	flags.BoolVar(&f.json, "json", false, "print JSON")
}

func agentNames() (names []string) {
	for _, a := range agent.All() {
		names = append(names, a.Name)
	}
	return names
}

func modeNames() (names []string) {
	for _, m := range clients.Modes() {
		names = append(names, string(m))
	}
	return names
}

// options checks the flags.
func (f *clientsFlags) options(cmd *cobra.Command) (*clients.Options, error) {
	o := &clients.Options{
		Protocol: f.protocol, QoS: f.qos, Rounds: f.rounds, Lone: 60, Drain: 1000, Paced: 500, Traced: 200, Bursts: 3, Interval: 300 * time.Microsecond, Seed: f.seed,
		Folder: broker.Cache(), Job: f.job, Say: func(text string) { _, _ = fmt.Fprintln(cmd.ErrOrStderr(), text) },
	}
	if f.quick {
		o.Lone, o.Drain, o.Paced, o.Traced = o.Lone/2, o.Drain/2, o.Paced/2, o.Traced/2
	}
	if (f.quick || f.variants.experiments() && f.modes == nil) && !cmd.Flags().Changed("payload") {
		f.payloads = []string{"256B"}
	}
	if !cmd.Flags().Changed("seed") {
		o.Seed = rand.Uint64N(1 << 53)
	}
	for _, m := range f.modes {
		o.Modes = append(o.Modes, clients.Mode(m))
	}
	o.Job.WorkNS = int64(f.work)
	if f.nodelay {
		o.Job.NoDelay = 1
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	if err := f.variants.apply(o); err != nil {
		return nil, err
	}
	for _, text := range f.payloads {
		n, err := scenario.ParseSize(text)
		if err != nil || n < 40 || n > 16<<20 {
			return nil, usageError("--payload %s: a size from 40B to 16MiB is wanted, such as 256B or 10KiB", text)
		}
		o.Payloads = append(o.Payloads, n)
	}
	for _, a := range agent.All() {
		if a.Protocol == f.protocol && (len(f.only) == 0 || slices.Contains(f.only, a.Name) || a.Floor && a.Language == agent.C) {
			o.Clients = append(o.Clients, a)
		}
	}
	if len(o.Clients) == 0 {
		return nil, usageError("there is no client of protocol %q: mqtt, amqp091, nats and redis have some", f.protocol)
	}
	return o, nil
}

func (f *clientsFlags) check() error {
	for _, name := range f.only {
		a, ok := agent.Named(name)
		if !ok {
			return usageError("there is no client %q; %s", name, scenario.Suggest(name, agentNames()))
		}
		if a.Protocol != f.protocol {
			return usageError("%s speaks %s: add --protocol %s", name, a.Protocol, a.Protocol)
		}
	}
	for _, m := range f.modes {
		if !slices.Contains(modeNames(), m) {
			return usageError("there is no mode %q; the modes are %s", m, strings.Join(modeNames(), ", "))
		}
	}
	for _, q := range f.qos {
		if q < 0 || q > 2 || q > 0 && (f.protocol == agent.NATS || f.protocol == agent.Redis) || q > 1 && f.protocol == agent.AMQP091 {
			return usageError("--qos %d: %s does not have it", q, f.protocol)
		}
	}
	choices := []struct {
		flag, value string
		of          []string
	}{
		{"callback", f.job.Callback, []string{"", "queue", "block"}},
		{"loop", f.job.Loop, []string{"", "start", "forever", "own", "sleep"}},
		{"gc", f.job.GC, []string{"", "default", "thresholds", "frozen", "off"}},
	}
	for _, c := range choices {
		if !slices.Contains(c.of, c.value) {
			return usageError("--%s %s: there are%s", c.flag, c.value, strings.Join(c.of, " "))
		}
	}
	if f.rounds < 1 || f.rounds > 1000 || f.work < 0 || f.job.Retain < 0 {
		return usageError("--rounds is 1 to 1000, --work and --retain are not negative")
	}
	return nil
}

// run compares, keeps the result in a run folder, and shows it.
func (f *clientsFlags) run(ctx context.Context, stdout io.Writer, o *clients.Options) (err error) {
	g, err := guard.Start()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	folder, err := run.Create(f.out, run.Manifest{
		ID: run.NewID(), Scenario: clientsScenario, Seed: o.Seed, Started: time.Now().UTC(), Command: commandLine(os.Args),
		Host: describeHost(), Plan: plan.Plan{Scenario: clientsScenario, Seed: o.Seed},
	})
	if err != nil {
		return err
	}
	r, stopped := clients.Run(ctx, g, *o)
	if stopped != nil && !errors.Is(stopped, trial.ErrInterrupted) {
		return errors.Join(stopped, folder.Finish(nil))
	}
	if err := finishClients(stdout, folder, r, f.json); err != nil {
		return err
	}
	if stopped != nil {
		return exitError{exitInterrupted, fmt.Errorf("interrupted; what was measured is in %s", folder.Dir())}
	}
	return clientsVerdict(r)
}

// clientsVerdict is an error if a client gave no valid result.
func clientsVerdict(r *clients.Result) error {
	invalid, all := r.Invalid()
	if len(invalid) == 0 {
		return nil
	}
	return exitError{exitInvalid, fmt.Errorf("not valid: %d of %d results; %s", len(invalid), all, invalid[0])}
}
