package procstat

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Proc is where a proc file system is mounted.
type Proc string

// Host is that of this machine.
const Host Proc = "/proc"

// Total is what all threads of a process that are there now have used since they began.
type Total struct {
	Threads                int
	Scheduled              bool          // the kernel tells Ran and Waited
	Ran                    time.Duration // on a core
	Waited                 time.Duration // ready to run, without one
	Voluntary, Involuntary uint64        // context switches
}

// Threads are the thread ids of a process.
func (p Proc) Threads(pid int) (list []int, err error) {
	dir, err := os.Open(p.file(pid, "task"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if tid, err := strconv.Atoi(name); err == nil {
			list = append(list, tid)
		}
	}
	return list, nil
}

// Scheduled is how long a thread ran, and how long it was ready without a core (schedstat, in ns). The error is os.ErrNotExist
// also where the kernel was built without it.
func (p Proc) Scheduled(pid, tid int) (ran, waited time.Duration, err error) {
	f, err := p.fields(2, pid, "task", strconv.Itoa(tid), "schedstat")
	if err != nil {
		return 0, 0, err
	}
	return time.Duration(f[0]), time.Duration(f[1]), nil
}

// Switches is how often a thread gave up its core, and how often that was taken from it (status).
func (p Proc) Switches(pid, tid int) (voluntary, involuntary uint64, err error) {
	name := p.file(pid, "task", strconv.Itoa(tid), "status")
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, 0, err
	}
	found := 0
	for line := range strings.Lines(string(text)) {
		into := &voluntary
		switch key, value, _ := strings.Cut(line, ":"); key {
		case "nonvoluntary_ctxt_switches":
			into = &involuntary
			fallthrough
		case "voluntary_ctxt_switches":
			if *into, err = strconv.ParseUint(strings.TrimSpace(value), 10, 64); err != nil {
				return 0, 0, fmt.Errorf("%s: %w", name, err)
			}
			found++
		}
	}
	if found < 2 {
		return 0, 0, fmt.Errorf("%s does not tell the context switches", name)
	}
	return voluntary, involuntary, nil
}

// Total sums up the threads; those that end meanwhile are left out.
func (p Proc) Total(pid int) (t Total, err error) {
	threads, err := p.Threads(pid)
	if err != nil {
		return t, err
	}
	t.Ran, t.Waited, t.Scheduled = p.scheduled(pid, threads)
	for _, tid := range threads {
		voluntary, involuntary, err := p.Switches(pid, tid)
		if err != nil {
			continue
		}
		t.Threads++
		t.Voluntary += voluntary
		t.Involuntary += involuntary
	}
	return t, nil
}

// TotalScheduled is Scheduled of all threads together; ok is false where the kernel does not tell.
func (p Proc) TotalScheduled(pid int) (ran, waited time.Duration, ok bool) {
	threads, err := p.Threads(pid)
	if err != nil {
		return 0, 0, false
	}
	return p.scheduled(pid, threads)
}

func (p Proc) scheduled(pid int, threads []int) (ran, waited time.Duration, ok bool) {
	for _, tid := range threads {
		if r, w, err := p.Scheduled(pid, tid); err == nil {
			ran, waited, ok = ran+r, waited+w, true
		}
	}
	return ran, waited, ok
}

// Resident is the main memory that a process uses, in bytes (statm).
func (p Proc) Resident(pid int) (uint64, error) {
	f, err := p.fields(2, pid, "statm")
	if err != nil {
		return 0, err
	}
	return f[1] * uint64(os.Getpagesize()), nil
}

// Proportional is the main memory that a process uses, in bytes, with of what it shares its proportion only (smaps_rollup: Pss).
func (p Proc) Proportional(pid int) (uint64, error) {
	name := p.file(pid, "smaps_rollup")
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "Pss:"); ok {
			kib, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("%s: %w", name, err)
			}
			return kib * 1024, nil
		}
	}
	return 0, fmt.Errorf("%s: there is no Pss", name)
}

// Faults is how many pages a process had to wait for: minor ones without, major ones with a read from a disk (stat).
func (p Proc) Faults(pid int) (minor, major uint64, err error) {
	name := p.file(pid, "stat")
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, 0, err
	}
	// Behind the command, which may hold spaces and brackets: the third field of the whole is the first.
	const minorAt, majorAt = 10 - 3, 12 - 3
	f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(f) <= majorAt {
		return 0, 0, fmt.Errorf("%s: %q has too few fields", name, text)
	}
	minor, err1 := strconv.ParseUint(f[minorAt], 10, 64)
	major, err2 := strconv.ParseUint(f[majorAt], 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return 0, 0, fmt.Errorf("%s: %w", name, err)
	}
	return minor, major, nil
}

// Calls is how many system calls of a process read or wrote something (io).
func (p Proc) Calls(pid int) (uint64, error) { return p.io(pid, "syscr", "syscw") }

// Stored is how many bytes a process gave to file systems of disks (io: write_bytes).
func (p Proc) Stored(pid int) (uint64, error) { return p.io(pid, "write_bytes") }

// io adds counts of a process's input and output.
func (p Proc) io(pid int, keys ...string) (sum uint64, err error) {
	name := p.file(pid, "io")
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, ":")
		if !slices.Contains(keys, key) {
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		sum += n
	}
	return sum, nil
}

// fields reads a file that begins with at least so many numbers.
func (p Proc) fields(least, pid int, below ...string) ([]uint64, error) {
	name := p.file(pid, below...)
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	words := strings.Fields(string(text))
	if len(words) < least {
		return nil, fmt.Errorf("%s: %q has fewer than %d fields", name, text, least)
	}
	numbers := make([]uint64, least)
	for i := range numbers {
		if numbers[i], err = strconv.ParseUint(words[i], 10, 64); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return numbers, nil
}

func (p Proc) file(pid int, below ...string) string {
	return filepath.Join(append([]string{string(p), strconv.Itoa(pid)}, below...)...)
}
