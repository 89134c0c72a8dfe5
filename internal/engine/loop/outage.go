//go:build linux

package loop

import "golang.org/x/sys/unix"

// Reset ends connection id with a RST.
func (l *Loop) Reset(id int) {
	s := &l.socks[id]
	if s.fd < 0 {
		return
	}
	if s.queued {
		_ = l.flush() // the loop's next turn meets the same error
	}
	toReset(int(s.fd))
	l.shut(id)
}

// toReset makes the end of a socket a RST for the peer; else it is a FIN.
func toReset(fd int) {
	_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
}

// Abandon leaves connection id as it is, and reads and writes no more. Bury ends it.
func (l *Loop) Abandon(id int) {
	s := &l.socks[id]
	if s.fd < 0 {
		return
	}
	if s.queued {
		_ = l.flush() // the loop's next turn meets the same error
	}
	_ = unix.EpollCtl(l.epoll, unix.EPOLL_CTL_DEL, int(s.fd), nil) // it is there
	l.unplace(id)
	l.abandoned = append(l.abandoned, int(s.fd))
	l.forget(id, s)
	*s = sock{fd: -1}
}

// Bury resets what was abandoned.
func (l *Loop) Bury() {
	for _, fd := range l.abandoned {
		toReset(fd)
		_ = unix.Close(fd)
	}
	l.abandoned = nil
}

// Unacked is how many bytes the kernel holds of connection id that the peer has not acknowledged.
func (l *Loop) Unacked(id int) (bytes int, known bool) {
	s := &l.socks[id]
	if s.fd < 0 {
		return 0, false
	}
	n, err := unix.IoctlGetInt(int(s.fd), unix.TIOCOUTQ) // SIOCOUTQ, as it is called for sockets
	return n, err == nil
}
