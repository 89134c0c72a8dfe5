package proctree

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"
)

func TestTree(t *testing.T) {
	all := []procfs.ProcStat{
		{PID: 1, PGRP: 1, Session: 1},
		{PID: 9, PPID: 20, PGRP: 9, Session: 9}, // a child with a lower number than its parent
		{PID: 10, PPID: 1, PGRP: 10, Session: 10},
		{PID: 11, PPID: 10, PGRP: 10, Session: 10},
		{PID: 20, PPID: 11, PGRP: 20, Session: 20},
		{PID: 30, PPID: 1, PGRP: 30, Session: 10}, // an orphan that left the group, not the session
		{PID: 31, PPID: 1, PGRP: 10, Session: 10}, // an orphan of the group
		{PID: 40, PPID: 1, PGRP: 40, Session: 40}, // somebody else
	}
	for _, c := range []struct {
		roots []int
		want  string
	}{
		{[]int{10}, "[9 10 11 20 30 31]"},
		{[]int{20}, "[9 20]"},
		{[]int{20, 40}, "[9 20 40]"},
		{[]int{99}, "[]"},
		{nil, "[]"},
	} {
		pids := []int{}
		for _, s := range Tree(all, c.roots...) {
			pids = append(pids, s.PID)
		}
		if got := fmt.Sprint(pids); got != c.want {
			t.Errorf("Tree(%v) = %s, want %s", c.roots, got, c.want)
		}
	}
}

func TestListTellsFailureFromEnd(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "5"), 0o700); err != nil { // ended: no stat any more
		t.Fatal(err)
	}
	fs, err := procfs.NewFS(dir)
	if err != nil {
		t.Fatal(err)
	}
	if all, err := List(fs); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
	for err, want := range map[error]bool{
		os.ErrNotExist: true, syscall.ESRCH: true, syscall.EACCES: true, syscall.EMFILE: false, errors.New("other"): false,
	} {
		if Unseen(fmt.Errorf("read: %w", err)) != want {
			t.Errorf("Unseen(%v) is not %v", err, want)
		}
	}
}

func TestSignalsReachTheTreeOnly(t *testing.T) {
	for _, root := range []int{-1, 0, 1} {
		for name, send := range map[string]func(int) error{"Terminate": Terminate, "Pause": Pause, "Resume": Resume} {
			if err := send(root); !errors.Is(err, errNoTree) {
				t.Errorf("%s(%d) = %v", name, root, err)
			}
		}
	}
	cmd := exec.Command("sh", "-c", "exec 3<&0; setsid sh -c 'echo; exec cat <&3' & exec cat")
	Detach(cmd)
	in, err := cmd.StdinPipe() // both end when it is closed
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = in.Close()
		_ = cmd.Wait()
	}()
	_, _ = out.Read(make([]byte, 1)) // the one in the other session is there
	members, err := Members(cmd.Process.Pid)
	if err != nil || len(members) != 2 || slices.Contains(members, os.Getpid()) {
		t.Errorf("members %v, %v", members, err)
	}
	for _, step := range []struct {
		name    string
		send    func(int) error
		stopped bool
	}{{"Pause", Pause, true}, {"Resume", Resume, false}} {
		if err := step.send(cmd.Process.Pid); err != nil {
			t.Error(err)
		}
		for _, pid := range members {
			mustBecome(t, pid, step.name, step.stopped)
		}
	}
}

// mustBecome waits, with a bound, until a process is stopped or runs.
func mustBecome(t *testing.T, pid int, what string, stopped bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for range 1000 {
		p, err := procfs.NewProc(pid)
		if err != nil {
			t.Fatal(err)
		}
		s, err := p.Stat()
		if err != nil {
			t.Fatal(err)
		}
		if (s.State == "T") == stopped {
			return
		}
		<-tick.C
	}
	t.Errorf("%s did not reach %d", what, pid)
}
