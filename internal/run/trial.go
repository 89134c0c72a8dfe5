package run

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/mqlab/mqlab/internal/ledger"
)

// TrialWriter writes the folder of one trial. Its methods may be called from several goroutines. The first error stays:
// every later call returns it, and so does Finish.
type TrialWriter struct {
	id      int
	root    *os.Root
	start   time.Time // zero of the histogram logs
	mu      sync.Mutex
	err     error
	files   map[string]*os.File
	samples *SampleQueue
}

func newTrialWriter(id int, root *os.Root, start time.Time) *TrialWriter {
	return &TrialWriter{id: id, root: root, start: start, files: map[string]*os.File{}}
}

// windowLine is a line of windows.jsonl. Hists says how many values each histogram log must hold for the window.
type windowLine struct {
	ledger.Window
	Hists map[string]int64 `json:"hists,omitempty"`
}

// Window appends a window and its histograms.
func (t *TrialWriter) Window(w *ledger.Window) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	line := windowLine{Window: *w, Hists: map[string]int64{}}
	for m, h := range w.Hists {
		if h != nil && h.Count() > 0 {
			line.Hists[ledger.Metric(m).String()] = h.Count()
		}
	}
	t.line(windowsFile, &line)
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
