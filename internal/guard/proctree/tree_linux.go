package proctree

import (
	"errors"
	"os"
	"syscall"

	"github.com/prometheus/procfs"
)

// Unseen reports whether an error of reading /proc means that the process (or thread) has ended meanwhile or is not
// for us to see. Any other error, such as having no descriptor left, says nothing about the process.
func Unseen(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) || errors.Is(err, os.ErrPermission)
}

// List reads the state of every process that fs shows. Processes that end while it reads are left out.
func List(fs procfs.FS) ([]procfs.ProcStat, error) {
	procs, err := fs.AllProcs()
	if err != nil {
		return nil, err
	}
	all := make([]procfs.ProcStat, 0, len(procs))
	for _, p := range procs {
		s, err := p.Stat()
		switch {
		case err == nil:
			all = append(all, s)
		case !Unseen(err):
			return nil, err
		}
	}
	return all, nil
}

// Tree returns those of all that belong to one of roots, in the order of all. A root that has ended still collects
// the members of its group and session.
func Tree(all []procfs.ProcStat, roots ...int) []procfs.ProcStat {
	return Closure(all, func(s procfs.ProcStat) bool {
		for _, root := range roots {
			if s.PID == root || s.PGRP == root || s.Session == root {
				return true
			}
		}
		return false
	})
}

// Closure returns the processes that belong says are ours, and all their descendants.
func Closure(all []procfs.ProcStat, belong func(procfs.ProcStat) bool) []procfs.ProcStat {
	in := make(map[int]bool)
	for _, s := range all {
		if belong(s) {
			in[s.PID] = true
		}
	}
	for grown := len(in) > 0; grown; {
		grown = false
		for _, s := range all {
			if in[s.PPID] && !in[s.PID] {
				in[s.PID], grown = true, true
			}
		}
	}
	tree := make([]procfs.ProcStat, 0, len(in))
	for _, s := range all {
		if in[s.PID] {
			tree = append(tree, s)
		}
	}
	return tree
}

// Members returns the process ids of the tree under root, as it is now.
func Members(root int) ([]int, error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return nil, err
	}
	all, err := List(fs)
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, s := range Tree(all, root) {
		pids = append(pids, s.PID)
	}
	return pids, nil
}
