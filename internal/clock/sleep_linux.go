package clock

import "golang.org/x/sys/unix"

// SleepUntil returns at the monotonic time at, or earlier if a signal came. The runtime's timers are a millisecond
// coarse; the kernel's are not.
func SleepUntil(at int64) {
	d := at - Now()
	if d <= 0 {
		return
	}
	ts := unix.NsecToTimespec(d)
	_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &ts, nil) // woken early, the caller looks at the clock again
}
