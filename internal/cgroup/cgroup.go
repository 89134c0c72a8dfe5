// Package cgroup holds processes to a share of a Linux host's CPU and memory by control groups, of version 2 where its
// controllers are there (Documentation/admin-guide/cgroup-v2.rst) and of version 1 otherwise
// (Documentation/admin-guide/cgroup-v1). What is written and read is pure; only Make, Group and Remove touch the kernel.
package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Prefix is how the name of every group of ours begins; others are never removed.
const Prefix = "mqlab-"

// Group is a group of ours. In version 1 it is two, one in the hierarchy of each controller.
type Group struct {
	version     int
	cpu, memory string // directories; the same in version 2
}

// Make makes a group with the name Prefix+name, empty, with the limits l. Before a directory is made, announce is
// called with it, so that whoever cleans up knows it in time. The error names what is missing.
func Make(name string, l Limits, announce func(dir string)) (*Group, error) {
	if l.CPUs != 0 && l.CPUs < least {
		return nil, fmt.Errorf("%g cores are too few: at least %g", l.CPUs, least)
	}
	return makeBelow(Hierarchies(os.DirFS("/")), Prefix+name, l, announce)
}

func makeBelow(all []Hierarchy, name string, l Limits, announce func(dir string)) (*Group, error) {
	g, err := place(all, name, announce)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(write(g.cpu, cpuFiles(g.version, l.CPUs)), write(g.memory, memoryFiles(g.version, l.Memory))); err != nil {
		return nil, errors.Join(err, g.Remove())
	}
	return g, nil
}

// place makes the directories.
func place(all []Hierarchy, name string, announce func(dir string)) (*Group, error) {
	v2 := slices.IndexFunc(all, func(h Hierarchy) bool { return h.Version == 2 })
	if v2 >= 0 && controls(&all[v2], "cpu") && controls(&all[v2], "memory") {
		dir, err := makeV2(&all[v2], name, announce)
		if err != nil {
			return nil, err
		}
		return &Group{version: 2, cpu: dir, memory: dir}, nil
	}
	g := &Group{version: 1}
	for _, c := range []struct {
		controller string
		dir        *string
	}{{"cpu", &g.cpu}, {"memory", &g.memory}} {
		at := slices.IndexFunc(all, func(h Hierarchy) bool { return h.Version == 1 && controls(&h, c.controller) })
		if at < 0 {
			return nil, errors.Join(missing(all, c.controller), g.Remove())
		}
		dir := filepath.Join(all[at].Dir, name)
		if err := mkdir(dir, announce); err != nil {
			return nil, errors.Join(err, g.Remove())
		}
		*c.dir = dir
	}
	return g, nil
}

func controls(h *Hierarchy, controller string) bool {
	return slices.Contains(h.Controllers, controller)
}

// missing says which controller is not there.
func missing(all []Hierarchy, controller string) error {
	if len(all) == 0 {
		return errors.New("this system has no control groups (Linux has, mounted at /sys/fs/cgroup)")
	}
	return fmt.Errorf("control groups: no %s controller is mounted", controller)
}

// makeV2 makes the directory below the nearest group, from our own upwards, that hands both controllers on and may be
// written. Our own cannot: a group with processes in it hands on nothing ("no internal processes"), except the root.
func makeV2(h *Hierarchy, name string, announce func(dir string)) (dir string, err error) {
	why := errors.New("no group above this process hands the controllers cpu and memory on (cgroup.subtree_control)")
	h.Upwards(func(parent string) {
		if dir != "" || !handsOn(parent) {
			return
		}
		path := filepath.Join(parent, name)
		if e := mkdir(path, announce); e != nil {
			why = e
			return
		}
		dir = path
	})
	if dir == "" {
		return "", fmt.Errorf("control groups: %w; run as root, or with the right to: systemd-run --user --scope -p Delegate=yes mqlab …", why)
	}
	return dir, nil
}

// handsOn tells whether groups below parent have both controllers. The root of all, which has no type, may be told to.
func handsOn(parent string) bool {
	control := filepath.Join(parent, "cgroup.subtree_control")
	if _, err := os.Stat(filepath.Join(parent, "cgroup.type")); errors.Is(err, fs.ErrNotExist) {
		_ = os.WriteFile(control, []byte("+cpu +memory"), 0) // what matters is what is there then
	}
	b, err := os.ReadFile(control)
	words := strings.Fields(string(b))
	return err == nil && slices.Contains(words, "cpu") && slices.Contains(words, "memory")
}

func mkdir(dir string, announce func(dir string)) error {
	announce(dir)
	err := os.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("%w: only root may, or who was given the group", err)
	}
	return err
}

func write(dir string, files []file) error {
	for _, f := range files {
		path := filepath.Join(dir, f.name)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			if f.optional {
				continue
			}
			return fmt.Errorf("control groups: this kernel has no %s", f.name)
		}
		if err := os.WriteFile(path, []byte(f.content), 0); err != nil {
			return fmt.Errorf("control groups: %w", err)
		}
	}
	return nil
}

// Dirs are the directories of the group.
func (g *Group) Dirs() []string {
	var dirs []string
	for _, dir := range []string{g.cpu, g.memory} {
		if dir != "" && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// Version is that of the control groups: 1 or 2.
func (g *Group) Version() int { return g.version }

// Enter puts a process with all its threads, and so its later children, into the group with the directories dirs.
func Enter(dirs []string, pid int) error {
	for _, dir := range dirs {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
			return err
		}
	}
	return nil
}

// Effective reads back the limits in force.
func (g *Group) Effective() (l Limits, err error) {
	bytes := "memory.max"
	if g.version == 1 {
		bytes = "memory.limit_in_bytes"
	}
	if l.CPUs, err = g.quota(); err != nil {
		return l, err
	}
	text, err := os.ReadFile(filepath.Join(g.memory, bytes))
	if err != nil {
		return l, err
	}
	l.Memory, err = parseBytes(string(text))
	return l, err
}

// Usage reads what the group has used since it was made. It outlives the group's processes, not the group.
func (g *Group) Usage() (u Usage, err error) {
	if u, err = g.Throttling(); err != nil {
		return u, err
	}
	events, peak := "memory.events", "memory.peak"
	if g.version == 1 {
		events, peak = "memory.oom_control", "memory.max_usage_in_bytes"
		u.LimitHits = number(g.memory, "memory.failcnt")
	}
	text, err := os.ReadFile(filepath.Join(g.memory, events))
	if err != nil {
		return u, err
	}
	counts := parseStat(string(text))
	u.Kills, u.KillsKnown = counts["oom_kill"]
	if g.version == 2 {
		u.LimitHits = counts["max"]
	}
	u.MemoryPeak = int64(number(g.memory, peak))
	return u, nil
}

// number reads a file that holds one number; 0 if it is not there.
func number(dir, name string) uint64 {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return 0
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Remove kills what is left in the group and removes it.
func (g *Group) Remove() error {
	var err error
	for _, dir := range g.Dirs() {
		err = errors.Join(err, Remove(dir))
	}
	return err
}

const (
	removeLimit = 2 * time.Second // for its processes to end
	removeEach  = 2 * time.Millisecond
)

// Remove kills what is in the group dir, and removes it. Only directories of control groups whose name begins with
// Prefix are ever touched; one that is not there is no error.
func Remove(dir string) error {
	procs := filepath.Join(dir, "cgroup.procs")
	if !strings.HasPrefix(filepath.Base(dir), Prefix) {
		return fmt.Errorf("%s is not a control group of ours", dir)
	}
	for end := time.Now().Add(removeLimit); ; time.Sleep(removeEach) {
		b, err := os.ReadFile(procs)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) {
			return nil
		}
		for pid := range strings.FieldsSeq(string(b)) {
			kill(pid)
		}
		err = syscall.Rmdir(dir)
		switch {
		case err == nil || errors.Is(err, fs.ErrNotExist):
			return nil
		case !errors.Is(err, syscall.EBUSY) || time.Now().After(end):
			return fmt.Errorf("remove %s: %w", dir, err)
		}
	}
}

func kill(text string) {
	pid, err := strconv.Atoi(text)
	if err != nil || pid <= 1 || pid == os.Getpid() {
		return
	}
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill() // it may have ended meanwhile; whether the group is empty shows when it is removed
	}
}
