//go:build linux

// Command peers lets other load generators that are installed and mqlab do the same work against the same broker, one after the other in
// turn, and prints what each does: messages per CPU-second of its whole process, memory for each connection, how far from a
// steady schedule its messages leave, and the latency that it tells. Of each figure it prints both medians and the ratio of
// mqlab's to the peer's with its quartiles. Peers that are not installed are named, with how to get them.
//
// Everything is judged from outside, alike for both: CPU time by the kernel's account of the process, memory by /proc, the
// schedule by the kernel's time stamps at a relay before the broker. Only the latency is what a tool says itself.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/guard"
)

func main() { os.Exit(peersMain(os.Args[1:])) }

// hiddenVerbs are what this program starts itself again for.
var hiddenVerbs = guard.Verbs{broker.Verb: broker.Main, ownVerb: ownMain}

// peersMain runs the comparison, or what this program is run again for, and returns the exit code.
func peersMain(args []string) int {
	if code, asked := hiddenVerbs.Do(args); asked {
		return code
	}
	o := options{out: os.Stdout}
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	flags.IntVar(&o.rounds, "rounds", 5, "alternations per figure")
	flags.IntVar(&o.messages, "messages", 500_000, "messages of a publisher that sends as fast as it can")
	flags.StringVar(&o.only, "only", "", "only peers that have this in their name")
	flags.BoolVar(&o.verbose, "v", false, "print each alternation")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := compareAll(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		return 1
	}
	return 0
}

type options struct {
	out      io.Writer
	rounds   int
	messages int
	only     string
	verbose  bool
}

// compareAll goes through the peers, those that are not here last.
func compareAll(ctx context.Context, o options) (err error) {
	g, err := guard.Start()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	var absent []string
	for i := range peers {
		p := &peers[i]
		if !strings.Contains(p.name, o.only) {
			continue
		}
		program := p.find()
		if program == "" {
			absent = append(absent, fmt.Sprintf("absent: %s: %s", p.name, p.get))
			continue
		}
		if f := broker.Find(ctx, p.broker); !f.OK {
			absent = append(absent, fmt.Sprintf("skipped: %s: %s", p.name, f.Why))
			continue
		}
		if failed := compare(ctx, o, g, p, program); failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", p.name, failed))
		}
	}
	for _, line := range absent {
		fmt.Fprintln(o.out, line)
	}
	return err
}

// find is the path of the peer's program, "" if it is not installed.
func (p *peer) find() string {
	for _, name := range p.programs {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// compare takes all figures that the peer has of one broker.
func compare(ctx context.Context, o options, g *guard.Guard, p *peer, program string) error {
	i, err := broker.Start(ctx, p.broker, broker.Options{Guard: g})
	if err != nil {
		return err
	}
	defer func() { _ = i.Stop(context.WithoutCancel(ctx)) }()
	r, err := newRig(o, g, p, program, i)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.out, "%s and mqlab, against %s %s\n", p.name, p.broker.Broker, i.Version)
	for _, f := range figures {
		if !f.has(p) {
			fmt.Fprintf(o.out, "  %-24s %s has none\n", f.name, p.name)
			continue
		}
		if failed := r.alternate(ctx, f); failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", f.name, failed))
			fmt.Fprintf(o.out, "  %-24s failed: %v\n", f.name, failed)
		}
	}
	return err
}

// alternate measures both sides in turn, the order changing from round to round, and prints the figure's line.
func (r *rig) alternate(ctx context.Context, f figure) error {
	var ours, theirs, ratios []float64
	for round := range r.rounds {
		var own, other float64
		sides := []func() error{
			func() (err error) { own, err = f.own(ctx, r); return err },
			func() (err error) { other, err = f.other(ctx, r); return err },
		}
		if round%2 == 1 {
			slices.Reverse(sides)
		}
		for _, side := range sides {
			if err := side(); err != nil {
				return err
			}
		}
		if other <= 0 || own <= 0 {
			return fmt.Errorf("nothing was measured: mqlab %g, %s %g", own, r.peer.name, other)
		}
		ours, theirs, ratios = append(ours, own), append(theirs, other), append(ratios, own/other)
		if r.verbose {
			fmt.Fprintf(r.out, "    mqlab %s, %s %s\n", f.words(own), r.peer.name, f.words(other))
		}
	}
	fmt.Fprintf(r.out, "  %-24s mqlab %s, %s %s, ratio %s [%s–%s]%s\n", f.name, f.words(quantile(ours, 0.5)), r.peer.name,
		f.words(quantile(theirs, 0.5)), digits(quantile(ratios, 0.5)), digits(quantile(ratios, 0.25)), digits(quantile(ratios, 0.75)),
		cmp.Or(r.note(f), ""))
	return nil
}

// note is what must be known about the peer's side of a figure.
func (r *rig) note(f figure) string {
	if f.name == memoryFigure && r.peer.most == 1 {
		return " (" + r.peer.name + ": a process for each)"
	}
	return ""
}

// quantile interpolates between the two nearest of the values.
func quantile(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}

// digits prints three significant ones, and all before the point.
func digits(v float64) string {
	if v >= 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// nanoseconds prints a time.
func nanoseconds(ns float64) string { return time.Duration(ns).Round(100 * time.Nanosecond).String() }
