package netstack

import (
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// alarm wakes one goroutine at a time, to within the precision of the kernel's timers: those of the Go runtime are a millisecond
// coarse, which is more than the jitter of many links.
type alarm struct{ event int }

func newAlarm() (*alarm, error) {
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	return &alarm{fd}, nil
}

// own prepares the goroutine that waits: it keeps its thread, whose timers the kernel does not round.
func (*alarm) own() {
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // refused, it is 50 µs
}

// wait returns when d has passed, or ring was called, or earlier; d < 0 = only when ring was called.
func (a *alarm) wait(d time.Duration) {
	var limit *unix.Timespec
	if d >= 0 {
		limit = new(unix.NsecToTimespec(int64(d)))
	}
	fds := []unix.PollFd{{Fd: int32(a.event), Events: unix.POLLIN}}
	if n, _ := unix.Ppoll(fds, limit, nil); n > 0 { // an error is a signal: the caller looks at the clock again
		var count [8]byte
		_, _ = unix.Read(a.event, count[:])
	}
}

// ring ends wait, now or when it is called next.
func (a *alarm) ring() {
	_, _ = unix.Write(a.event, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // fails only when 2^64 rings are waiting
}

func (a *alarm) close() { _ = unix.Close(a.event) }
