package run

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mqlab/mqlab/internal/plan"
)

// growth is a piece of a file that one step of the writer added.
type growth struct {
	name string
	from int
	data []byte
}

// record writes a trial of five windows and returns its folder, and what was written in the order in which it was.
func record(t *testing.T) (dir string, order []growth) {
	t.Helper()
	w := create(t, t.TempDir())
	tw := mustTrial(t, w, 1)
	folder := filepath.Join(w.Dir(), "trials", "1")
	sizes := map[string]int{}
	step := func(err error) {
		t.Helper()
		must(t, err)
		for _, name := range grown(t, folder) {
			b, err := os.ReadFile(filepath.Join(folder, name))
			must(t, err)
			if len(b) > sizes[name] {
				order = append(order, growth{name, sizes[name], b[sizes[name]:]})
				sizes[name] = len(b)
			}
		}
	}
	for i := range int64(5) {
		step(tw.Window(window("sub", i)))
		step(tw.Event(Event{T: i, Kind: "tick"}))
	}
	return w.Dir(), order
}

// grown lists the files of a folder as a window's step writes them: the line last.
func grown(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	must(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(ext(a), ext(b)) })
	return names
}

func ext(name string) string { // .hlog sorts before .jsonl
	return filepath.Ext(name) + name
}

// TestKilledAtAnyByte replays the bytes of a recorded trial up to every offset and opens what is there.
func TestKilledAtAnyByte(t *testing.T) {
	dir, order := record(t)
	folder := filepath.Join(dir, "trials", "1")
	want := open(t, dir).Trials[0].Windows
	for name := range names(order) {
		must(t, os.Truncate(filepath.Join(folder, name), 0))
	}
	windows := 0
	for _, g := range order {
		f, err := os.OpenFile(filepath.Join(folder, g.name), os.O_WRONLY, 0)
		must(t, err)
		done := 0
		for _, n := range offsets(len(g.data)) {
			_, err := f.WriteAt(g.data[done:n], int64(g.from+done))
			must(t, err)
			done = n
			if g.name == windowsFile && n == len(g.data) {
				windows++
			}
			got := open(t, dir).Trials[0]
			if got.State != Cut || got.Damage != nil || len(got.Windows) != windows {
				t.Fatalf("%s cut at %d: state %s, %d windows (want %d), damage %q", g.name, g.from+n, got.State, len(got.Windows), windows, got.Damage)
			}
			for i := range got.Windows {
				if a, b := got.Windows[i].Hists[0].Count(), want[i].Hists[0].Count(); a != b {
					t.Fatalf("window %d has %d values, want %d", i, a, b)
				}
			}
		}
		must(t, f.Close())
	}
	if windows != 5 {
		t.Fatalf("%d windows were replayed", windows)
	}
}

func names(order []growth) map[string]bool {
	m := map[string]bool{}
	for _, g := range order {
		m[g.name] = true
	}
	return m
}

// offsets are every seventh byte, and every byte near the end.
func offsets(n int) (at []int) {
	for i := range n + 1 {
		if i%7 == 0 || n-i < 4 {
			at = append(at, i)
		}
	}
	return at
}

// TestDamageIsNeverSilent cuts and breaks single files of a finished trial; each must be noticed.
func TestDamageIsNeverSilent(t *testing.T) {
	dir, order := record(t)
	folder := filepath.Join(dir, "trials", "1")
	root, err := os.OpenRoot(folder)
	must(t, err)
	defer root.Close()
	must(t, writeWhole(root, recordFile, &TrialRecord{State: Finished, Trial: plan.Trial{ID: 1}}))
	if got := open(t, dir).Trials[0]; got.State != Finished || got.Damage != nil {
		t.Fatalf("whole: %s %q", got.State, got.Damage)
	}
	files := slices.Sorted(maps.Keys(names(order)))
	for _, name := range append(files, recordFile) {
		b, err := root.ReadFile(name)
		must(t, err)
		whole := len(b)
		for _, n := range offsets(whole - 1) {
			must(t, root.WriteFile(name, b[:n], 0o644))
			// Whole events may be missing unnoticed, and a missing last line break does no harm.
			harmless := name == eventsFile && (n == 0 || b[n-1] == '\n') || n == whole-1
			got := open(t, dir).Trials[0]
			if len(got.Damage) == 0 && !harmless {
				t.Fatalf("%s cut at %d of %d went unnoticed", name, n, whole)
			}
			if name == recordFile && got.State != Cut && !harmless {
				t.Fatalf("record cut at %d: state %s", n, got.State)
			}
		}
		must(t, root.WriteFile(name, b, 0o644))
	}
	for _, name := range files {
		b, err := root.ReadFile(name)
		must(t, err)
		must(t, root.WriteFile(name, append([]byte("rubbish\n"), b...), 0o644))
		if got := open(t, dir).Trials[0]; len(got.Damage) == 0 {
			t.Errorf("rubbish in %s went unnoticed", name)
		}
		must(t, root.Remove(name))
		if got := open(t, dir).Trials[0]; len(got.Damage) == 0 && name != eventsFile {
			t.Errorf("%s missing went unnoticed", name)
		}
		must(t, root.WriteFile(name, b, 0o644))
	}
}

// TestCutWhileFinishing: the record's temporary file does not count.
func TestCutWhileFinishing(t *testing.T) {
	dir, _ := record(t)
	must(t, os.WriteFile(filepath.Join(dir, "trials", "1", recordFile+".tmp"), []byte(`{"state":"finished"`), 0o644))
	must(t, os.Mkdir(filepath.Join(dir, "trials", "2"), 0o755))
	must(t, os.Mkdir(filepath.Join(dir, "trials", "02"), 0o755))
	r := open(t, dir)
	if len(r.Trials) != 2 {
		t.Fatalf("%d trials", len(r.Trials))
	}
	for i, tr := range r.Trials {
		if tr.State != Cut || tr.Trial.ID != i+1 || tr.Trial.Repetition != 1 || tr.Damage != nil {
			t.Errorf("%+v", tr.TrialRecord)
		}
	}
}

// FuzzOpen: whatever stands in a trial's files, Open neither fails nor panics.
func FuzzOpen(f *testing.F) {
	log := "#[StartTime: 1.000 (seconds since epoch), x]\n"
	f.Add([]byte(`{"group":"sub","start_ns":0,"end_ns":1,"phase":"measure","hists":{"response":2}}`+"\n"), []byte(log), []byte(`{"state":"finished","trial":{"id":1}}`))
	f.Add([]byte("{}\n[]\nnull\n{"), []byte("Tag=measure,0,1,2,HISTFAAAA\n"), []byte("{"))
	f.Add([]byte(`{"group":"../x","hists":{"response":-1,"none":3}}`+"\n"), []byte{}, []byte("null"))
	f.Fuzz(func(t *testing.T, windows, log, record []byte) {
		w := create(t, t.TempDir())
		folder := filepath.Join(w.Dir(), "trials", "1")
		must(t, os.Mkdir(folder, 0o755))
		for name, content := range map[string][]byte{
			windowsFile: windows, "sub.response.hlog": log, recordFile: record, monitorFile: windows, eventsFile: log,
		} {
			must(t, os.WriteFile(filepath.Join(folder, name), content, 0o644))
		}
		if r := open(t, w.Dir()); len(r.Trials) != 1 {
			t.Fatalf("%d trials", len(r.Trials))
		}
	})
}
