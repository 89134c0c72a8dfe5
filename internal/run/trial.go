package run

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/mqlab/mqlab/internal/hist"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/monitor"
)

// TrialWriter writes the folder of one trial. Its methods may be called from several goroutines. The first error stays:
// every later call returns it, and so does Finish.
type TrialWriter struct {
	id      int
	root    *os.Root
	mu      sync.Mutex
	err     error
	origin  time.Time
	files   map[string]*os.File
	logs    map[string]*hist.LogWriter
	samples *SampleQueue
}

func newTrialWriter(id int, root *os.Root, origin time.Time) *TrialWriter {
	return &TrialWriter{id: id, root: root, origin: origin, files: map[string]*os.File{}, logs: map[string]*hist.LogWriter{}}
}

// windowLine is a line of windows.jsonl. Recorded says how many values each histogram log holds for the window, by metric.
type windowLine struct {
	ledger.Window
	Recorded map[string]int64 `json:"hists,omitempty"`
}

// logName is the file of one group's histograms of one metric.
func logName(group string, m ledger.Metric) string {
	return url.PathEscape(group) + "." + m.String() + logSuffix
}

// Origin says at what time the measure window opens, which is the zero of all windows. It gives the histogram logs their
// absolute times and must come before the first window; without it they count from the start of the run.
func (t *TrialWriter) Origin(measure time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.origin = measure
}

// Begin writes what is known when a trial begins, so that a trial that is cut is known as more than a number. Finish
// replaces it.
func (t *TrialWriter) Begin(r TrialRecord) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	r.State = Cut
	if t.err == nil {
		t.fail(writeWhole(t.root, recordFile, &r))
	}
	return t.err
}

// Window appends a window and its histograms.
func (t *TrialWriter) Window(w *ledger.Window) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	line := windowLine{Window: *w, Recorded: map[string]int64{}}
	for m, h := range w.Hists {
		if h != nil && h.Count() > 0 {
			line.Recorded[ledger.Metric(m).String()] = h.Count()
			t.log(logName(w.Group, ledger.Metric(m)), w, h)
		}
	}
	t.line(windowsFile, &line)
	return t.err
}

// log appends one histogram of w to the named log, tagged with the phase.
func (t *TrialWriter) log(name string, w *ledger.Window, h *hist.Hist) {
	f := t.file(name)
	if t.err != nil {
		return
	}
	l, err := t.logs[name], error(nil)
	if l == nil {
		l, err = hist.NewLogWriter(f, t.origin)
		t.logs[name] = l
	}
	if err == nil {
		err = l.Write(w.Phase, w.Start, w.End, h)
	}
	t.fail(err)
}

// Monitor appends a sample of what broker, generator or host used.
func (t *TrialWriter) Monitor(s monitor.Sample) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.line(monitorFile, &s)
	return t.err
}

// Event appends a moment of the timeline.
func (t *TrialWriter) Event(e Event) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.line(eventsFile, &e)
	return t.err
}

// Samples begins samples.bin, once; the queue is closed by Finish, before which no producer may be in use any more.
func (t *TrialWriter) Samples() (*SampleQueue, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.samples == nil && t.err == nil {
		f := t.file(samplesFile)
		if t.err == nil {
			t.samples, t.err = NewSampleQueue(f)
		}
	}
	return t.samples, t.err
}

// Finish ends the trial: everything written is on the disk before trial.json appears. Samples dropped by the queue are
// added to the record's checks.
func (t *TrialWriter) Finish(r *TrialRecord) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.samples != nil {
		t.err = errors.Join(t.err, t.samples.Close())
		r.Checks.SamplesDropped += t.samples.Dropped()
	}
	for _, f := range t.files {
		t.err = errors.Join(t.err, f.Sync(), f.Close())
	}
	if r.State == "" {
		t.fail(errors.New("record without a state"))
	}
	if t.err == nil {
		t.err = writeWhole(t.root, recordFile, r)
	}
	if err := errors.Join(t.err, t.root.Close()); err != nil {
		return fmt.Errorf("trial %d: %w", t.id, err)
	}
	t.err = os.ErrClosed
	return nil
}

// line appends v to the named file as one line, in one write.
func (t *TrialWriter) line(name string, v any) {
	f := t.file(name)
	if t.err != nil {
		return
	}
	b, err := marshal(v, "")
	if err == nil {
		_, err = f.Write(b)
	}
	t.fail(err)
}

// file returns the named file of the trial, made at first use.
func (t *TrialWriter) file(name string) io.Writer {
	f := t.files[name]
	if f == nil && t.err == nil {
		var err error
		f, err = t.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o644)
		t.fail(err)
		if err == nil {
			t.files[name] = f
		}
	}
	return f
}

func (t *TrialWriter) fail(err error) {
	if err != nil && t.err == nil {
		t.err = fmt.Errorf("trial %d: %w", t.id, err)
	}
}
