package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/hist"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/summary"
)

// live tells how a run goes: on a terminal one line that is rewritten each second, otherwise one line per trial.
type live struct {
	w      io.Writer
	over   bool // rewrite the line
	width  int
	trials int

	mu        sync.Mutex
	trial     plan.Trial
	response  *hist.Hist
	expected  uint64
	delivered uint64
	rate      float64       // of the last window
	inMeasure uint64        // deliveries of the measure windows so far
	measured  time.Duration // how long these were
}

func newLive(w io.Writer, p *plan.Plan) *live {
	e := p.Estimate()
	trials := "trials"
	if e.Trials == 1 {
		trials = "trial"
	}
	if p.Search != nil {
		trials = "probes at most"
	}
	_, _ = fmt.Fprintf(w, "%s: %d %s, about %s, seed %d\n", p.Scenario, e.Trials, trials, e.Duration.Round(time.Second), p.Seed)
	for _, l := range p.LeftOut {
		_, _ = fmt.Fprintf(w, "left out: %s\n", l)
	}
	for _, warning := range p.Warnings() {
		_, _ = fmt.Fprintf(w, "warning: %s\n", warning)
	}
	for _, need := range p.Needs {
		_, _ = fmt.Fprintf(w, "need: %s\n", need)
	}
	return &live{w: w, over: rewrites(w), width: terminalWidth(w), trials: e.Trials}
}

// more announces trials on top of the plan.
func (l *live) more(n int) { l.trials += n }

// begin starts the line of a trial.
func (l *live) begin(t plan.Trial) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trial, l.response, l.expected, l.delivered = t, hist.New(), 0, 0
	l.rate, l.inMeasure, l.measured = 0, 0, 0
	if l.over {
		l.show("starting")
	}
}

// say tells what takes its time besides the trials.
func (l *live) say(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		l.show(text)
		return
	}
	_, _ = fmt.Fprintln(l.w, text)
}

// window adds what a window says.
func (l *live) window(w *ledger.Window) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expected += w.Counts.Offered * uint64(l.trial.Params.Fan())
	if w.Group != engine.Subscribers {
		return
	}
	l.delivered += w.Counts.Delivered
	if h := w.Hists[ledger.Response]; h != nil {
		l.response.Merge(h)
	}
	if w.Phase == "measure" && w.End > w.Start {
		l.rate = float64(w.InWindow.Delivered) / time.Duration(w.End-w.Start).Seconds()
		l.inMeasure += w.InWindow.Delivered
		l.measured = max(l.measured, time.Duration(w.End))
	}
	if l.over {
		l.show(w.Phase)
	}
}

// end finishes the line of a trial.
func (l *live) end(r *run.TrialRecord) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.measured > 0 { // the last window may be no more than the rest of a second
		l.rate = float64(l.inMeasure) / l.measured.Seconds()
	}
	state := string(r.State)
	if r.Failure != "" {
		state = "failed: " + r.Failure
	}
	if !l.over {
		_, _ = fmt.Fprintln(l.w, l.line(state))
		return
	}
	l.show(state)
	if r.Failure != "" {
		_, _ = fmt.Fprintln(l.w)
	}
}

// close leaves the cursor on a fresh line.
func (l *live) close() {
	if l.over {
		_, _ = fmt.Fprint(l.w, "\r\x1b[K")
	}
}

func (l *live) show(what string) {
	line := []rune(l.line(what))
	if len(line) >= l.width {
		line = line[:l.width-1]
	}
	_, _ = fmt.Fprintf(l.w, "\r\x1b[K%s", string(line))
}

func (l *live) line(what string) string {
	line := fmt.Sprintf("%*d/%d %-22s %-9s", digits(l.trials), l.trial.ID, l.trials, l.trial.Subject.Name, what)
	if l.delivered == 0 {
		return line
	}
	return line + fmt.Sprintf(" %s  p50 %s  p99 %s  missing %d", summary.Rate(l.rate), l.quantile(0.5), l.quantile(0.99),
		l.expected-min(l.delivered, l.expected))
}

func (l *live) quantile(q float64) string {
	if l.response.Count() == 0 {
		return "n/a"
	}
	return summary.Duration(l.response.Quantile(q))
}

func digits(n int) int { return len(fmt.Sprint(n)) }
