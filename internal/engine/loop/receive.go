//go:build linux

package loop

import (
	"errors"
	"io"
	"math"
	"slices"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mqlab/mqlab/internal/clock"
)

// read takes what has arrived on one connection, one buffer at most.
func (l *Loop) read(id int, s *sock) {
	buf, have := l.buffer(id, s)
	room := buf[have:]
	pace := l.paces[id]
	if pace != nil {
		room = room[:min(len(room), pace.Allow(clock.Now()))]
		if len(room) == 0 {
			s.stopped = true
			l.slow = append(l.slow, id)
			l.rearm(id, s)
			return
		}
	}
	n, kernel, err := l.receive(int(s.fd), room)
	now := clock.Now()
	switch {
	case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR):
		return
	case err == nil && n == 0:
		err = io.EOF
	}
	if err != nil {
		l.Core.Lost(id, now, ioError("read", err))
		return
	}
	if pace != nil {
		pace.Took(n)
	}
	in := buf[:have+n]
	used := l.Core.Receive(id, now, kernel, in)
	if s.fd < 0 {
		return
	}
	l.keep(id, s, in[used:])
}

// largeUnit is from how many bytes on an incomplete unit is gathered in a buffer of its connection's own.
const largeUnit = readBytes / 2

// buffer returns where to read, and how many bytes of an incomplete unit stand there in front. There is room for as much
// as half a shared buffer behind them.
func (l *Loop) buffer(id int, s *sock) (buf []byte, have int) {
	if !s.part {
		return l.buf, 0
	}
	part := l.parts[int32(id)]
	have = len(*part)
	if have < largeUnit {
		return l.buf, copy(l.buf, *part)
	}
	if cap(*part)-have < largeUnit {
		*part = slices.Grow(*part, have)
	}
	return (*part)[:cap(*part)], have
}

// keep stores what was not consumed, to stand in front of what comes next.
func (l *Loop) keep(id int, s *sock, rest []byte) {
	if len(rest) == 0 {
		l.forget(id, s)
		return
	}
	if s.part {
		if part := l.parts[int32(id)]; len(rest) <= cap(*part) {
			*part = (*part)[:copy((*part)[:cap(*part)], rest)]
			return
		}
	}
	part := append(make([]byte, 0, 2*len(rest)), rest...)
	l.parts[int32(id)], s.part = &part, true
}

// forget drops the incomplete unit of a connection.
func (l *Loop) forget(id int, s *sock) {
	if s.part {
		delete(l.parts, int32(id))
		s.part = false
	}
}

// receive reads without blocking; kernel is when the last of the bytes reached the host, monotonic, 0 if unknown.
func (l *Loop) receive(fd int, b []byte) (n int, kernel int64, err error) {
	if !l.cfg.KernelTime {
		r, _, errno := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), unix.MSG_DONTWAIT, 0, 0)
		if errno != 0 {
			return 0, 0, errno
		}
		return int(r), 0, nil
	}
	l.iov.Base = &b[0]
	l.iov.SetLen(len(b))
	l.header.Iov, l.header.Iovlen = &l.iov, 1
	l.header.Control = &l.control[0]
	l.header.SetControllen(len(l.control))
	r, _, errno := syscall.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&l.header)), unix.MSG_DONTWAIT)
	if errno != 0 {
		return 0, 0, errno
	}
	return int(r), l.kernelTime(), nil
}

// kernelTime reads the software time stamp (struct scm_timestamping, first timespec) that recvmsg left in control.
func (l *Loop) kernelTime() int64 {
	head := (*unix.Cmsghdr)(unsafe.Pointer(&l.control[0]))
	if l.header.Controllen < unix.SizeofCmsghdr+16 || head.Level != unix.SOL_SOCKET || head.Type != unix.SO_TIMESTAMPING {
		return 0
	}
	ts := (*unix.Timespec)(unsafe.Pointer(&l.control[unix.SizeofCmsghdr]))
	if ts.Sec == 0 {
		return 0
	}
	if now := clock.Now(); now-l.checked > int64(time.Second) {
		l.toMonotonic, l.checked = clock.RealtimeOffset(), now
	}
	return ts.Nano() + l.toMonotonic
}

// resume lets slow readers read on whose time has come, and returns when the next one's comes.
func (l *Loop) resume(now int64) int64 {
	next := int64(math.MaxInt64)
	waiting := l.slow[:0]
	for _, id := range l.slow {
		s := &l.socks[id]
		if at := l.paces[id].Next(now); at > now && s.fd >= 0 {
			next = min(next, at)
			waiting = append(waiting, id)
			continue
		}
		s.stopped = false
		l.rearm(id, s)
	}
	l.slow = waiting
	return next
}
