//go:build linux

// Command weak checks what the lab says of weak networks, with the lab itself, as a user runs it: mqlab is built, carries out short
// scenarios over emulated links and with outages, and its JSON is held against what protocol and arithmetic say. It prints a line per
// figure, and exits with 1 if one is not as it should be. It needs root or user namespaces for links between unmodified brokers and
// clients, and takes some minutes.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/summary"
)

func main() { os.Exit(weak(os.Args[1:])) }

func weak(args []string) int {
	flags := flag.NewFlagSet("weak", flag.ContinueOnError)
	only := flags.String("only", "", "only what has this in its name")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	missed, err := check(ctx, os.Stdout, *only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "weak:", err)
	}
	if err != nil || missed > 0 {
		return 1
	}
	return 0
}

// proof is a part of what is checked.
type proof struct {
	name string
	run  func(ctx context.Context, l *lab) error
}

var proofs = []proof{
	{"pre-flight", preFlight},
	{"idle", idle},
	{"offline", offline},
	{"black hole", blackHole},
	{"weak-network", weakNetwork},
}

// check runs the proofs and returns how many figures were not as they should be.
func check(ctx context.Context, out io.Writer, only string) (missed int, err error) {
	dir, err := os.MkdirTemp("", "mqlab-weak")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	l := &lab{dir: dir, program: filepath.Join(dir, "mqlab"), out: out}
	if text, err := exec.CommandContext(ctx, "go", "build", "-o", l.program, "github.com/mqlab/mqlab/cmd/mqlab").CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build: %w: %s", err, text)
	}
	for _, p := range proofs {
		if !strings.Contains(p.name, only) {
			continue
		}
		fmt.Fprintln(out, p.name)
		if err := p.run(ctx, l); err != nil {
			return l.missed, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return l.missed, nil
}

// lab runs mqlab and keeps count.
type lab struct {
	dir, program string
	out          io.Writer
	missed       int
}

// measure carries out a scenario.
func (l *lab) measure(ctx context.Context, args ...string) (*summary.Summary, error) {
	cmd := exec.CommandContext(ctx, l.program, append([]string{"run", "--json", "--out", filepath.Join(l.dir, "runs")}, args...)...)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	text, err := cmd.Output()
	s := &summary.Summary{}
	if json.Unmarshal(text, s) != nil || len(s.Trials) == 0 { // its exit code may say that not all is valid
		return nil, fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, complaints.String())
	}
	return s, nil
}

// trials are those of a run that can be judged: the program repeats once each that is not valid. What no trial is valid for is not
// decided, which is a failure.
func (l *lab) trials(s *summary.Summary) (valid []*summary.Trial) {
	type part struct{ point, cell int }
	why, decided := map[part]*summary.Trial{}, map[part]bool{}
	var order []part
	for i := range s.Trials {
		t := &s.Trials[i]
		at := part{t.Point, t.Cell}
		if t.Validity != summary.Invalid && t.Failure == "" {
			valid, decided[at] = append(valid, t), true
			continue
		}
		if why[at] == nil {
			order = append(order, at)
		}
		why[at] = t
	}
	for _, at := range order {
		if t := why[at]; !decided[at] {
			l.say(false, "not decided: %s %s has no valid trial: %s", t.Subject.Name, plan.Settings(t.Params.Set), reason(t))
		}
	}
	return valid
}

// reason is why a trial is not valid.
func reason(t *summary.Trial) string {
	for _, r := range t.Reasons {
		if r.Level == summary.Invalid {
			return r.Text
		}
	}
	return t.Failure
}

// say prints a figure beside what it should be.
func (l *lab) say(ok bool, format string, args ...any) {
	mark := "ok    "
	if !ok {
		mark = "MISSED"
		l.missed++
	}
	fmt.Fprintf(l.out, "  %s %s\n", mark, fmt.Sprintf(format, args...))
}

// near tells that a figure is within a part of what it should be.
func near(got, want, part float64) bool { return got > want*(1-part) && got < want*(1+part) }
