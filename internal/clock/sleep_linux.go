package clock

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// SleepUntil returns at the monotonic time at, or earlier: the caller looks at the clock again. The runtime's timers are a millisecond
// coarse; the kernel's are not. It sleeps as a goroutine that waits for a socket does: one that slept in a system call would keep a
// processor of the runtime from goroutines that have something to do, for up to ten milliseconds.
func SleepUntil(at int64) {
	if at <= Now() {
		return
	}
	a, ok := alarms.Get().(*alarm)
	if !ok {
		a = newAlarm()
	}
	if a == nil || a.wait(at) != nil {
		SleepThreadUntil(at) // no more files may be opened
		return
	}
	alarms.Put(a)
}

// alarms are those that nobody waits for.
var alarms sync.Pool

// alarm is a timer of the kernel that can be read once it has gone off (timerfd_create(2)).
type alarm struct {
	fd   int
	file *os.File // the same, closed when nobody has it any more
}

func newAlarm() *alarm {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil
	}
	return &alarm{fd: fd, file: os.NewFile(uintptr(fd), "timerfd")}
}

func (a *alarm) wait(at int64) error {
	if err := unix.TimerfdSettime(a.fd, unix.TFD_TIMER_ABSTIME, &unix.ItimerSpec{Value: unix.NsecToTimespec(at)}, nil); err != nil {
		return err
	}
	var times [8]byte
	_, err := a.file.Read(times[:])
	return err
}

// SleepThreadUntil is SleepUntil for a goroutine that has a thread of its own, which the kernel then wakes, with nothing between.
func SleepThreadUntil(at int64) {
	ts := unix.NsecToTimespec(at)
	_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &ts, nil)
}
