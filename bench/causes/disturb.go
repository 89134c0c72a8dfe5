//go:build linux

package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mqlab/mqlab/internal/cgroup"
	"github.com/mqlab/mqlab/internal/clock"
)

// disturbance runs while a client, of which it is told the process, is measured.
type disturbance func(ctx context.Context, pid int)

// hogVerb makes this program one that only uses CPU, until its parent is gone, or for longestHog.
const (
	hogVerb    = "hog"
	longestHog = 20 * time.Second
)

// hog uses CPU. Without arguments it runs as any other program, even where this one runs before others. With the milliseconds of work
// and of rest it works before others (SCHED_RR), and rests in between.
func hog(args []string, _ io.Reader, _ io.Writer) int {
	runtime.GOMAXPROCS(1)
	runtime.LockOSThread()
	policy := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL}
	var work, rest time.Duration
	if len(args) == 2 {
		w, _ := strconv.Atoi(args[0])
		r, _ := strconv.Atoi(args[1])
		work, rest = time.Duration(w)*time.Millisecond, time.Duration(r)*time.Millisecond
		policy.Policy, policy.Priority = unix.SCHED_RR, 1
	}
	for _, t := range threads(os.Getpid()) {
		_ = unix.SchedSetAttr(t, &policy, 0)
	}
	parent, began := os.Getppid(), time.Now()
	turn := began
	for n := 0; ; n++ {
		if n%1e4 != 0 {
			continue
		}
		if os.Getppid() != parent || time.Since(began) > longestHog {
			return 0
		}
		if rest > 0 && time.Since(turn) >= work {
			time.Sleep(rest)
			turn = time.Now()
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

// hogs use CPU until ctx is done: n of them, on any core.
func hogs(ctx context.Context, n int) {
	for range n {
		if wait := startHog(ctx, -1); wait != nil {
			defer wait()
		}
	}
	<-ctx.Done()
}

// startHog starts one, which ends with ctx. core -1 = on any.
func startHog(ctx context.Context, core int, args ...string) (wait func()) {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	c := exec.CommandContext(ctx, self, append([]string{hogVerb}, args...)...)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a session of its own, as other programs have, is a group of its own to the scheduler
	if c.Start() != nil {
		return nil
	}
	if core >= 0 {
		pin(c.Process.Pid, core)
	}
	return func() { _ = c.Wait() }
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

// contended lets a program that goes before others take the core of a process, the client's or the broker's, again and again.
func contended(work, rest time.Duration, broker int) disturbance {
	return func(ctx context.Context, pid int) {
		if broker != 0 {
			pid = broker
		}
		core := firstCore()
		pin(pid, core)
		defer leaveCore(core)()
		if wait := startHog(ctx, core, strconv.Itoa(int(work.Milliseconds())), strconv.Itoa(int(rest.Milliseconds()))); wait != nil {
			defer wait()
		}
		<-ctx.Done()
	}
}

// priorityMissing tells why no program can go before others.
func priorityMissing(ctx context.Context) string {
	if os.Getuid() != 0 {
		return "a program that goes before others (SCHED_RR) needs root"
	}
	return agentMissing("c-libmosquitto")(ctx)
}

// leaveCore keeps this program, whose probe tells of the rest of the host, off a core until it is undone.
func leaveCore(core int) (undo func()) {
	var usual unix.CPUSet
	if unix.SchedGetaffinity(0, &usual) != nil || usual.Count() < 2 {
		return func() {}
	}
	others := usual
	others.Clear(core)
	set := func(cores *unix.CPUSet) {
		for _, t := range threads(os.Getpid()) {
			_ = unix.SchedSetaffinity(t, cores)
		}
	}
	set(&others)
	return func() { set(&usual) }
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
		_ = clock.Pause(ctx, length)
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
			_ = clock.Pause(ctx, every)
			if ctx.Err() != nil {
				return
			}
			do(ctx)
		}
	}
}
