package cores

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Usable are the cores that this process may use, those together that the kernel calls threads of one core.
func Usable() ([]Set, error) {
	mine, err := Of(os.Getpid())
	if err != nil {
		return nil, err
	}
	var groups []Set
	seen := map[int]bool{}
	for _, n := range mine {
		if seen[n] {
			continue
		}
		var group Set
		for _, s := range siblings(n) {
			if slices.Contains(mine, s) && !seen[s] {
				group, seen[s] = append(group, s), true
			}
		}
		groups = append(groups, group)
	}
	return groups, nil
}

// siblings are the threads of the core that n is one of; n alone if the kernel does not tell.
func siblings(n int) Set {
	text, err := os.ReadFile(fmt.Sprintf("/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", n))
	if err != nil {
		return Set{n}
	}
	if s, err := Parse(string(text)); err == nil && slices.Contains(s, n) {
		return s
	}
	return Set{n}
}

// Of is where the main thread of a process may run (Cpus_allowed_list of proc_pid_status(5)).
func Of(pid int) (Set, error) { return allowed(filepath.Join("/proc", strconv.Itoa(pid), "status")) }

func allowed(file string) (Set, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		if list, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
			return Parse(list)
		}
	}
	return nil, fmt.Errorf("%s does not tell the cores", file)
}

// Hold holds all threads of this process, and those that they will start, to the cores of s. The function it returns lets them
// run again where they could before.
func Hold(s Set) (release func() error, err error) {
	before, err := Of(os.Getpid())
	if err != nil {
		return nil, err
	}
	if err := holdAll(s); err != nil {
		return nil, errors.Join(err, holdAll(before))
	}
	return func() error { return holdAll(before) }, nil
}

// holdAll goes through the threads until all are held: one that was not held yet may have started another meanwhile.
func holdAll(s Set) error {
	mask := maskOf(s)
	for {
		files, err := filepath.Glob("/proc/self/task/[0-9]*")
		if err != nil {
			return err
		}
		changed := false
		for _, file := range files {
			now, err := allowed(filepath.Join(file, "status"))
			if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) || err == nil && slices.Equal(now, s) {
				continue // ended meanwhile, or held
			}
			tid, _ := strconv.Atoi(filepath.Base(file)) // the pattern is of digits
			if err := unix.SchedSetaffinity(tid, mask); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("hold thread %d to cores %s: %w", tid, s, err)
			}
			changed = true
		}
		if !changed {
			return nil
		}
	}
}

// Start calls start on a thread that is held to s, so that a process which it starts is so from its first instruction on,
// and with it all that this process starts. An empty s changes nothing.
func Start(s Set, start func() error) error {
	if len(s) == 0 {
		return start()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return err
	}
	if err := unix.SchedSetaffinity(0, maskOf(s)); err != nil {
		return fmt.Errorf("cores %s: %w", s, err)
	}
	err := start()
	return errors.Join(err, unix.SchedSetaffinity(0, &before))
}

func maskOf(s Set) *unix.CPUSet {
	var mask unix.CPUSet
	for _, n := range s {
		mask.Set(n)
	}
	return &mask
}
