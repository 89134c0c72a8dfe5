package routine

import (
	"golang.org/x/sys/unix"

	"github.com/mqlab/mqlab/internal/clock"
)

// sleepUntil returns at the monotonic time at. The runtime's timers are a millisecond coarse; the kernel's are not.
func sleepUntil(at int64) {
	d := at - clock.Now()
	if d <= 0 {
		return
	}
	ts := unix.NsecToTimespec(d)
	_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &ts, nil) // woken early, the caller looks at the clock again
}
