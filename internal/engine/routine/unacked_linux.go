package routine

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// Unacked is how many bytes of connection id the peer has not acknowledged: those that its writer has yet to write, and those that the
// kernel holds. Within TLS these are more than were given to Send, and so never too few.
func (r *Routines) Unacked(id int) (bytes int, known bool) {
	l := r.conns[id].link
	if l == nil {
		return 0, false
	}
	socket, ok := below(l.net).(syscall.Conn)
	if !ok {
		return 0, false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return 0, false
	}
	failed := raw.Control(func(fd uintptr) { bytes, err = unix.IoctlGetInt(int(fd), unix.TIOCOUTQ) })
	if l.busy {
		bytes += len(l.out)
	}
	return bytes, failed == nil && err == nil
}
