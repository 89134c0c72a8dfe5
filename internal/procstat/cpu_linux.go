package procstat

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// CPU is how long all threads of a process of this machine have run since it began, those that have ended included. It is the process's own
// clock (clock_getcpuclockid(3)), which counts what runs at this moment, too: /proc has that only up to the last tick.
func CPU(pid int) (time.Duration, error) {
	const sched = 2 // CPUCLOCK_SCHED of the kernel's posix-timers.h: the scheduler's nanoseconds
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|sched), &ts); err != nil {
		return 0, fmt.Errorf("clock of process %d: %w", pid, err)
	}
	return time.Duration(ts.Nano()), nil
}
