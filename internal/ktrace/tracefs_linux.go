package ktrace

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The tracepoints.
const (
	callBegins = "raw_syscalls/sys_enter"
	callEnds   = "raw_syscalls/sys_exit"
	waking     = "sched/sched_waking"
)

// layout is what the kernel says of its tracepoints; it does not change while it runs.
type layout struct {
	ids   map[string]uint64
	woken int // where a wake-up has the number of the thread
}

var points = sync.OnceValues(func() (*layout, error) {
	root, err := tracefs()
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(root) }()
	l := &layout{ids: map[string]uint64{}}
	for _, name := range []string{callBegins, callEnds, waking} {
		text, err := read(root, "events/"+name+"/id")
		if err != nil {
			return nil, fmt.Errorf("the kernel has no tracepoint %s: %w", name, err)
		}
		if l.ids[name], err = strconv.ParseUint(strings.TrimSpace(text), 10, 64); err != nil {
			return nil, err
		}
	}
	format, err := read(root, "events/"+waking+"/format")
	if err != nil {
		return nil, err
	}
	_, after, _ := strings.Cut(format, "field:pid_t pid;")
	if _, err := fmt.Sscanf(strings.TrimSpace(after), "offset:%d;", &l.woken); err != nil || l.woken > 100 {
		return nil, fmt.Errorf("the kernel's description of %s: %w", waking, err)
	}
	return l, nil
})

// read reads a small file below a folder.
func read(folder int, name string) (string, error) {
	fd, err := unix.Openat(folder, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	f := os.NewFile(uintptr(fd), name)
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(f)
	return string(b), err
}

// tracefs opens the kernel's list of tracepoints: where it is mounted, or as a mount of our own that nobody else sees.
func tracefs() (fd int, err error) {
	for _, dir := range []string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"} {
		if _, err := os.Stat(dir + "/events"); err == nil {
			if fd, err = unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err == nil {
				return fd, nil
			}
		}
	}
	system, err := unix.Fsopen("tracefs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("tracepoints cannot be read without root, or a mounted tracefs: %w", err)
	}
	defer func() { _ = unix.Close(system) }()
	if err := unix.FsconfigCreate(system); err != nil {
		return -1, fmt.Errorf("tracepoints cannot be read: %w", err)
	}
	fd, err = unix.Fsmount(system, unix.FSMOUNT_CLOEXEC, 0)
	return fd, os.NewSyscallError("fsmount", err)
}

// open opens a tracepoint for a thread, and for threads that it starts; -1 = for all that run on a core.
func open(point string, thread, cpu int, sample uint64) (fd int, err error) {
	l, err := points()
	if err != nil {
		return -1, err
	}
	attr := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_TRACEPOINT, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Config: l.ids[point],
		Bits: unix.PerfBitUseClockID, Clockid: unix.CLOCK_MONOTONIC,
	}
	if thread >= 0 {
		attr.Bits |= unix.PerfBitInherit
	}
	if sample != 0 {
		attr.Sample, attr.Sample_type = 1, sample
	}
	fd, err = unix.PerfEventOpen(&attr, thread, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("the kernel's events may not be read (perf_event_paranoid, CAP_PERFMON): %w", err)
	}
	return fd, nil
}

// threads are those of a process.
func threads(pid int) (list []int, err error) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			list = append(list, n)
		}
	}
	return list, err
}
