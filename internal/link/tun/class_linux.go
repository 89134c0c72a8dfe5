package tun

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// How long a thread of the real-time class may run without waiting for anything (RLIMIT_RTTIME, see getrlimit(2)). One that carries
// packets waits thousands of times a second unless it has more of them than it can carry.
const (
	busyLimit = 3 * time.Second  // then all threads leave the class
	killLimit = 10 * time.Second // then the kernel ends the process: it did not even do that
)

// boundRealTime sets both limits for this process.
func boundRealTime() error {
	limit := unix.Rlimit{Cur: uint64(busyLimit.Microseconds()), Max: uint64(killLimit.Microseconds())}
	return os.NewSyscallError("setrlimit", unix.Setrlimit(unix.RLIMIT_RTTIME, &limit))
}

// class is how the threads of a carrier are scheduled, and why so.
type class struct {
	mu             sync.Mutex
	scheduler, why string
}

func (c *class) tell(a *answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a.Scheduler, a.Why = c.scheduler, c.why
}

// watch takes all threads out of the real-time class when one has reached busyLimit, so that others get to run, and says so. It
// returns when that fails.
func (c *class) watch() error {
	busy := make(chan os.Signal, 1)
	signal.Notify(busy, unix.SIGXCPU)
	for range busy {
		if err := leaveRealTime(); err != nil {
			return fmt.Errorf("a thread was busy for %v and cannot leave the real-time class: %w", busyLimit, err)
		}
		c.left()
	}
	return nil
}

func (c *class) left() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.scheduler == "other" {
		return
	}
	c.scheduler = "other"
	c.why = fmt.Sprintf("its carrier was busy for %v on end and has left the real-time class: packets may be late when this machine is busy", busyLimit)
	fmt.Fprintln(os.Stderr, "link:", c.why)
}

// leaveRealTime makes all threads of this process ordinary ones, those included that are started meanwhile.
func leaveRealTime() error {
	for {
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		changed := false
		for _, task := range tasks {
			id, err := strconv.Atoi(task.Name())
			if err != nil {
				return err
			}
			attr, err := unix.SchedGetAttr(id, 0)
			if err == nil && attr.Policy == unix.SCHED_RR {
				changed = true
				err = unix.SchedSetAttr(id, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL}, 0)
			}
			if err != nil && !errors.Is(err, unix.ESRCH) { // gone meanwhile
				return os.NewSyscallError("sched_setattr", err)
			}
		}
		if !changed {
			return nil
		}
	}
}
