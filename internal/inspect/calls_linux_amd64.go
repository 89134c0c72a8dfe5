package inspect

import "golang.org/x/sys/unix"

func init() {
	calls[unix.SYS_POLL] = polling
	calls[unix.SYS_SELECT] = selecting
	calls[unix.SYS_EPOLL_WAIT] = epolling
}
