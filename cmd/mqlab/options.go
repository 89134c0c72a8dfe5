package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/capacity"
	"github.com/mqlab/mqlab/internal/doctor"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/scenario"
	"github.com/mqlab/mqlab/scenarios"
)

// planFlags are the flags that change a scenario.
type planFlags struct {
	set      []string
	brokers  string
	duration time.Duration
	repeat   int
	seed     uint64
	samples  bool
	machine  string
	noLimits bool
	link     string
	backend  string
	quick    bool
	limits   []string
	pin      bool
	noPin    bool

	generators int
}

func (f *planFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.set, "set", nil, "override a key of the scenario, `key=value` (may be repeated)")
	flags.StringVar(&f.brokers, "brokers", "", "what to compare: `a,b` as broker[:variant][/protocol][@runtime] or URL")
	flags.DurationVar(&f.duration, "duration", 0, "length of the measure phase")
	flags.IntVar(&f.repeat, "repeat", 0, "repetitions of each cell")
	flags.Uint64Var(&f.seed, "seed", 0, "seed of everything random")
	flags.BoolVar(&f.samples, "samples", false, "keep the times of every single message (samples.bin)")
	flags.StringVar(&f.machine, "machine", "", "the `COMPUTER` that brokers are held to: 1cpu-2gb, 2cpu-4gb, 4cpu-8gb, or '{cpus: 1.5, memory: 512MiB, files: 300000}'")
	flags.BoolVar(&f.noLimits, "no-limits", false, "let brokers have the whole host whatever machine is asked for, and mark the results")
	flags.StringVar(&f.link, "link", "", "the `NETWORK` between clients and brokers: lpwan, extreme, … (see mqlab link list), or none")
	flags.StringVar(&f.backend, "link-backend", "", "how the link is made: auto, tun, netstack, proxy, netem, toxiproxy (`BACKEND`)")
	flags.IntVar(&f.generators, "generators", 0, "processes that generate the load (default: as few as the limit of open files allows)")
	flags.BoolVar(&f.pin, "pin", false, "hold brokers and generator to different cores (default: where there are four or more)")
	flags.BoolVar(&f.noPin, "no-pin", false, "let brokers and generator share all cores")
	flags.StringArrayVar(&f.limits, "limit", nil, limitUsage)
	flags.BoolVar(&f.quick, "quick", false, "shorter phases and fewer repetitions: a first look, not a result")
}

// source is a scenario with the text it was read from.
type source struct {
	*scenario.Scenario
	text  string
	whole *scenario.Scenario // without --quick; nil = it is not quick
	dir   string             // where the files that it names are, "" = the current folder
}

// load reads the scenario that args name (a built-in or a file; none = the default) and applies the flags.
func (f *planFlags) load(cmd *cobra.Command, args []string) (*source, error) {
	name := scenarios.Default
	if len(args) > 0 {
		name = args[0]
	}
	file, text, folder, err := read(name)
	if err != nil {
		return nil, err
	}
	s := &source{Scenario: scenario.Decode(file, text), text: string(text), dir: folder}
	if f.quick {
		s.whole = scenario.Decode(file, text)
		s.Quick()
		if err := f.apply(cmd, s.whole); err != nil {
			return nil, err
		}
	}
	return s, f.apply(cmd, s.Scenario)
}

// apply sets what flags say.
func (f *planFlags) apply(cmd *cobra.Command, s *scenario.Scenario) error {
	for _, assignment := range f.set {
		s.Set(assignment)
	}
	s.Description = f.described(s.Description)
	changed := cmd.Flags().Changed
	if changed("brokers") {
		s.Compare(f.brokers)
	}
	if changed("duration") {
		s.Measure(f.duration)
	}
	if changed("repeat") {
		s.Times(f.repeat)
	}
	if changed("seed") {
		s.SeedWith(f.seed)
	}
	if f.samples {
		s.KeepSamples()
	}
	if changed("machine") {
		s.On(f.machine)
	}
	if changed("link") {
		s.Over(f.link)
	}
	if changed("link-backend") {
		s.LinkBy(f.backend)
	}
	if f.noLimits {
		s.IgnoreMachine()
	}
	if changed("generators") {
		s.Generate(f.generators)
	}
	if f.pin && f.noPin {
		return usageError("--pin and --no-pin exclude each other")
	}
	if f.pin || f.noPin {
		s.Pin(f.pin)
	}
	for _, limit := range f.limits {
		s.Limit(limit)
	}
	s.CheckLimits(checkLimit)
	s.CheckSearch(capacity.Check)
	return nil
}

// described is the description of a scenario that flags change: the question, and what was changed, in place of values that are no
// longer true.
func (f *planFlags) described(description string) string {
	var changed []string
	if f.quick {
		changed = append(changed, "shortened by --quick")
	}
	for _, assignment := range f.set {
		key, _, _ := strings.Cut(assignment, "=")
		changed = append(changed, key+" set") // values stand in the plan; a URL may hold a password
	}
	asked, rest, ok := strings.Cut(description, "? ")
	if !ok || rest == "" || changed == nil {
		return description
	}
	return asked + "? Changed: " + strings.Join(changed, ", ") + "."
}

// read returns a built-in scenario, or a file and the folder that it is in.
func read(name string) (file string, text []byte, folder string, err error) {
	if slices.Contains(scenarios.Names(), name) {
		text, err = scenarios.Read(name)
		return name + ".yaml", text, "", err
	}
	text, err = readAtMost(name, scenario.MaxBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = usageError("there is no scenario and no file %q; %s", name, scenario.Suggest(name, scenarios.Names()))
	case err != nil:
		err = usageError("%s: %w: a scenario is a YAML file, or one of mqlab list", name, plainly(err))
	case len(bytes.TrimSpace(text)) == 0:
		err = usageError("%s: is empty: a scenario says what to compare (subjects) or how (load); see mqlab plan quick", name)
	}
	return name, text, filepath.Dir(name), err
}

// beside returns the path of a file that the scenario names: relative to the scenario's own.
func (s *source) beside(name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(s.dir, name)
}

// locate makes every file that a subject names one of the current folder.
func (s *source) locate(subject *plan.Subject) {
	for _, file := range []*string{
		&subject.TLS.CAFile, &subject.TLS.CertFile, &subject.TLS.KeyFile, &subject.Auth.PasswordFile,
	} {
		*file = s.beside(*file)
	}
}

// resolve makes the plan. Brokers that are not installed are left out where the scenario says auto.
func (s *source) resolve(ctx context.Context) (*plan.Plan, error) {
	facts := doctor.Quick()
	o := plan.Options{
		Seed:      rand.Uint64() >> 11, // exact in every JSON reader
		Installed: func(subject plan.Subject) bool { return broker.Find(ctx, subject).OK },
		Version:   versions(ctx),
		ReadFile:  func(name string) ([]byte, error) { return readAtMost(s.beside(name), maxPayload) },
		Unfit:     unfit(facts),
		Sockets:   facts.Sockets(),

		SearchLimit: capacity.Need,
	}
	p, err := plan.Resolve(s.Scenario, o)
	if err != nil {
		return nil, err
	}
	if len(p.Needs) > 0 && s.whole != nil {
		if whole, err := plan.Resolve(s.whole, o); err == nil { // what is wrong with it is not this run's
			p.AlsoNeeds(whole, "left out by --quick")
		}
	}
	for i := range p.Subjects {
		s.locate(&p.Subjects[i])
	}
	for i := range p.Trials {
		t := &p.Trials[i]
		s.locate(&t.Subject)
		t.Params.PayloadFile = s.beside(t.Params.PayloadFile)
	}
	return p, nil
}

// versions tells those of installed brokers, each of which is asked once.
func versions(ctx context.Context) func(plan.Subject) string {
	known := map[string]string{}
	return func(s plan.Subject) string {
		v, asked := known[s.Broker]
		if !asked {
			v = broker.Find(ctx, s).Version
			known[s.Broker] = v
		}
		return v
	}
}

// maxPayload is more than any broker takes as one message: MQTT has room for 256 MiB.
const maxPayload = 256 << 20

// readAtMost reads a file, but of one that is larger (or, as a device, without end) only so much that it shows.
func readAtMost(name string, most int) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, int64(most)+1))
}

func lines(text string) []string { return strings.Split(strings.TrimRight(text, "\n"), "\n") }
