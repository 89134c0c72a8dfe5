package instrument

import (
	"errors"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// rawSocket writes to a socket by system calls of its own: no scheduler stands between the stamp and the write.
type rawSocket struct{ fd int }

func newRawSocket(c *net.TCPConn) (*rawSocket, error) {
	r := &rawSocket{}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	return r, raw.Control(func(fd uintptr) { r.fd = int(fd) })
}

// write writes all of b, and waits where the socket is full.
func (r *rawSocket) write(b []byte) error {
	for len(b) > 0 {
		n, err := unix.Write(r.fd, b)
		switch {
		case err == nil:
			b = b[n:]
		case errors.Is(err, unix.EAGAIN):
			poll := []unix.PollFd{{Fd: int32(r.fd), Events: unix.POLLOUT}}
			ready, err := unix.Poll(poll, int(hanging.Milliseconds()))
			switch {
			case errors.Is(err, unix.EINTR):
			case err != nil:
				return os.NewSyscallError("poll", err)
			case ready == 0:
				return errHangs
			}
		case !errors.Is(err, unix.EINTR):
			return os.NewSyscallError("write", err)
		}
	}
	return nil
}

// writeNow writes as much of b as the socket takes at once.
func (r *rawSocket) writeNow(b []byte) (n int, err error) {
	n, err = unix.Write(r.fd, b)
	if err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
		return 0, os.NewSyscallError("write", err)
	}
	return max(n, 0), nil
}

// grow enlarges the send buffer, beyond the system's limit where that is allowed.
func grow(c *net.TCPConn, bytes int) (size int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		if unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, bytes) != nil {
			failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF, bytes)
		}
		if failed == nil {
			size, failed = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF)
		}
	})
	return size, errors.Join(err, failed)
}
