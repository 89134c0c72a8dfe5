package alarm

import (
	"fmt"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// precise is an alarm to within the precision of the kernel's timers: those of the Go runtime are a millisecond coarse, which is
// more than the jitter of many links.
type precise struct {
	event int
	mu    sync.Mutex // of ended: what rings when all is over must not write to a file that has the number then
	ended bool
}

// New makes the most precise alarm that this system has.
func New() (Alarm, error) {
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	return &precise{event: fd}, nil
}

// Own keeps the goroutine on its thread, whose timers the kernel does not round.
func (*precise) Own() {
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // refused, it is 50 µs
}

func (a *precise) Wait(d time.Duration) {
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

func (a *precise) Ring() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended {
		return
	}
	_, _ = unix.Write(a.event, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // fails only when 2^64 rings are waiting
}

func (a *precise) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.ended {
		a.ended = true
		_ = unix.Close(a.event)
	}
}
