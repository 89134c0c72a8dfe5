package routine

import (
	"os"

	"golang.org/x/sys/unix"
)

// alarm wakes one goroutine at a time. It is a timerfd read through the runtime's poller: the runtime's own timers are a millisecond
// coarse, and a sleeping system call would keep a processor from other goroutines.
type alarm struct{ file *os.File }

func newAlarm() (*alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	return &alarm{os.NewFile(uintptr(fd), "timerfd")}, nil
}

// set makes wait return at the monotonic time at, or at once if that has passed. A later set replaces an earlier one.
func (a *alarm) set(at int64) error {
	raw, err := a.file.SyscallConn()
	if err != nil {
		return err
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(max(at, 1))} // zero would disarm it
	var setErr error
	err = raw.Control(func(fd uintptr) { setErr = unix.TimerfdSettime(int(fd), unix.TFD_TIMER_ABSTIME, &spec, nil) })
	if err != nil {
		return err
	}
	return os.NewSyscallError("timerfd_settime", setErr)
}

// wait returns when the time set has come.
func (a *alarm) wait() error {
	var expired [8]byte
	_, err := a.file.Read(expired[:])
	return err
}

func (a *alarm) close() error { return a.file.Close() }
