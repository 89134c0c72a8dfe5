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
	Validity string `json:"validity"`
	Reasons  []struct {
		Text string `json:"text"`
	} `json:"reasons"`
	Params struct {
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

// outcome judges a trial by the limits of a search: p99 < 50ms, lost = 0, achieved >= 98 %.
func (t *trial) outcome() search.Outcome {
	r := &t.Latency.Response
	switch {
	case t.Validity == "invalid":
		return search.Unmeasured
	case r.P99 == nil || *r.P99 >= int64(50*time.Millisecond), t.Counts.Lost == nil || *t.Counts.Lost > 0,
		t.Rates.Achieved == nil || *t.Rates.Achieved < 0.98:
		return search.Failed
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
	more := fmt.Sprintf("search: {vary: rate, from: %v/s, to: %v/s, step: %v, longest: %s}\n", l.grid.From, l.grid.To, l.grid.Step, l.measure)
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

// sweep measures every rate once.
func (l *lab) sweep(ctx context.Context, broker string) (answer, error) {
	values := l.grid.Values()
	rates := make([]string, len(values))
	for i, v := range values {
		rates[i] = strconv.FormatFloat(v, 'f', -1, 64) + "/s"
	}
	r, took, err := l.run(ctx, broker, l.common()+"repeat: 1\nmatrix: {load.rate: ["+strings.Join(rates, ", ")+"]}\n")
	if err != nil {
		return answer{}, err
	}
	s := search.New(search.Config{Values: values, Climb: 2, Margin: 1})
	for i, v := range values {
		for k := range r.Trials {
			if r.Trials[k].Params.Rate == v {
				s.Report(i, r.Trials[k].outcome())
			}
		}
	}
	best := s.Result().Best
	if best < 0 {
		return answer{}, fmt.Errorf("no rate of the sweep held, of %d trials%s", len(r.Trials), invalid(r.Trials))
	}
	return answer{rate: values[best], took: took, trials: len(r.Trials)}, nil
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
