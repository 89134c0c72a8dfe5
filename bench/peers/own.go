//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/hist"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/netns"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/stamp"
	"github.com/mqlab/mqlab/internal/worker"
)

// ownVerb is the first argument by which this program knows that it shall be mqlab's side of a comparison.
const ownVerb = "own"

// The kinds of tasks.
const (
	taskPublish = "publish"
	taskIdle    = "idle"
	taskPaced   = "paced"
	taskLatency = "latency"
)

// ownTask is what mqlab's side is to do.
type ownTask struct {
	Kind, URL, Protocol string
	Answered            bool
	N                   int
}

// ownMain carries out a task by mqlab's real path (worker, event loop, sessions, stamps, ledger, histograms), in a process of its own, and
// prints one number: messages sent, or a median in nanoseconds.
func ownMain(args []string, stdin io.Reader, stdout io.Writer) int {
	if err := carryOut(args, stdin, stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func carryOut(args []string, stdin io.Reader, stdout io.Writer) error {
	var t ownTask
	if len(args) != 1 {
		return fmt.Errorf("usage: %s JSON", ownVerb)
	}
	if err := json.Unmarshal([]byte(args[0]), &t); err != nil {
		return err
	}
	var all tally
	w, err := worker.NewLocal(worker.Whole(1, t.trial(), t.URL), worker.Credentials{}, netns.Host, worker.Sink{Window: all.add})
	if err != nil {
		return err
	}
	defer func() { _ = w.Close() }()
	ctx := context.Background()
	if err := w.Prepare(ctx); err != nil {
		return err
	}
	if t.Kind == taskIdle {
		_, err := io.Copy(io.Discard, stdin)
		return err
	}
	if err := w.Begin(ctx, clock.Now()+int64(5*time.Millisecond)); err != nil {
		return err
	}
	if _, err := w.Measure(ctx); err != nil {
		return err
	}
	number := float64(all.sent)
	if t.Kind == taskLatency {
		number = float64(all.ack.Quantile(0.5))
	}
	_, err = fmt.Fprint(stdout, number)
	return err
}

// trial describes the task as a scenario would be resolved.
func (t *ownTask) trial() plan.Trial {
	p := plan.Params{
		Pattern: plan.PatternPairs, Publishers: 1, Pacing: "max", PayloadBytes: payloadBytes, PayloadForm: plan.PayloadBinary,
		PayloadText: strings.Repeat("x", payloadBytes-stamp.Size), Verify: plan.VerifyAll, Topic: topic, ClientID: "mqlab-{role}{n}",
		Engine: plan.EngineLoop, Loops: 1, Quantum: plan.QuantumAuto, NoDelay: true,
		Connect: plan.Connect{Timeout: 10 * time.Second, KeepAlive: 10 * time.Minute, CleanStart: true},
		Phases:  plan.Phases{Measure: 2 * time.Second, Drain: 5 * time.Second}, // about as many messages as the peers send
	}
	if t.Answered {
		p.QoS, p.Window = 1, depth
	}
	switch t.Kind {
	case taskIdle:
		p.Publishers, p.Subscribers, p.Topic = 0, t.N, topic+"/{stream}"
	case taskPaced:
		p.Pacing, p.RatePerS, p.Quantum = plan.PacingConstant, float64(time.Second)/float64(pace), plan.QuantumPrecise
		p.Phases.Measure = time.Duration(t.N) * pace
	case taskLatency:
		p.QoS, p.Window = 1, 1
	}
	return plan.Trial{ID: 1, Repetition: 1, Seed: 1, Subject: plan.Subject{Name: "peers", Protocol: t.Protocol, Runtime: "external"}, Params: p}
}

// tally adds up windows.
type tally struct {
	mu   sync.Mutex
	sent uint64
	ack  hist.Hist
}

func (t *tally) add(w *ledger.Window) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent += w.InWindow.Sent
	if h := w.Hists[ledger.Ack]; h != nil {
		t.ack.Merge(h)
	}
}
