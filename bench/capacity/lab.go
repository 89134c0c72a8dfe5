//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/search"
)

// lab runs mqlab.
type lab struct {
	options
	dir, program string
}

// answer is a capacity, and what it took to find it.
type answer struct {
	rate   float64
	took   time.Duration
	trials int
	end    string
}

// common is what search and sweep have in common. The limits are those of a search unless it says otherwise.
func (l *lab) common() string {
	return fmt.Sprintf(`name: capacity
load: {pattern: pairs, publishers: 20, payload: 256B}
phases: {settle: 100ms, warmup: 500ms, measure: %s, drain: 1s}
machine: %s
seed: 1
`, l.measure, l.machine)
}

// trial is what is read of a trial.
type trial struct {
	Validity string   `json:"validity"`
	Reasons  []reason `json:"reasons"`
	Params   struct {
		Rate float64 `json:"rate_per_s"`
	} `json:"params"`
	Counts struct {
		Lost *uint64 `json:"lost"`
	} `json:"counts"`
	Rates struct {
		Achieved *float64 `json:"achieved_ratio"`
	} `json:"rates"`
	Latency struct {
		Response struct {
			P99 *int64 `json:"p99_ns"`
		} `json:"response"`
	} `json:"latency"`
}

type reason struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// broken are the reasons of an invalid trial that are the broker's answer all the same.
var broken = []string{"killed_for_memory", "broker_exited", "no_samples"}

// outcome judges a trial by the limits of a search: p99 < 50ms, lost = 0, achieved >= 98 %.
func (t *trial) outcome() search.Outcome {
	p99, lost, achieved := t.Latency.Response.P99, t.Counts.Lost, t.Rates.Achieved
	switch {
	case slices.ContainsFunc(t.Reasons, func(r reason) bool { return slices.Contains(broken, r.Code) }):
		return search.Failed
	case t.Validity == "invalid":
		return search.Unmeasured
	case p99 != nil && *p99 >= int64(50*time.Millisecond), lost != nil && *lost > 0, achieved != nil && *achieved < 0.98:
		return search.Failed
	case p99 == nil || lost == nil || achieved == nil:
		return search.Unmeasured
	}
	return search.Held
}

// report is what is read of a run.
type report struct {
	Trials   []trial `json:"trials"`
	Searches []struct {
		Sustainable *float64 `json:"sustainable"`
		End         string   `json:"end"`
		EndText     string   `json:"end_text"`
		EndedBy     *struct {
			Kind string `json:"kind"`
		} `json:"ended_by"`
	} `json:"searches"`
}

// search lets mqlab search.
func (l *lab) search(ctx context.Context, broker string) (answer, error) {
	more := fmt.Sprintf("search: {vary: rate, from: %v/s, to: %v/s, step: %v, confirm: %d, longest: %s}\n", l.grid.From, l.grid.To, l.grid.Step, margin, l.measure)
	r, took, err := l.run(ctx, broker, l.common()+more)
	if err != nil {
		return answer{}, err
	}
	if len(r.Searches) != 1 {
		return answer{}, fmt.Errorf("%d searches, not one", len(r.Searches))
	}
	s := &r.Searches[0]
	if s.Sustainable == nil {
		return answer{}, fmt.Errorf("the search has no answer after %d probes: %s: %s", len(r.Trials), s.End, s.EndText)
	}
	a := answer{rate: *s.Sustainable, took: took, trials: len(r.Trials), end: s.End}
	if s.EndedBy != nil {
		a.end += ": " + s.EndedBy.Kind
	}
	return a, nil
}

// round measures rates once each, and gives the sweep what came of them.
func (l *lab) round(ctx context.Context, broker string, s *sweep, round []int) (took time.Duration, trials []trial, err error) {
	values := l.grid.Values()
	rates := make([]string, len(round))
	for i, index := range round {
		rates[i] = strconv.FormatFloat(values[index], 'f', -1, 64) + "/s"
	}
	r, took, err := l.run(ctx, broker, l.common()+"repeat: 1\nmatrix: {load.rate: ["+strings.Join(rates, ", ")+"]}\n")
	if err != nil {
		return 0, nil, err
	}
	for _, index := range round {
		k := slices.IndexFunc(r.Trials, func(t trial) bool { return t.Params.Rate == values[index] })
		if k < 0 {
			return 0, nil, fmt.Errorf("no trial of %v/s", values[index])
		}
		s.evidence[index].Add(r.Trials[k].outcome())
	}
	return took, r.Trials, nil
}

// compare carries out both: the first round of the sweep, the search, and the sweep's further rounds, so that a host that becomes
// faster or slower meanwhile favours neither.
func (l *lab) compare(ctx context.Context, broker string) (found, swept answer, err error) {
	values := l.grid.Values()
	s := newSweep(len(values))
	var all []trial
	for round := s.next(); len(round) > 0; round = s.next() {
		took, trials, err := l.round(ctx, broker, s, round)
		if err != nil {
			return found, swept, err
		}
		all = append(all, trials...)
		swept.took += took
		swept.trials += len(trials)
		if found.trials > 0 {
			continue
		}
		if found, err = l.search(ctx, broker); err != nil {
			return found, swept, err
		}
	}
	best, end := s.best()
	swept.end = string(end)
	if best < 0 {
		return found, swept, fmt.Errorf("no rate of the sweep held, of %d trials%s", len(all), invalid(all))
	}
	swept.rate = values[best]
	return found, swept, nil
}

// invalid tells how many trials were not valid, and why the first was not.
func invalid(all []trial) string {
	n, why := 0, ""
	for i := range all {
		if all[i].Validity != "invalid" {
			continue
		}
		if n == 0 && len(all[i].Reasons) > 0 {
			why = all[i].Reasons[0].Text
		}
		n++
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d of them not valid: %s", n, why)
}

// run carries a scenario out. A run that is not valid everywhere is one all the same.
func (l *lab) run(ctx context.Context, broker, text string) (r report, took time.Duration, err error) {
	file := filepath.Join(l.dir, "capacity.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return r, 0, err
	}
	args := []string{"run", file, "--brokers", broker, "--json", "--out", filepath.Join(l.dir, "runs")}
	for _, s := range l.settings {
		args = append(args, "--set", s)
	}
	cmd := exec.CommandContext(ctx, l.program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 20 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if l.verbose {
		cmd.Stderr = io.MultiWriter(&stderr, os.Stderr)
	}
	began := time.Now()
	failed := cmd.Run()
	took = time.Since(began)
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		return r, took, fmt.Errorf("%w; mqlab: %w: %s", err, failed, stderr.String())
	}
	return r, took, ctx.Err()
}
