//go:build linux

// Command bottleneck makes situations whose bottleneck is known, lets mqlab name it, and prints how often it was right, as a
// confusion table. It exits with 1 if fewer than 95 of 100 verdicts were right.
//
// Every case is a run of the mqlab program that it builds first. Other work on the machine makes any case one of a host that is shared:
// a trial during which programs that are not ours used more than a fifth of the CPU is repeated, and left out, by name, if that does
// not help.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() { os.Exit(bottleneck(os.Args[1:])) }

// options say what to do.
type options struct {
	out    io.Writer
	only   string
	tries  int
	others float64
}

func bottleneck(args []string) int {
	if len(args) == 1 && args[0] == hogVerb {
		hog()
	}
	o := options{out: os.Stdout}
	flags := flag.NewFlagSet("bottleneck", flag.ContinueOnError)
	flags.StringVar(&o.only, "only", "", "only truths with this in their name")
	flags.IntVar(&o.tries, "tries", 4, "how often a disturbed case is tried")
	flags.Float64Var(&o.others, "others", 0.2, "part of the machine's CPU that other programs may use before a case counts as disturbed")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	right, err := run(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bottleneck:", err)
	}
	if err != nil || !right {
		return 1
	}
	return 0
}

// wanted is the part of the verdicts that must be right.
const wanted = 0.95

// run carries out all cases and reports whether enough verdicts were right.
func run(ctx context.Context, o options) (ok bool, err error) {
	dir, err := os.MkdirTemp("", "bottleneck-")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	program := filepath.Join(dir, "mqlab")
	if text, err := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", program, "github.com/mqlab/mqlab/cmd/mqlab").CombinedOutput(); err != nil {
		return false, fmt.Errorf("go build: %w: %s", err, text)
	}
	scenario := filepath.Join(dir, "bottleneck.yaml")
	if err := os.WriteFile(scenario, []byte("name: bottleneck\n"), 0o600); err != nil {
		return false, err
	}
	fmt.Fprintf(o.out, "%d cases of about 6 s each on an idle machine: about %s\n", o.cases(), (time.Duration(o.cases()) * 6 * time.Second).Round(10*time.Second))
	var table confusion
	for i := range truths {
		t := &truths[i]
		if !strings.Contains(t.name, o.only) {
			continue
		}
		for _, broker := range t.brokers {
			for _, keys := range t.keys {
				if ctx.Err() != nil {
					return false, errors.Join(err, ctx.Err())
				}
				c := &trial{program: program, scenario: scenario, dir: dir, truth: t, broker: broker, keys: keys, others: o.others}
				v, failed := c.verdict(ctx, o.tries)
				if failed != nil { // the others are worth knowing all the same
					err = errors.Join(err, fmt.Errorf("%s, %s: %w", t.name, broker, failed))
					continue
				}
				table.add(t, v)
				fmt.Fprintf(o.out, "%-5s %-20s %-13s %-13s %s\n", v.mark(t), t.name, broker, v.Kind, v.Text)
			}
		}
	}
	return table.print(o.out), err
}

// cases is how many there are.
func (o *options) cases() (n int) {
	for i := range truths {
		if t := &truths[i]; strings.Contains(t.name, o.only) {
			n += len(t.brokers) * len(t.keys)
		}
	}
	return n
}

// verdict is what mqlab said of a case.
type verdict struct {
	Kind      string `json:"kind"`
	Text      string `json:"text"`
	disturbed bool   // by others, however often it was tried
}

func (v *verdict) mark(t *truth) string {
	switch {
	case v.disturbed:
		return "–"
	case v.Kind == t.kind:
		return "right"
	}
	return "WRONG"
}

// confusion counts verdicts by truth.
type confusion struct {
	truths    []*truth
	seen      map[*truth]map[string]int
	disturbed int
}

func (c *confusion) add(t *truth, v verdict) {
	if v.disturbed {
		c.disturbed++
		return
	}
	if c.seen == nil {
		c.seen = map[*truth]map[string]int{}
	}
	if c.seen[t] == nil {
		c.seen[t] = map[string]int{}
		c.truths = append(c.truths, t)
	}
	c.seen[t][v.Kind]++
}

// print writes a row for each truth and a column for each verdict, and reports whether enough were right.
func (c *confusion) print(out io.Writer) bool {
	var columns []string
	for _, t := range truths {
		columns = append(columns, t.kind)
	}
	for _, seen := range c.seen {
		for kind := range seen {
			if !slices.Contains(columns, kind) {
				columns = append(columns, kind)
			}
		}
	}
	fmt.Fprintf(out, "\n%-22s", "truth \\ verdict")
	for _, k := range columns {
		fmt.Fprintf(out, " %13s", k)
	}
	fmt.Fprintln(out)
	right, all := 0, 0
	for _, t := range c.truths {
		fmt.Fprintf(out, "%-22s", t.name)
		for _, k := range columns {
			n := c.seen[t][k]
			all += n
			if k == t.kind {
				right += n
			}
			fmt.Fprintf(out, " %13d", n)
		}
		fmt.Fprintln(out)
	}
	if all == 0 {
		fmt.Fprintf(out, "\nno verdict: %d cases were disturbed by other programs\n", c.disturbed)
		return false
	}
	part := float64(right) / float64(all)
	fmt.Fprintf(out, "\n%d of %d right (%.1f %%, wanted %.0f %%); %d left out because other programs used the machine\n", right, all, 100*part, 100*wanted, c.disturbed)
	return part >= wanted
}
