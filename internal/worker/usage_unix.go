//go:build unix

package worker

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is the user and system time of this process so far.
func cpuTime() (time.Duration, bool) {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) != nil {
		return 0, false
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()), true
}
