//go:build linux

// Command bench checks what the lab promises of its own speed, on this machine: ratios to client libraries and to plain C,
// both sides measured alternately in one run, each generator in a process of its own. It prints one line per promise with
// the median and the quartiles, and exits with 1 if one was missed.
//
// The lab's side is its real path: worker, event loop, sessions, stamps with check sums, ledger, histograms, kernel time
// stamps. The libraries only put a number and a time into each message they send, and read both from each they receive.
// Publishers send as fast as they can to a C program that swallows; subscribers read from one that sends stamped messages
// as fast as they are taken. CPU time of the generator's process is compared, not wall time, so that other work on the
// machine disturbs little; latency wants an idle machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/crew"
	"github.com/mqlab/mqlab/internal/guard"
)

func main() { os.Exit(bench(os.Args[1:])) }

// bench runs the benchmark, or what a child process is for, and returns the exit code.
func bench(args []string) int {
	if code, asked := hiddenVerbs.Do(args); asked {
		return code
	}
	o := options{out: os.Stdout}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.IntVar(&o.rounds, "rounds", 7, "alternations per ratio")
	flags.DurationVar(&o.span, "span", time.Second, "measured time of each side of an alternation")
	flags.StringVar(&o.only, "only", "", "only what has this in its name")
	flags.StringVar(&o.profiles, "profiles", "", "folder for CPU profiles of the generators")
	flags.BoolVar(&o.verbose, "v", false, "print each alternation")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	missed, err := run(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	if err != nil || missed > 0 {
		return 1
	}
	return 0
}

// hiddenVerbs are what this program starts itself again for.
var hiddenVerbs = guard.Verbs{broker.Verb: broker.Main, childVerb: childMain, crew.Verb: crew.Main}

type options struct {
	out      io.Writer
	rounds   int
	span     time.Duration
	only     string
	profiles string
	verbose  bool
}

// run checks all claims and returns how many were missed.
func run(ctx context.Context, o options) (missed int, err error) {
	r, err := newRig(ctx, o)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	for i := range claims {
		c := &claims[i]
		if !strings.Contains(c.name, o.only) {
			continue
		}
		if c.needs != nil {
			if missing := c.needs(ctx); missing != "" {
				fmt.Fprintf(o.out, "%-30s skipped: %s\n", c.name, missing)
				continue
			}
		}
		values, failed := c.values(ctx, r, o.rounds)
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		line, ok := c.verdict(values)
		fmt.Fprintln(o.out, line)
		if !ok {
			missed++
		}
	}
	return missed, err
}
