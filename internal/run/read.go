package run

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/hist"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/monitor"
)

// Run is the folder of a run as Open found it.
type Run struct {
	Dir      string
	Manifest Manifest
	Trials   []Trial // those that were begun, by id
}

// Trial is one trial of a run as Open found it.
type Trial struct {
	TrialRecord
	Windows    []ledger.Window
	Monitor    []monitor.Sample
	Events     []Event
	HasSamples bool
	Damage     []string // what is missing or does not parse although it should be there
}

// Watched are copies of the samples of one role in the order of time.
func (t *Trial) Watched(role string) (samples []monitor.Sample) {
	for _, s := range t.Monitor {
		if s.Role == role {
			samples = append(samples, s)
		}
	}
	slices.SortStableFunc(samples, func(a, b monitor.Sample) int { return cmp.Compare(a.T, b.T) })
	return samples
}

// Open reads the run folder dir, whatever state its writer left it in. It fails only where there is no manifest, or one
// that this version cannot read.
func Open(dir string) (*Run, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, notAFolder(dir, err)
	}
	defer root.Close()
	r := &Run{Dir: dir}
	if r.Manifest, err = readManifest(root); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	for _, id := range trialIDs(root) {
		r.Trials = append(r.Trials, readTrial(root, id, &r.Manifest))
	}
	return r, nil
}

func notAFolder(dir string, err error) error {
	return fmt.Errorf("%s: not a run folder: %w", dir, cause(err))
}

// cause leaves out of an error about a file what the reader is told anyway: the call and the path.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// OpenTrial reads one trial of the run folder dir, as Open does.
func OpenTrial(dir string, id int) (*Trial, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, notAFolder(dir, err)
	}
	defer root.Close()
	m, err := readManifest(root)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	t := readTrial(root, id, &m)
	return &t, nil
}

// OpenSamples opens samples.bin of a trial for NewSampleReader.
func (r *Run) OpenSamples(trial int) (io.ReadCloser, error) {
	return os.OpenInRoot(r.Dir, filepath.Join(trialsDir, strconv.Itoa(trial), samplesFile))
}

// Latest returns the folder of the run under root that was started last.
func Latest(root string) (string, error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return "", fmt.Errorf("no runs: %w", err)
	}
	var last string
	var lastStart time.Time
	for _, e := range slices.Backward(entries) {
		if !e.IsDir() || len(e.Name()) < len(folderTime) {
			continue
		}
		second := e.Name()[:len(folderTime)]
		if last != "" && filepath.Base(last)[:len(folderTime)] != second {
			break
		}
		if start, ok := startOf(filepath.Join(root, e.Name())); ok && (last == "" || start.After(lastStart)) {
			last, lastStart = filepath.Join(root, e.Name()), start
		}
	}
	if last == "" {
		return "", fmt.Errorf("no runs in %s", root)
	}
	return last, nil
}

// startOf reads when the run in dir was started; ok is false if it is no run folder.
func startOf(dir string) (start time.Time, ok bool) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return start, false
	}
	defer root.Close()
	m, err := readManifest(root)
	return m.Started, err == nil
}

func readManifest(root *os.Root) (m Manifest, err error) {
	b, err := root.ReadFile(manifestFile)
	if err != nil {
		return m, fmt.Errorf("not a run folder: %s: %w", manifestFile, cause(err))
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return m, fmt.Errorf("%s is damaged, and without it the run cannot be read: %w", manifestFile, err)
	}
	if m.Schema != Schema {
		return m, fmt.Errorf("%s: schema %d, this version reads %d: use the version of mqlab that made the run", manifestFile, m.Schema, Schema)
	}
	return m, nil
}

// trialIDs returns the numbers of the trial folders, ascending.
func trialIDs(root *os.Root) []int {
	entries, err := fs.ReadDir(root.FS(), trialsDir)
	if err != nil {
		return nil
	}
	var ids []int
	for _, e := range entries {
		if id, err := strconv.Atoi(e.Name()); err == nil && e.IsDir() && strconv.Itoa(id) == e.Name() {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func readTrial(run *os.Root, id int, m *Manifest) Trial {
	t := Trial{TrialRecord: TrialRecord{State: Cut}}
	for i := range m.Plan.Trials {
		if m.Plan.Trials[i].ID == id {
			t.Trial = m.Plan.Trials[i]
		}
	}
	t.Trial.ID = id
	root, err := run.OpenRoot(filepath.Join(trialsDir, strconv.Itoa(id)))
	if err != nil {
		t.damaged("%v", err)
		return t
	}
	defer root.Close()
	t.readRecord(root)
	t.readWindows(root)
	t.Monitor = readLines[monitor.Sample](&t, root, monitorFile)
	t.Events = readLines[Event](&t, root, eventsFile)
	_, err = root.Stat(samplesFile)
	t.HasSamples = err == nil
	return t
}

func (t *Trial) damaged(format string, args ...any) {
	t.Damage = append(t.Damage, fmt.Sprintf(format, args...))
}

func (t *Trial) readRecord(root *os.Root) {
	b, err := root.ReadFile(recordFile)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var r TrialRecord
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	switch {
	case err != nil:
		t.damaged("%s: %v", recordFile, err)
	case r.Trial.ID != t.Trial.ID:
		t.damaged("%s is of trial %d", recordFile, r.Trial.ID)
	default:
		t.TrialRecord = r
	}
}

// readWindows reads the windows and gives them their histograms: the i-th interval of a log belongs to the i-th window of
// that group which says that it has one.
func (t *Trial) readWindows(root *os.Root) {
	lines := readLines[windowLine](t, root, windowsFile)
	if len(lines) == 0 && t.State == Finished {
		t.damaged("%s holds no window", windowsFile)
	}
	logs := map[string]*logCursor{}
	for i := range lines {
		w := &lines[i].Window
		for m := range ledger.NumMetrics {
			want := lines[i].Recorded[m.String()]
			if want == 0 {
				continue
			}
			name := logName(w.Group, m)
			if logs[name] == nil {
				logs[name] = t.openLog(root, name)
			}
			w.Hists[m] = t.nextHist(name, logs[name], want)
		}
		t.Windows = append(t.Windows, *w)
	}
	for name, l := range logs {
		if left := len(l.intervals) - l.next; left > 0 && t.State != Cut {
			t.damaged("%s holds %d histograms of no window", name, left)
		}
	}
}

// logCursor goes through the intervals of a histogram log.
type logCursor struct {
	intervals []hist.Interval
	next      int
}

func (t *Trial) openLog(root *os.Root, name string) *logCursor {
	f, err := root.Open(name)
	if err != nil {
		t.damaged("%s: %v", name, err)
		return &logCursor{}
	}
	defer f.Close()
	intervals, err := hist.ReadLog(f)
	if err != nil {
		t.damaged("%s: %v", name, err)
	}
	return &logCursor{intervals: intervals}
}

// nextHist returns the next histogram of a log, which must hold want values; nil and damage if it does not.
func (t *Trial) nextHist(name string, l *logCursor, want int64) *hist.Hist {
	l.next++
	if l.next > len(l.intervals) {
		if l.next == len(l.intervals)+1 {
			t.damaged("%s ends after %d histograms, its windows have more", name, len(l.intervals))
		}
		return nil
	}
	h := l.intervals[l.next-1].Hist
	if h.Count() != want {
		t.damaged("%s: histogram %d holds %d values, its window says %d", name, l.next, h.Count(), want)
		return nil
	}
	return h
}

// readLines reads a file of JSON lines. A last line without its end is what a killed writer leaves: it is ignored.
// Anything else that does not parse is damage.
func readLines[T any](t *Trial, root *os.Root, name string) (lines []T) {
	b, err := root.ReadFile(name)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			t.damaged("%s: %v", name, err)
		}
		return nil
	}
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		whole := strings.HasSuffix(line, "\n")
		var v T
		switch err := json.Unmarshal([]byte(line), &v); {
		case whole && err == nil:
			lines = append(lines, v)
		case whole:
			t.damaged("%s line %d: %v", name, n, err)
		case t.State != Cut:
			t.damaged("%s line %d is cut", name, n)
		}
	}
	return lines
}
