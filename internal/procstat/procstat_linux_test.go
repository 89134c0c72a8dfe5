package procstat

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// made is a made-up /proc of one process, 7.
func made(t *testing.T, files map[string]string) Proc {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, "7", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Proc(dir)
}

const status = "Name:\tx\nvoluntary_ctxt_switches:\t3\nnonvoluntary_ctxt_switches:\t4\n"

func TestTotal(t *testing.T) {
	p := made(t, map[string]string{
		"task/7/schedstat": "10 20 1\n", "task/7/status": status,
		"task/8/schedstat": "100 200 1\n", "task/8/status": status,
		"task/9/comm": "ends just now\n",
	})
	got, err := p.Total(7)
	want := Total{Threads: 2, Scheduled: true, Ran: 110, Waited: 220, Voluntary: 6, Involuntary: 8}
	if err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	without := made(t, map[string]string{"task/7/status": status})
	if got, err := without.Total(7); err != nil || got.Scheduled || got.Voluntary != 3 {
		t.Errorf("a kernel without schedstat: %+v, %v", got, err)
	}
	if _, err := p.Total(99); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no process: %v", err)
	}
}

func TestMemory(t *testing.T) {
	p := made(t, map[string]string{"io": "rchar: 9\nsyscr: 5\nsyscw: 6\n", "statm": "9 2 1 1 0 1 0\n", "stat": "7 (a (b) c) S 1 7 7 0 -1 4194304 11 12 13 14 1 2\n"})
	if bytes, err := p.Resident(7); err != nil || bytes != 2*uint64(os.Getpagesize()) {
		t.Errorf("%d bytes, %v", bytes, err)
	}
	if calls, err := p.Calls(7); err != nil || calls != 11 {
		t.Errorf("%d calls, %v", calls, err)
	}
	if minor, major, err := p.Faults(7); err != nil || minor != 11 || major != 13 {
		t.Errorf("faults %d, %d, %v", minor, major, err)
	}
}

func TestNonsenseIsAnError(t *testing.T) {
	p := made(t, map[string]string{
		"statm": "9\n", "stat": "7 (x) S 1\n", "task/7/schedstat": "a b\n", "task/7/status": "voluntary_ctxt_switches:\t3\n",
		"io": "syscr: 1\nwrite_bytes: x\n",
	})
	for name, read := range map[string]func() error{
		"statm":     func() error { _, err := p.Resident(7); return err },
		"stat":      func() error { _, _, err := p.Faults(7); return err },
		"schedstat": func() error { _, _, err := p.Scheduled(7, 7); return err },
		"status":    func() error { _, _, err := p.Switches(7, 7); return err },
		"io":        func() error { _, err := p.Stored(7); return err },
	} {
		if read() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestInputOutput(t *testing.T) {
	p := made(t, map[string]string{"io": "rchar: 9\nwchar: 8\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 4096\ncancelled_write_bytes: 1\n"})
	if calls, err := p.Calls(7); err != nil || calls != 7 {
		t.Errorf("%d calls, %v", calls, err)
	}
	if bytes, err := p.Stored(7); err != nil || bytes != 4096 {
		t.Errorf("%d bytes, %v", bytes, err)
	}
}

func TestThisProcess(t *testing.T) {
	pid := os.Getpid()
	total, err := Host.Total(pid)
	if err != nil || total.Threads == 0 || total.Scheduled && total.Ran <= 0 || total.Ran > time.Hour {
		t.Errorf("%+v, %v", total, err)
	}
	if bytes, err := Host.Resident(pid); err != nil || bytes == 0 {
		t.Errorf("%d bytes, %v", bytes, err)
	}
}
