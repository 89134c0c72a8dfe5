//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// usage is CPU time in ticks of the kernel (proc(5)).
type usage struct {
	all  uint64 // that there is, of all cores
	busy uint64 // that anybody used, another machine's that shares the host included
	ours uint64 // that this program and all that it started used
}

// used reads usage as it is now.
func used() usage {
	u := usage{}
	b, _ := os.ReadFile("/proc/stat")
	first, _, _ := strings.Cut(string(b), "\n")
	for i, f := range strings.Fields(first) {
		n, _ := strconv.ParseUint(f, 10, 64)
		const idle, ioWait, guest = 4, 5, 9 // guest time is part of user time
		if i == 0 || i >= guest {
			continue
		}
		u.all += n
		if i != idle && i != ioWait {
			u.busy += n
		}
	}
	parents, ticks := map[int]int{}, map[int]uint64{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range files {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		b, err := os.ReadFile(name)
		if err != nil {
			continue // it has just ended
		}
		f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:])) // from the third field on
		if len(f) < 15 {
			continue
		}
		parents[pid], _ = strconv.Atoi(f[1])
		for _, of := range f[11:15] { // its own, and that of children that have ended
			n, _ := strconv.ParseUint(of, 10, 64)
			ticks[pid] += n
		}
	}
	for pid := range ticks {
		if descends(pid, os.Getpid(), parents) {
			u.ours += ticks[pid]
		}
	}
	return u
}

func descends(pid, from int, parents map[int]int) bool {
	for range 64 {
		if pid == from {
			return true
		}
		next, ok := parents[pid]
		if !ok {
			return false
		}
		pid = next
	}
	return false
}

// othersSince is the part of the CPU that other programs used.
func (u usage) othersSince(before usage) float64 {
	all, busy, ours := u.all-before.all, u.busy-before.busy, u.ours-before.ours
	if all == 0 || ours >= busy {
		return 0
	}
	return float64(busy-ours) / float64(all)
}
