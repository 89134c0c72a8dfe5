//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mqlab/mqlab/internal/needs"
)

// TestDiskFull: a disk that fills up during a run is told in one line, with what to do; what was written still opens.
func TestDiskFull(t *testing.T) {
	small := t.TempDir()
	if err := syscall.Mount("none", small, "tmpfs", 0, "size=200k"); err != nil {
		needs.Root(t, "a file system of its own cannot be mounted: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(small, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	file := filepath.Join(t.TempDir(), "full.yaml")
	if err := os.WriteFile(file, []byte("subjects: [mochi]\nload: {rate: 5000/s}\nphases: {settle: 0s, warmup: 0s, measure: 1s}\nrepeat: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := command(t, "run", file, "--samples")
	l.Args = append(l.Args, "--out", small) // the last one counts
	if err := l.Start(); err != nil {
		t.Fatal(err)
	}
	code := l.code()
	told := strings.Count("\n"+l.stderr.String(), "\nmqlab: ")
	if code != exitFailed || told != 1 || !strings.Contains(l.stderr.String(), " is full: free some space") {
		t.Errorf("exit code %d, %d lines: %s", code, told, &l.stderr)
	}
	again := command(t, "report")
	again.Args = append(again.Args, "--out", small)
	if err := again.Start(); err != nil {
		t.Fatal(err)
	}
	if code := again.code(); code != exitDone || !strings.Contains(again.stdout.String(), "The run did not reach its end.") {
		t.Errorf("exit code %d: %s%s", code, &again.stdout, &again.stderr)
	}
}
