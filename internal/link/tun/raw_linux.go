package tun

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// The carriers' system calls go past the Go runtime, which would otherwise watch for each of them to last: a thread of its own that
// wakes up every 20 µs cost a sixth of a core. Only poll waits; the runtime's signals end that when it needs the thread, as for a
// collection of garbage. A long wait is left to the runtime, whose signals would come a hundred times a second.

// long is a wait for which the runtime is told.
const long = 20_000_000 // ns

// poll waits for one of fds, or as long as timeout says; nil = for ever.
func poll(fds []unix.PollFd, timeout *unix.Timespec) (n int, err error) {
	if timeout == nil || timeout.Nano() > long {
		return unix.Ppoll(fds, timeout, nil)
	}
	r, _, e := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&fds[0])), uintptr(len(fds)), uintptr(unsafe.Pointer(timeout)), 0, 0, 0)
	if e != 0 {
		return 0, e
	}
	return int(r), nil
}

func read(fd int, b []byte) (n int, err error) {
	r, _, e := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
	if e != 0 {
		return 0, e
	}
	return int(r), nil
}

func write(fd int, b []byte) error {
	_, _, e := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
	if e != 0 {
		return e
	}
	return nil
}
