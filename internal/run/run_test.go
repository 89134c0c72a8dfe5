package run

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mqlab/mqlab/internal/hist"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/monitor"
	"github.com/mqlab/mqlab/internal/plan"
)

var started = time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)

func manifest() Manifest {
	return Manifest{
		ID: "abc123", Scenario: "quick", Source: "name: quick\n", Seed: 7, Started: started, Command: []string{"mqlab", "run", "quick"},
		Host: Host{Kernel: "6.8", Cores: 2},
		Plan: plan.Plan{Scenario: "quick", Seed: 7, Trials: []plan.Trial{{ID: 1, Cell: 1, Point: 1, Repetition: 1}, {ID: 2, Cell: 2, Point: 1, Repetition: 1}}},
	}
}

// window makes the i-th second of a group, with i+1 response times.
func window(group string, i int64) *ledger.Window {
	h := hist.New()
	h.RecordN(1000*(i+1), i+1)
	w := &ledger.Window{Group: group, Start: (i - 1) * 1e9, End: i * 1e9, Phase: "measure", Counts: ledger.Counts{Delivered: uint64(i + 1)}}
	w.Hists[ledger.Response] = h
	if i%2 == 0 {
		w.Hists[ledger.Service] = h.Clone()
	}
	w.Hists[ledger.Kernel] = hist.New() // empty: as good as none
	return w
}

func mustTrial(t *testing.T, w *Writer, id int) *TrialWriter {
	t.Helper()
	tw, err := w.Trial(id)
	if err != nil {
		t.Fatal(err)
	}
	tw.Origin(started.Add(3 * time.Second))
	return tw
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func create(t *testing.T, root string) *Writer {
	t.Helper()
	w, err := Create(root, manifest())
	must(t, err)
	return w
}

func open(t *testing.T, dir string) *Run {
	t.Helper()
	r, err := Open(dir)
	must(t, err)
	return r
}

// sameHist compares what windows recorded by the encoded form.
var sameHist = cmp.Transformer("hist", func(h *hist.Hist) string {
	if h == nil || h.Count() == 0 {
		return ""
	}
	b, err := h.MarshalText()
	if err != nil {
		return err.Error()
	}
	return string(b)
})

func TestRoundTrip(t *testing.T) {
	w := create(t, filepath.Join(t.TempDir(), "runs"))
	if got := filepath.Base(w.Dir()); got != "20260801-120000-quick-abc123" {
		t.Errorf("folder %s", got)
	}
	tw := mustTrial(t, w, 1)
	var want []ledger.Window
	for i := range int64(4) {
		for _, group := range []string{"sub", "a/b.c %"} {
			win := window(group, i)
			must(t, tw.Window(win))
			want = append(want, *win)
		}
	}
	event := Event{T: 4e9, Kind: "pause", Text: "SIGSTOP"}
	must(t, tw.Event(event))
	sample := monitor.Sample{T: 5, Role: monitor.Broker, CPUSeconds: 0.25, PSSBytes: 1 << 20, TCP: &monitor.TCPTotals{BytesSent: 9}}
	must(t, tw.Monitor(sample))
	rec := &TrialRecord{
		State: Finished, Trial: w.Manifest().Plan.Trials[0], Started: started, MeasureStart: 99,
		Generator: Generator{CPUSeconds: new(0.0)}, Checks: Checks{SubscribersReady: true, Measured: 4e9},
	}
	must(t, tw.Finish(rec))
	must(t, w.Finish(map[string]int{"schema": 1}))

	r := open(t, w.Dir())
	if len(r.Trials) != 1 {
		t.Fatalf("%d trials", len(r.Trials))
	}
	if _, err := os.Stat(filepath.Join(w.Dir(), summaryFile)); err != nil {
		t.Error(err)
	}
	got := r.Trials[0]
	if diff := cmp.Diff(*rec, got.TrialRecord); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, got.Windows, sameHist); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]monitor.Sample{sample}, got.Monitor); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Event{event}, got.Events); diff != "" || got.Damage != nil || got.HasSamples {
		t.Error(diff, got.Damage, got.HasSamples)
	}
	m := manifest()
	m.Schema = Schema
	if diff := cmp.Diff(m, r.Manifest); diff != "" {
		t.Error(diff)
	}
}

// TestBegunTrialIsCut: until it has ended, a trial is cut, but known.
func TestBegunTrialIsCut(t *testing.T) {
	w := create(t, t.TempDir())
	tw := mustTrial(t, w, 9) // not in the plan
	begun := TrialRecord{State: Finished, Trial: plan.Trial{ID: 9, Cell: 4}, Broker: Broker{Name: "nats", Version: "2"}}
	must(t, tw.Begin(begun))
	must(t, tw.Window(window("sub", 1)))
	got := open(t, w.Dir()).Trials[0]
	if got.State != Cut || got.Trial.Cell != 4 || got.Broker.Version != "2" || len(got.Windows) != 1 || got.Damage != nil {
		t.Errorf("%+v, damage %q", got.TrialRecord, got.Damage)
	}
	must(t, tw.Finish(&begun))
	if got := open(t, w.Dir()).Trials[0]; got.State != Finished {
		t.Errorf("state %s", got.State)
	}
}

func TestSamplesOfATrial(t *testing.T) {
	w := create(t, t.TempDir())
	tw := mustTrial(t, w, 2)
	q, err := tw.Samples()
	must(t, err)
	if again, err := tw.Samples(); err != nil || again != q {
		t.Errorf("second queue %p, %v", again, err)
	}
	q.Producer().Record(&Sample{Kind: SampleSent, Seq: 5})
	rec := &TrialRecord{State: Failed, Trial: plan.Trial{ID: 2}}
	must(t, tw.Finish(rec))
	r := open(t, w.Dir())
	f, err := r.OpenSamples(2)
	must(t, err)
	defer f.Close()
	sr, err := NewSampleReader(bufio.NewReader(f))
	must(t, err)
	var s Sample
	if err := sr.Next(&s); err != nil || s.Seq != 5 || !r.Trials[0].HasSamples {
		t.Errorf("%+v, %v", s, err)
	}
	if err := sr.Next(&s); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

func TestWriterErrorsStay(t *testing.T) {
	w := create(t, t.TempDir())
	tw := mustTrial(t, w, 1)
	if err := tw.Window(&ledger.Window{Group: "g", Phase: "two words", Hists: window("g", 1).Hists}); err == nil {
		t.Fatal("a phase that a log cannot hold was accepted")
	}
	if err := tw.Event(Event{}); err == nil {
		t.Error("no error after the first")
	}
	if err := tw.Finish(&TrialRecord{State: Finished}); err == nil || !strings.Contains(err.Error(), "trial 1") {
		t.Errorf("finish: %v", err)
	}
	if r := open(t, w.Dir()); r.Trials[0].State != Cut {
		t.Errorf("state %s", r.Trials[0].State)
	}
	if _, err := w.Trial(1); err == nil {
		t.Error("a trial was begun twice")
	}
	stateless := mustTrial(t, w, 2)
	if err := stateless.Finish(&TrialRecord{}); err == nil {
		t.Error("a record without a state was accepted")
	}
	if _, err := Create(filepath.Dir(w.Dir()), manifest()); !errors.Is(err, os.ErrExist) {
		t.Errorf("same folder twice: %v", err)
	}
	nan := mustTrial(t, w, 3)
	if err := nan.Finish(&TrialRecord{State: Finished, Generator: Generator{Cores: nanValue()}}); err == nil {
		t.Error("a value that JSON does not have was accepted")
	}
}

func nanValue() float64 { zero := 0.0; return zero / zero }

func TestUserPartsOfURLsAreNotWritten(t *testing.T) {
	m := manifest()
	m.Source = "brokers: [\"mqtts://joe:s3cr3t@h:8883/x\", 'nats://s3cr3t@n']\n"
	m.Command = []string{"mqlab", "run", "--brokers", "mqtt://joe:p@s3cr3t@host:1883,mqtt://a:s3cr3t@b"}
	m.Plan.Subjects = []plan.Subject{{URL: "mqtt://u:s3cr3t@h"}}
	root := t.TempDir()
	w, err := Create(root, m)
	must(t, err)
	tw := mustTrial(t, w, 1)
	must(t, tw.Event(Event{Text: "dial tcp mqtt://u:s3cr3t@h: refused"}))
	must(t, tw.Finish(&TrialRecord{State: Failed, Failure: "connect nats://s3cr3t@h:4222: refused"}))
	must(t, w.Finish(map[string]string{"url": "mqtt://x:s3cr3t@h"}))
	must(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), "s3cr3t") {
			t.Errorf("%s holds the password:\n%s", path, b)
		}
		return err
	}))
	if got := open(t, w.Dir()).Manifest.Command[3]; got != "mqtt://host:1883,mqtt://b" {
		t.Errorf("the rest of the text is %q", got)
	}
}

func TestLatest(t *testing.T) {
	root := t.TempDir()
	if _, err := Latest(root); err == nil {
		t.Error("a run was found in an empty folder")
	}
	if _, err := Latest(filepath.Join(root, "none")); err == nil {
		t.Error("a run was found in no folder")
	}
	var dirs []string
	for _, s := range []struct {
		id string
		at time.Time
	}{
		{"ffffff", started},
		{"000001", started.Add(500 * time.Millisecond)}, // same second, sorts before
		{"999999", started.Add(-time.Hour).In(time.FixedZone("", 3*3600))},
	} {
		m := manifest()
		m.ID, m.Started = s.id, s.at
		w, err := Create(root, m)
		must(t, err)
		dirs = append(dirs, w.Dir())
	}
	must(t, os.Mkdir(filepath.Join(root, "20990101-000000-no-manifest"), 0o755))
	must(t, os.Mkdir(filepath.Join(root, "zzz"), 0o755))
	must(t, os.WriteFile(filepath.Join(root, "20990101-000001-file-1"), nil, 0o644))
	if got, err := Latest(root); err != nil || got != dirs[1] {
		t.Errorf("%s, %v; want %s", got, err, dirs[1])
	}
}

func TestOpenRefuses(t *testing.T) {
	w := create(t, t.TempDir())
	file := filepath.Join(w.Dir(), "run.json")
	for name, content := range map[string]string{"not JSON": "{", "newer schema": `{"schema": 99}`, "no schema": "{}"} {
		must(t, os.WriteFile(file, []byte(content), 0o644))
		if _, err := Open(w.Dir()); err == nil {
			t.Errorf("%s was opened", name)
		}
	}
	must(t, os.Remove(file))
	if _, err := Open(w.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without manifest: %v", err)
	}
	if _, err := Open(filepath.Join(w.Dir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without folder: %v", err)
	}
}

func TestOpenDoesNotFollowLinksOut(t *testing.T) {
	w := create(t, t.TempDir())
	tw := mustTrial(t, w, 1)
	must(t, tw.Event(Event{}))
	outside := filepath.Join(t.TempDir(), "windows.jsonl")
	must(t, os.WriteFile(outside, []byte("{}\n"), 0o644))
	must(t, os.Symlink(outside, filepath.Join(w.Dir(), "trials", "1", windowsFile)))
	if got := open(t, w.Dir()).Trials[0]; len(got.Windows) != 0 || len(got.Damage) == 0 {
		t.Errorf("%d windows, damage %q", len(got.Windows), got.Damage)
	}
}

func TestNewID(t *testing.T) {
	a, b := NewID(), NewID()
	if len(a) != 6 || a == b {
		t.Errorf("%q, %q", a, b)
	}
}

func TestFolderNamesAreSafe(t *testing.T) {
	m := Manifest{Scenario: "../../ä b" + strings.Repeat("x", 90), Started: started}
	if got := m.folderName(); strings.ContainsAny(got, "/. ") || len(got) > 80 || !strings.HasSuffix(got, "-run") {
		t.Error(got)
	}
}
