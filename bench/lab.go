//go:build linux

package main

import (
	"cmp"
	"context"
	"fmt"
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

// runID marks the messages of the benchmark; the C programs are told it.
const runID = 77

// topic is where all messages go.
const topic = "bench"

// labLoad describes what our own generator does, as a scenario would be resolved.
func labLoad(protocol string, p plan.Params) plan.Trial {
	p.Pattern, p.PayloadForm, p.Verify = plan.PatternPairs, plan.PayloadBinary, plan.VerifyAll
	p.PayloadText = strings.Repeat("x", p.PayloadBytes-stamp.Size)
	p.Pacing = cmp.Or(p.Pacing, plan.PacingConstant)
	p.Topic = cmp.Or(p.Topic, topic)
	p.ClientID, p.Engine, p.Loops, p.NoDelay = "{role}{n}", plan.EngineLoop, 1, true
	p.Quantum = cmp.Or(p.Quantum, plan.QuantumAuto)
	p.Connect = plan.Connect{Timeout: 10 * time.Second, KeepAlive: 10 * time.Minute, CleanStart: true}
	return plan.Trial{ID: 1, Repetition: 1, Seed: 1, Subject: plan.Subject{Name: "bench", Protocol: protocol, Runtime: "external"}, Params: p}
}

// tally adds up the windows from the start of the measure phase on.
type tally struct {
	mu               sync.Mutex
	sent, delivered  uint64        // within the measure phase, as the CPU time is
	counts           ledger.Counts // of messages due in it, and so are the times
	response, kernel hist.Hist
	lately           hist.Hist
}

func (t *tally) window(w *ledger.Window) {
	if w.Start < 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if w.Phase == "measure" {
		t.sent += w.InWindow.Sent
		t.delivered += w.InWindow.Delivered
	}
	t.counts.Add(&w.Counts)
	if h := w.Hists[ledger.Response]; h != nil {
		t.response.Merge(h)
	}
	if h := w.Hists[ledger.Kernel]; h != nil {
		t.kernel.Merge(h)
	}
	if h := w.Hists[ledger.Lateness]; h != nil {
		t.lately.Merge(h)
	}
}

// labRun carries out a trial in this process by the real path: worker, event loop, sessions, ledger, histograms.
func labRun(url string, t plan.Trial) (figures, error) {
	sum := &tally{}
	w, err := worker.NewLocal(worker.Whole(runID, t, url), worker.Credentials{}, netns.Host, worker.Sink{Window: sum.window})
	if err != nil {
		return figures{}, err
	}
	defer func() { _ = w.Close() }()
	if err := w.Prepare(context.Background()); err != nil {
		return figures{}, err
	}
	if err := w.Begin(context.Background(), clock.Now()+int64(10*time.Millisecond)); err != nil {
		return figures{}, err
	}
	r, err := w.Measure(context.Background())
	if err != nil {
		return figures{}, err
	}
	c := &sum.counts
	switch {
	case c.Corrupt+c.Foreign+c.Duplicates+c.Reordered+c.ClockSkew > 0:
		return figures{}, fmt.Errorf("the messages were not recorded as they were sent: %+v", *c)
	case t.Params.Publishers > 0 && t.Params.Subscribers > 0 && c.Delivered < c.Offered:
		return figures{}, fmt.Errorf("of %d messages %d arrived", c.Offered, c.Delivered)
	}
	f := figures{Messages: sum.delivered, CPU: r.Used.CPU}
	if t.Params.Subscribers == 0 {
		f.Messages = sum.sent
	}
	if sum.response.Count() > 0 {
		f.Response = time.Duration(sum.response.Quantile(0.5))
	}
	if sum.kernel.Count() > 0 {
		f.Kernel = time.Duration(sum.kernel.Quantile(0.5))
	}
	if sum.lately.Count() > 0 {
		f.Lateness = time.Duration(sum.lately.Quantile(0.5))
	}
	return f, nil
}

// labPublish publishes as fast as it can; p says what is special about it.
func labPublish(protocol string, p plan.Params) child {
	return func(url string, span time.Duration) (figures, error) {
		p.Publishers, p.PayloadBytes, p.Pacing = 1, smallBytes, "max"
		p.Phases = plan.Phases{WarmUp: warmUp, Measure: span}
		return labRun(url, labLoad(protocol, p))
	}
}

// labDevices is n connections that publish in turn, a write for each message.
func labDevices(n int, send string) child {
	return func(url string, span time.Duration) (figures, error) {
		return labRun(url, labLoad(plan.MQTT311, plan.Params{
			Publishers: n, PayloadBytes: smallBytes, Pacing: "max", Send: send, Writes: plan.WritesMessage,
			Phases: plan.Phases{WarmUp: warmUp, Measure: span},
		}))
	}
}

// labPaced is the same at a rate, as devices have one: a message of each every 50 ms.
func labPaced(send string) child {
	return func(url string, span time.Duration) (figures, error) {
		return labRun(url, labLoad(plan.MQTT311, plan.Params{
			Publishers: devices, PayloadBytes: smallBytes, RatePerS: devicesRate, Quantum: devicesQuantum.String(), Send: send,
			Phases: plan.Phases{WarmUp: warmUp, Measure: span},
		}))
	}
}

// labAMQPDevices is connections that publish in turn over AMQP 0-9-1, a write for each message.
func labAMQPDevices(url string, span time.Duration) (figures, error) {
	return labRun(url, labLoad(plan.AMQP091, plan.Params{
		Publishers: carriers, PayloadBytes: smallBytes, Pacing: "max", Writes: plan.WritesMessage,
		Phases: plan.Phases{WarmUp: warmUp, Measure: span},
	}))
}

// labCrowd is ten thousand connections with a message every half second each, to a peer that only swallows.
func labCrowd(url string, span time.Duration) (figures, error) {
	return labRun(url, labLoad(plan.MQTT311, plan.Params{
		Publishers: crowd, PayloadBytes: smallBytes, RatePerS: 2 * crowd,
		Phases: plan.Phases{WarmUp: warmUp, Measure: span},
	}))
}

func labReceive(url string, span time.Duration) (figures, error) {
	return labRun(url, labLoad(plan.MQTT311, plan.Params{
		Subscribers: 1, PayloadBytes: smallBytes,
		Phases: plan.Phases{WarmUp: warmUp, Measure: span},
	}))
}

func labLatency(url string, span time.Duration) (figures, error) {
	return labRun(url, labLoad(plan.MQTT311, plan.Params{
		Publishers: 1, Subscribers: 1, PayloadBytes: largeBytes, RatePerS: latencyRate, Quantum: plan.QuantumPrecise,
		Phases: plan.Phases{WarmUp: warmUp, Measure: span, Drain: 5 * time.Second},
	}))
}

// labLateness publishes at the same rate to a peer that only swallows.
func labLateness(url string, span time.Duration) (figures, error) {
	return labRun(url, labLoad(plan.MQTT311, plan.Params{
		Publishers: 1, PayloadBytes: largeBytes, RatePerS: latencyRate, Quantum: plan.QuantumPrecise,
		Phases: plan.Phases{WarmUp: warmUp, Measure: span},
	}))
}

// labIdle opens n connections that subscribe and then hear nothing for a span, and tells what memory this process then holds.
func labIdle(n int) child {
	return func(url string, span time.Duration) (figures, error) {
		t := labLoad(plan.MQTT311, plan.Params{Subscribers: n, PayloadBytes: smallBytes, Topic: "bench/{stream}"})
		w, err := worker.NewLocal(worker.Whole(runID, t, url), worker.Credentials{}, netns.Host, worker.Sink{Window: func(*ledger.Window) {}})
		if err != nil {
			return figures{}, err
		}
		if err := w.Prepare(context.Background()); err != nil {
			return figures{}, err
		}
		time.Sleep(span) // what comes back by itself is there then
		s, err := status(os.Getpid())
		if err != nil {
			return figures{}, err
		}
		return figures{Memory: s.RssAnon, Held: s.VmRSS, Peak: s.VmHWM}, w.Close()
	}
}
