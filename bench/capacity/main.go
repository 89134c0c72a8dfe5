//go:build linux

// Command capacity finds the capacity of brokers twice, by mqlab's search and by an exhaustive sweep with the same step and the same
// length of a probe, and prints both answers and both times. It exits with 1 if an answer differs by more than 10 %, or if the search
// took more than a third of the sweep's time.
//
// Both are runs of the mqlab program, which is built first. The sweep measures every value once, and again where the outcomes leave a
// value open, until each is decided by the same evidence as the search asks for (see sweep); what a trial says is judged here, from its
// JSON. A trial that could not be measured is no failure; where such trials are the end of either, there is no answer. It wants an idle
// machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/search"
)

func main() { os.Exit(capacity(os.Args[1:])) }

// options say what is searched.
type options struct {
	out      io.Writer
	brokers  string
	grid     search.Grid
	measure  time.Duration
	machine  string
	settings settings
	verbose  bool
}

// settings are further keys of the scenario, as --set takes them.
type settings []string

func (s *settings) String() string { return strings.Join(*s, " ") }

// Set adds one.
func (s *settings) Set(text string) error {
	*s = append(*s, text)
	return nil
}

func capacity(args []string) int {
	o := options{out: os.Stdout}
	flags := flag.NewFlagSet("capacity", flag.ContinueOnError)
	flags.StringVar(&o.brokers, "brokers", "mosquitto,nats@process", "what to measure")
	flags.Float64Var(&o.grid.From, "from", 2000, "smallest rate")
	flags.Float64Var(&o.grid.To, "to", 100_000, "largest rate")
	flags.Float64Var(&o.grid.Step, "step", 0.08, "from one rate to the next, as a part of it; less than the difference that is allowed")
	flags.DurationVar(&o.measure, "measure", 2*time.Second, "measure phase of a probe")
	flags.StringVar(&o.machine, "machine", "{cpus: 0.5}", "what the broker is held to, so that it is at its limit before the generator is; host = nothing")
	flags.BoolVar(&o.verbose, "v", false, "show what mqlab says meanwhile")
	flags.Var(&o.settings, "set", "a further key of the scenario, KEY=VALUE (may be repeated)")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ok, err := run(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "capacity:", err)
	}
	if err != nil || !ok {
		return 1
	}
	return 0
}

// What the search must show.
const (
	mostApart = 0.10      // from the sweep's answer
	mostTime  = 1.0 / 3.0 // of the sweep's
)

func run(ctx context.Context, o options) (ok bool, err error) {
	dir, err := os.MkdirTemp("", "capacity-")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	l := &lab{options: o, dir: dir, program: filepath.Join(dir, "mqlab")}
	if text, err := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", l.program, "github.com/mqlab/mqlab/cmd/mqlab").CombinedOutput(); err != nil {
		return false, fmt.Errorf("go build: %w: %s", err, text)
	}
	ok = true
	brokers := strings.Split(o.brokers, ",")
	fmt.Fprintf(o.out, "rates from %.0f/s to %.0f/s in steps of %.0f %%, probes of %s, machine %s: about %s\n",
		o.grid.From, o.grid.To, 100*o.grid.Step, o.measure, o.machine, o.about(len(brokers)))
	fmt.Fprintf(o.out, "%-14s %12s %12s %7s %10s %10s %7s %9s  %s\n", "", "search", "sweep", "apart", "time", "sweep's", "ratio", "probes", "ended by")
	for _, broker := range brokers {
		good, failed := l.line(ctx, broker)
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", broker, failed))
		}
		if ctx.Err() != nil {
			return false, err
		}
		ok = ok && good
	}
	return ok, err
}

// about is how long it takes for so many brokers on an idle machine: a sweep that repeats a fifth of its probes, and a search that is
// as long as it may be.
func (o *options) about(brokers int) time.Duration {
	const around = 3 * time.Second // the other phases of a probe, a broker's start and end
	sweep := time.Duration(len(o.grid.Values())) * (o.measure + around)
	return (time.Duration(brokers) * time.Duration(1.2*float64(sweep)*(1+mostTime))).Round(time.Minute)
}

// line compares what was found of a broker and prints it.
func (l *lab) line(ctx context.Context, broker string) (ok bool, err error) {
	found, swept, err := l.compare(ctx, broker)
	if err != nil {
		return false, err
	}
	ratio := found.took.Seconds() / swept.took.Seconds()
	apart := found.rate/swept.rate - 1
	verdict := "ok"
	switch limit := string(search.AtLimit); {
	case !strings.HasPrefix(found.end, limit) || swept.end != limit:
		verdict = "NO ANSWER: the sweep's end is " + swept.end
	case math.Abs(apart) > mostApart+1e-9 || ratio > mostTime:
		verdict = "MISSED"
	}
	fmt.Fprintf(l.out, "%-14s %10.0f/s %10.0f/s %+6.1f%% %10s %10s %7.2f %4d/%-4d  %s  %s\n", broker, found.rate, swept.rate, 100*apart,
		found.took.Round(time.Second), swept.took.Round(time.Second), ratio, found.trials, swept.trials, found.end, verdict)
	return verdict == "ok", nil
}
