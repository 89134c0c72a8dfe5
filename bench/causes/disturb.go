//go:build linux

package main

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mqlab/mqlab/internal/cgroup"
)

// disturbance runs while a client, of which it is told the process, is measured.
type disturbance func(ctx context.Context, pid int)

// hogVerb makes this program one that only uses CPU, until its parent is gone, or for longestHog.
const (
	hogVerb    = "hog"
	longestHog = 20 * time.Second
)

// hog runs as any other program, even where this one runs before others.
func hog() {
	runtime.GOMAXPROCS(1)
	for _, t := range threads(os.Getpid()) {
		_ = unix.SchedSetAttr(t, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL}, 0)
	}
	parent, began := os.Getppid(), time.Now()
	for n := 0; ; n++ {
		if n%1e6 == 0 && (os.Getppid() != parent || time.Since(began) > longestHog) {
			os.Exit(0)
		}
	}
}

func threads(pid int) (list []int) {
	tasks, _ := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	for _, t := range tasks {
		if thread, err := strconv.Atoi(t.Name()); err == nil {
			list = append(list, thread)
		}
	}
	return list
}

// hogs use CPU until ctx is done; core -1 = on any.
func hogs(ctx context.Context, n, core int) {
	self, err := os.Executable()
	if err != nil {
		return
	}
	for range n {
		c := exec.CommandContext(ctx, self, hogVerb)
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a session of its own, as other programs have, is a group of its own to the scheduler
		if c.Start() == nil {
			if core >= 0 {
				pin(c.Process.Pid, core)
			}
			defer func() { _ = c.Wait() }()
		}
	}
	<-ctx.Done()
}

// pin holds all threads of a process to a core.
func pin(pid, core int) {
	var set unix.CPUSet
	set.Set(core)
	for _, t := range threads(pid) {
		_ = unix.SchedSetaffinity(t, &set)
	}
}

// firstCore is one that this program may run on.
func firstCore() int {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) == nil {
		for core := range 1024 {
			if set.IsSet(core) {
				return core
			}
		}
	}
	return 0
}

// hogsOf share the core of a process: that of the client, or the broker's.
func hogsOf(n, broker int) disturbance {
	return func(ctx context.Context, pid int) {
		if broker != 0 {
			pid = broker
		}
		core := firstCore()
		pin(pid, core)
		hogs(ctx, n, core)
	}
}

// within makes commands of programs that run in a control group from their begin.
func within(g *cgroup.Group) func(ctx context.Context, name string, args ...string) *exec.Cmd {
	return func(ctx context.Context, name string, args ...string) *exec.Cmd {
		enter := ""
		for _, dir := range g.Dirs() {
			enter += "echo $$ > '" + dir + "/cgroup.procs' && "
		}
		return exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", enter + `exec "$0" "$@"`, name}, args...)...)
	}
}

// stops lets a process stand still for a length of time, every so often.
func stops(pid int, every, length time.Duration) disturbance {
	return repeat(every, func(ctx context.Context) {
		_ = syscall.Kill(pid, syscall.SIGSTOP)
		pause(ctx, length)
		_ = syscall.Kill(pid, syscall.SIGCONT)
	})
}

// signals sends a process a signal every so often.
func signals(pid int, every time.Duration, s syscall.Signal) disturbance {
	return repeat(every, func(context.Context) { _ = syscall.Kill(pid, s) })
}

func repeat(every time.Duration, do func(context.Context)) disturbance {
	return func(ctx context.Context, _ int) {
		for {
			pause(ctx, every)
			if ctx.Err() != nil {
				return
			}
			do(ctx)
		}
	}
}

// pause waits for d, or until ctx is done.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
