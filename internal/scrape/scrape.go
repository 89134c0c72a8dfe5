// Package scrape shows a run while it goes on to Prometheus: counters, gauges and histograms of the trial under way and the one
// before it, in the text format of version 0.0.4 (https://prometheus.io/docs/instrumenting/exposition_formats). It is for watching; the
// figures to keep are those of the run folder.
package scrape

import (
	"sync"
	"time"

	"github.com/mqlab/mqlab/internal/hist"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/plan"
)

// ContentType is that of the text that WriteTo writes.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// kept is how many trials are shown: the one under way, and the one before, so that its last figures are not missed.
const kept = 2

// Metrics are the figures of a run. Its methods may be called from several goroutines; a nil one takes in nothing.
type Metrics struct {
	run, scenario string
	planned       int

	mu     sync.Mutex
	begun  int
	trials []*trial // the latest last
}

// trial is what the windows of a trial have said so far.
type trial struct {
	plan.Trial
	running   bool
	counts    ledger.Counts
	in        ledger.InWindow
	hists     [ledger.NumMetrics]*hist.Hist
	delivered float64 // per second, in the window seen last
}

// New makes the metrics of a run of that id, scenario and number of trials.
func New(run, scenario string, trials int) *Metrics {
	return &Metrics{run: run, scenario: scenario, planned: trials}
}

// Begin starts a trial.
func (m *Metrics) Begin(t plan.Trial) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.begun++
	m.trials = append(m.trials, &trial{Trial: t, running: true})
	m.trials = m.trials[max(0, len(m.trials)-kept):]
}

// Window adds a window of the trial begun last. What was due in the warm-up is in no count and no histogram but those of
// connections.
func (m *Metrics) Window(w *ledger.Window) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.trials) == 0 {
		return
	}
	t := m.trials[len(m.trials)-1]
	t.in.BytesOut += w.InWindow.BytesOut
	t.in.BytesIn += w.InWindow.BytesIn
	if w.Phase == "measure" && w.End > w.Start && w.InWindow.Delivered > 0 {
		t.delivered = float64(w.InWindow.Delivered) / time.Duration(w.End-w.Start).Seconds()
	}
	for metric, h := range w.Hists {
		if h == nil || w.Start < 0 && metric != int(ledger.Connect) {
			continue
		}
		if t.hists[metric] == nil {
			t.hists[metric] = new(hist.Hist)
		}
		t.hists[metric].Merge(h)
	}
	if w.Start >= 0 {
		t.counts.Add(&w.Counts)
	}
}

// End says that the trial begun last is over.
func (m *Metrics) End() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.trials) > 0 {
		m.trials[len(m.trials)-1].running = false
	}
}
