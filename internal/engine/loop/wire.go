//go:build linux

package loop

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mqlab/mqlab/internal/engine"
)

// Send implements engine.Wire.
func (l *Loop) Send(id int, b []byte) (n int, more bool, err error) {
	s := &l.socks[id]
	if s.fd < 0 || s.leaving {
		return 0, false, net.ErrClosed
	}
	s.polite = l.Core.Stopping()
	if l.batch != nil {
		if s.queued || !l.batch.fits(b) {
			if err := l.flush(); err != nil {
				return 0, false, err
			}
		}
		if s.armed {
			return 0, false, nil // the end of what was queued before has yet to leave
		}
		if l.batch.fits(b) {
			s.queued = true
			l.batch.add(id, b)
			return len(b), true, nil
		}
	}
	n, err = write(int(s.fd), b)
	if err != nil {
		return 0, false, err
	}
	if n < len(b) {
		l.arm(id, s)
	}
	return n, n == len(b), nil
}

// write sends without blocking; a socket without room takes 0 bytes.
func write(fd int, b []byte) (n int, err error) {
	r, _, errno := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)),
		unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
	switch errno {
	case 0:
		return int(r), nil
	case unix.EAGAIN, unix.EINTR:
		return 0, nil
	}
	return 0, ioError("write", errno)
}

// arm asks to be told when the socket takes bytes again.
func (l *Loop) arm(id int, s *sock) {
	if !s.armed {
		s.armed = true
		l.rearm(id, s)
	}
}

// Dial implements engine.Wire.
func (l *Loop) Dial(id int, at int64) {
	dialer := l.dialer
	if other, ok := l.dialers[id]; ok {
		dialer = other
	}
	dialer.Dial(at, func(began int64) {
		l.Do(func(int64) { l.Core.Dialling(id, began) })
	}, func(conn engine.Dialled, err error) {
		var fd int
		if err == nil {
			fd, err = takeFD(conn.Conn)
		}
		l.Do(func(now int64) {
			if err == nil {
				err = l.attach(id, fd)
			}
			if err != nil {
				l.Core.Lost(id, now, err)
				return
			}
			l.Core.Connected(id, now, conn.TCP, conn.TLS)
		})
	})
}

// takeFD duplicates the socket of a connection and closes the original, so that the runtime's poller lets go of it.
func takeFD(conn net.Conn) (int, error) {
	defer func() { _ = conn.Close() }() // the duplicate lives on
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return -1, fmt.Errorf("a %T has no descriptor that an event loop can use", conn)
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return -1, err
	}
	fd, dupErr := -1, error(nil)
	err = raw.Control(func(old uintptr) { fd, dupErr = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0) })
	return fd, errors.Join(err, dupErr)
}

func (l *Loop) attach(id, fd int) error {
	s := &l.socks[id]
	*s = sock{fd: int32(fd)}
	if l.batch != nil {
		if err := l.batch.ring.Place(id, fd); err != nil {
			return err
		}
	}
	if l.cfg.KernelTime && !l.Core.Publishes(id) { // time stamps cost, and only deliveries have a use for them
		flags := unix.SOF_TIMESTAMPING_RX_SOFTWARE | unix.SOF_TIMESTAMPING_SOFTWARE
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPING, flags); err != nil {
			return os.NewSyscallError("SO_TIMESTAMPING", err)
		}
	}
	return l.watch(fd, id, interest(s), unix.EPOLL_CTL_ADD)
}

// FDs calls f with the descriptor of each open connection. It must run on the loop's thread (Do).
func (l *Loop) FDs(f func(id, fd int)) {
	for id := range l.socks {
		if fd := l.socks[id].fd; fd >= 0 {
			f(id, int(fd))
		}
	}
}

func interest(s *sock) uint32 {
	var events uint32
	if !s.stopped {
		events |= unix.EPOLLIN | unix.EPOLLRDHUP
	}
	if s.armed {
		events |= unix.EPOLLOUT
	}
	return events
}

func (l *Loop) rearm(id int, s *sock) {
	if s.fd >= 0 {
		_ = l.watch(int(s.fd), id, interest(s), unix.EPOLL_CTL_MOD) // cannot fail for a descriptor that was added
	}
}

func (l *Loop) watch(fd, id int, events uint32, op int) error {
	err := unix.EpollCtl(l.epoll, op, fd, &unix.EpollEvent{Events: events, Fd: int32(id)})
	return os.NewSyscallError("epoll_ctl", err)
}

// ioError words what the kernel says of a connection.
func ioError(op string, err error) error {
	if errors.Is(err, io.EOF) {
		return engine.ErrClosed
	}
	return &net.OpError{Op: op, Net: "tcp", Err: os.NewSyscallError(op, err)}
}
