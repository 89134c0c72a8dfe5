package guard

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"

	"github.com/mqlab/mqlab/internal/guard/proctree"
)

// rename gives the process a name of its own, whatever the program file is called (see Start).
func rename() { _ = os.WriteFile("/proc/self/comm", []byte("lab-guard"), 0) }

// startOf returns when pid was started, in clock ticks after boot.
func startOf(pid int) uint64 {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0
	}
	s, err := p.Stat()
	if err != nil {
		return 0
	}
	return s.Starttime
}

// sweep kills what carries mark, belongs to one of roots or works in one of dirs, again and again, until none has been
// there for quiet. Processes that have ended but were not yet waited for do not count.
func sweep(mark string, roots map[int]uint64, dirs map[string]bool, quiet time.Duration) error {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return err
	}
	end := time.Now().Add(limit)
	var gone time.Time
	for {
		all, err := proctree.List(fs)
		if err == nil {
			err = kill(victims(all, mark, roots, dirs))
		}
		now := time.Now()
		switch {
		case err != nil:
			gone = time.Time{}
		case gone.IsZero():
			gone = now
		}
		if err == nil && now.Sub(gone) >= quiet {
			return nil
		}
		if now.After(end) {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// victims picks what is ours. A root whose number has been given to a younger process is left alone with its group.
func victims(all []procfs.ProcStat, mark string, roots map[int]uint64, dirs map[string]bool) []procfs.ProcStat {
	ours := make(map[int]bool, len(roots))
	for pid := range roots {
		ours[pid] = true
	}
	for _, s := range all {
		if started := roots[s.PID]; started != 0 && started != s.Starttime {
			delete(ours, s.PID)
		}
	}
	found := proctree.Closure(all, func(s procfs.ProcStat) bool {
		return ours[s.PID] || ours[s.PGRP] || ours[s.Session] || carries(s.PID, mark) || worksIn(s, dirs)
	})
	self := os.Getpid()
	return slices.DeleteFunc(found, func(s procfs.ProcStat) bool {
		return s.PID == self || s.PID == 1 || s.State == "Z" || s.State == "X"
	})
}

// worksIn tells whether a process without a terminal has one of dirs, or what is below, as its working folder: so has a
// broker that wrote over its environment before the guard was told of it. With a terminal it is somebody who looks
// around there.
func worksIn(s procfs.ProcStat, dirs map[string]bool) bool {
	if len(dirs) == 0 || s.TTY != 0 {
		return false
	}
	at, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", s.PID))
	if err != nil {
		return false
	}
	at = strings.TrimSuffix(at, " (deleted)")
	for dir := range dirs {
		if at == dir || strings.HasPrefix(at, dir+"/") {
			return true
		}
	}
	return false
}

// carries tells whether the environment of pid holds mark, or mark followed by the number of a child ("mark.7").
func carries(pid int, mark string) bool {
	if mark == "" {
		return false
	}
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return false // it ended, or it is another user's and so not one that we could end
	}
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		rest, ok := bytes.CutPrefix(entry, []byte(mark))
		if ok && (len(rest) == 0 || rest[0] == '.') {
			return true
		}
	}
	return false
}

// kill ends all of found. The error names those that were alive until then.
func kill(found []procfs.ProcStat) error {
	var left []string
	for _, s := range found {
		e := syscall.Kill(s.PID, syscall.SIGKILL)
		if errors.Is(e, syscall.ESRCH) {
			continue
		}
		what := fmt.Sprintf("%s (%d)", s.Comm, s.PID)
		if e != nil {
			what += ": " + e.Error()
		}
		left = append(left, what)
	}
	if len(left) > 0 {
		return fmt.Errorf("still running: %s", strings.Join(left, ", "))
	}
	return nil
}
