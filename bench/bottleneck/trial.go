//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/mqlab/mqlab/internal/cgroup"
)

// hogVerb makes this program one that only uses CPU, until its parent is gone.
const hogVerb = "hog"

func hog() {
	parent := os.Getppid()
	for n := 0; ; n++ {
		if n%1e6 == 0 && os.Getppid() != parent {
			os.Exit(0)
		}
	}
}

// trial is one case.
type trial struct {
	program, scenario, dir string
	truth                  *truth
	broker                 string
	keys                   []string
	others                 float64 // part of the machine's CPU that programs which are not ours may use
}

// verdict carries the case out, again while it is disturbed or comes to nothing.
func (t *trial) verdict(ctx context.Context, tries int) (v verdict, err error) {
	for range tries {
		if v, err = t.once(ctx); err == nil && !v.disturbed || ctx.Err() != nil {
			return v, err
		}
	}
	return v, err
}

func (t *trial) once(ctx context.Context) (v verdict, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	stop, err := hogs(ctx, t.truth.hogs)
	if err != nil {
		return v, err
	}
	defer stop()
	runs, err := os.MkdirTemp(t.dir, "runs-")
	if err != nil {
		return v, err
	}
	args := []string{"run", t.scenario, "--brokers", t.broker, "--json", "--out", runs}
	for _, k := range append(append([]string{}, phases...), t.keys...) {
		args = append(args, "--set", k)
	}
	cmd := exec.CommandContext(ctx, t.program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		return v, err
	}
	release, err := starve(ctx, cmd.Process.Pid, t.truth.starved, runs)
	if err != nil {
		_ = cmd.Cancel()
	}
	failed := cmd.Wait() // an invalid trial has a verdict, too
	if err = errors.Join(err, release()); err != nil {
		return v, err
	}
	return t.read(stdout.Bytes(), failed, stderr.String())
}

// read finds the verdict in the JSON of a run.
func (t *trial) read(out []byte, failed error, stderr string) (v verdict, err error) {
	var run struct {
		Trials []struct {
			Bottleneck *verdict `json:"bottleneck"`
			Host       host     `json:"host"`
			Broker     struct {
				CPU *float64 `json:"cpu_seconds"`
			} `json:"broker"`
		} `json:"trials"`
	}
	if err := json.Unmarshal(out, &run); err != nil {
		return v, fmt.Errorf("%w; mqlab: %w: %s", err, failed, stderr)
	}
	if len(run.Trials) == 0 || run.Trials[0].Bottleneck == nil {
		return v, fmt.Errorf("no verdict; mqlab: %w: %s", failed, stderr)
	}
	v = *run.Trials[0].Bottleneck
	v.disturbed = t.truth.hogs == 0 && run.Trials[0].Host.disturbed(t.others, run.Trials[0].Broker.CPU != nil)
	return v, nil
}

// host is what a trial says of its machine, as parts of its CPU.
type host struct {
	Busy   *float64 `json:"busy_ratio"`
	Others *float64 `json:"others_ratio"`
	Steal  *float64 `json:"steal_ratio"`
}

// disturbed tells whether anybody but the trial may have used more than most of the machine: what is not known may be much, for
// little is known where nobody had the time to look. Where host and broker were watched, what others used is absent only because
// it is less than the grain of the counters.
func (h *host) disturbed(most float64, watched bool) bool {
	none := h.Others == nil && h.Busy != nil && watched
	return !none && (h.Others == nil || *h.Others > most) || h.Steal != nil && *h.Steal > most
}

// starve holds a process to a CPU quota as soon as its broker, which is to have all it wants, runs: then the record of its trial has
// appeared. The function it returns ends that.
func starve(ctx context.Context, pid int, cores float64, runs string) (release func() error, err error) {
	release = func() error { return nil }
	if cores == 0 {
		return release, nil
	}
	for tick := time.NewTicker(5 * time.Millisecond); ; {
		if begun, _ := filepath.Glob(filepath.Join(runs, "*", "trials", "1", "trial.json")); len(begun) > 0 {
			tick.Stop()
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			return release, context.Cause(ctx)
		}
	}
	g, err := cgroup.Make("starved-"+strconv.Itoa(os.Getpid()), cgroup.Limits{CPUs: cores}, func(string) {})
	if err != nil {
		return release, err
	}
	return g.Remove, cgroup.Enter(g.Dirs(), pid)
}

// hogs starts programs that only use CPU.
func hogs(ctx context.Context, n int) (stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var all []*exec.Cmd
	stop = func() {
		for _, c := range all {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	}
	for range n {
		c := exec.CommandContext(ctx, self, hogVerb)
		if err := c.Start(); err != nil {
			stop()
			return nil, err
		}
		all = append(all, c)
	}
	return stop, nil
}
