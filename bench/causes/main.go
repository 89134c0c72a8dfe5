//go:build linux

// Command causes makes each cause of jitter really happen, with real brokers and client libraries over real sockets, asks
// internal/diagnose for its name, and prints how often that was right, as a confusion table. It exits with 1 if fewer than 95 of 100
// names were right.
//
// Every scenario is tried with five sets of parameters. Where the natural input is a table, a capture or a running process, it is
// diagnosed from that. Other work on the machine makes any case one of a noisy host: a trial during which programs that are not ours
// used more than a fifth of the CPU is repeated, and left out, by name, right or wrong, if that does not help.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/mqlab/mqlab/agents/golang"
	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/diagnose"
	"github.com/mqlab/mqlab/internal/guard"
)

func main() { os.Exit(causes(os.Args[1:])) }

// options say what to do.
type options struct {
	out   io.Writer
	only  string
	sets  int
	tries int
	// others is the part of the CPU that other programs may use.
	others float64
	seed   uint64
	json   bool
	v      bool
}

func causes(args []string) int {
	if code, asked := hiddenVerbs.Do(args); asked {
		return code
	}
	o := options{out: os.Stdout}
	flags := flag.NewFlagSet("causes", flag.ContinueOnError)
	flags.StringVar(&o.only, "only", "", "only scenarios with this in their name")
	flags.IntVar(&o.sets, "sets", allSets, "sets of parameters per scenario")
	flags.IntVar(&o.tries, "tries", 3, "how often a disturbed trial is tried")
	flags.Float64Var(&o.others, "others", 0.2, "part of the machine's CPU that other programs may use before a trial counts as disturbed")
	flags.Uint64Var(&o.seed, "seed", 1, "of the times at which what is random happens")
	flags.BoolVar(&o.json, "json", false, "print JSON")
	flags.BoolVar(&o.v, "v", false, "print the evidence of each finding")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if o.sets < 1 || o.sets > allSets || o.tries < 1 || flags.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "causes: -sets is 1 to %d, -tries at least 1, and there are no arguments\n", allSets)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	right, err := run(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "causes:", err)
	}
	if err != nil || !right {
		return 1
	}
	return 0
}

// hiddenVerbs are what this program starts itself again for.
var hiddenVerbs = guard.Verbs{golang.Verb: golang.Main, broker.Verb: broker.Main, hogVerb: hog}

// allSets is how many sets of parameters each scenario has.
const allSets = 5

// run carries out all scenarios and reports whether enough names were right.
func run(ctx context.Context, o options) (ok bool, err error) {
	l, err := newLab(o.seed)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	var t table
	began := time.Now()
	for i := range scenarios {
		s := &scenarios[i]
		if !strings.Contains(s.name, o.only) {
			continue
		}
		if err := l.all(ctx, o, s, &t); err != nil {
			return false, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	t.Seconds = time.Since(began).Seconds()
	if o.json {
		e := json.NewEncoder(o.out)
		e.SetIndent("", "  ")
		return t.enough(), e.Encode(t.said())
	}
	t.print(o.out)
	return t.enough(), nil
}

// all tries a scenario with all sets.
func (l *lab) all(ctx context.Context, o options, s *scenario, t *table) error {
	defer l.release()
	if s.needs != nil {
		if why := s.needs(ctx); why != "" {
			t.Absent = append(t.Absent, absent{s.name, why})
			if !o.json {
				fmt.Fprintf(o.out, "absent %-30s %s\n", s.name, why)
			}
			return nil
		}
	}
	for set := range o.sets {
		v, err := l.verdict(ctx, s, set, o.tries, o.others)
		if err != nil {
			return err
		}
		t.Trials = append(t.Trials, v)
		if o.json {
			continue
		}
		fmt.Fprintf(o.out, "%-10s %-30s set %d  %s%s\n", v.mark(), s.name, set+1, v.Got, v.figures())
		if o.v || !v.Right {
			for _, line := range v.evidence {
				fmt.Fprintln(o.out, "            "+line)
			}
		}
	}
	return nil
}

// verdict tries a scenario with a set, again while other programs disturb it.
func (l *lab) verdict(ctx context.Context, s *scenario, set, tries int, others float64) (v verdict, err error) {
	for try := range tries {
		began, before := time.Now(), used()
		r, err := s.run(ctx, l, set)
		if ctx.Err() != nil {
			return v, context.Cause(ctx)
		}
		if err != nil {
			return v, fmt.Errorf("set %d: %w", set+1, err)
		}
		v = s.judge(r)
		v.Set, v.Tries, v.Seconds, v.Others = set+1, try+1, time.Since(began).Seconds(), used().othersSince(before)
		v.Disturbed = v.Others > others
		if !v.Disturbed {
			break
		}
	}
	return v, nil
}

// judge compares what was named with what was made.
func (s *scenario) judge(r *diagnose.Result) verdict {
	v := verdict{Scenario: s.name, Want: s.want, Got: r.Verdict(), P50: r.P50, P99: r.P99}
	for i := range r.Findings {
		f := &r.Findings[i]
		v.evidence = append(v.evidence, fmt.Sprintf("%s %.2f [%s] %v", f.Cause, f.Share, f.Side, f.In("en").Evidence))
		v.Named = append(v.Named, f.Cause)
	}
	v.Right = v.Got == s.want || v.names(s.want) && v.Got == s.with
	if v.Right && s.check != nil {
		if why := s.check(r); why != "" {
			v.Right, v.Why = false, why
		}
	}
	return v
}
