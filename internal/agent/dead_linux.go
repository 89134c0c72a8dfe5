package agent

import (
	"errors"

	"golang.org/x/sys/unix"
)

// waitDead waits until a child of ours has ended, and leaves it to be reaped. false = it is no child, or reaped already.
func waitDead(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}

// raiseFiles lets a process open as many files as it may: each connection is one, or three.
func raiseFiles(pid int) {
	var now unix.Rlimit
	if unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &now) == nil {
		now.Cur = now.Max
		_ = unix.Prlimit(pid, unix.RLIMIT_NOFILE, &now, nil) // with fewer it says what it lacks
	}
}
