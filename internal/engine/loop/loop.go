//go:build linux

// Package loop drives an engine.Core by one locked OS thread that waits, sends and receives: epoll's time-out is the schedule.
package loop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/engine"
)

// Config says how a Loop keeps time.
type Config struct {
	// Quantum is how finely the schedule is kept: sends are done at multiples of it, together. 0 = precise: wait until
	// shortly before a message is due, then spin.
	Quantum time.Duration
	// KernelTime asks the kernel to stamp what arrives.
	KernelTime bool
}

// spinFor is how long before a due time a precise loop stops sleeping: a timer wake-up is rarely later than this.
const spinFor = int64(60 * time.Microsecond)

// readBytes is the size of the buffer that all connections of a loop share for reading.
const readBytes = 64 << 10

// Loop is an engine.Wire over sockets. Make one with New, fill its Core, then Run it.
type Loop struct {
	Core *engine.Core

	cfg    Config
	dialer engine.Dialer
	socks  []*sock
	buf    []byte
	waker  int // eventfd
	epoll  int
	slow   []int // connections that pause before reading on

	mu    sync.Mutex
	inbox []func(now int64)

	spun     atomic.Int64
	progress atomic.Pointer[engine.Progress]

	toMonotonic int64 // what turns the kernel's wall clock stamps into monotonic time
	checked     int64 // when that was measured
	control     [128]byte
	iov         unix.Iovec
	header      unix.Msghdr
}

// sock is one connection's place in the loop.
type sock struct {
	fd      int
	part    []byte // an incomplete unit that waits for more bytes
	pace    *engine.ReadPace
	armed   bool // waiting for EPOLLOUT
	stopped bool // not reading until pace allows
}

// New returns a Loop whose Core uses settings and whose connections are made by dialer.
func New(cfg Config, settings engine.Settings, dialer engine.Dialer) (*Loop, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	waker, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("eventfd: %w", err), unix.Close(epoll))
	}
	l := &Loop{cfg: cfg, dialer: dialer, epoll: epoll, waker: waker, buf: make([]byte, readBytes)}
	l.Core = engine.New(settings, l)
	l.progress.Store(&engine.Progress{})
	return l, l.watch(waker, -1, unix.EPOLLIN, unix.EPOLL_CTL_ADD)
}

// Add registers a connection; pace limits how fast it reads (nil = as fast as it can). It must be called before Run.
func (l *Loop) Add(s engine.ClientSpec, pace *engine.ReadPace) int {
	l.socks = append(l.socks, &sock{fd: -1, pace: pace})
	return l.Core.Add(s)
}

// Do runs f on the loop's thread, soon.
func (l *Loop) Do(f func(now int64)) {
	l.mu.Lock()
	l.inbox = append(l.inbox, f)
	l.mu.Unlock()
	one := [8]byte{1}
	_, _ = unix.Write(l.waker, one[:]) // a full counter has woken the loop already
}

// Progress returns how far the Core is, as of the loop's last turn.
func (l *Loop) Progress() engine.Progress { return *l.progress.Load() }

// Spun returns how long the loop has waited by spinning.
func (l *Loop) Spun() time.Duration { return time.Duration(l.spun.Load()) }

// Run serves the connections until ctx is done, then closes what is open.
func (l *Loop) Run(ctx context.Context) error {
	runtime.LockOSThread() // never unlocked: the thread's timer slack is changed
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("timer slack: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { l.Do(func(int64) {}) })
	defer stop()
	defer l.close()
	events := make([]unix.EpollEvent, 256)
	last := engine.Progress{}
	for ctx.Err() == nil {
		now := clock.Now()
		l.runInbox(now)
		next := l.Core.Advance(now)
		if p := l.Core.Progress(); p != last {
			last = p
			l.progress.Store(&p)
		}
		n, err := l.wait(events, min(next, l.resume(now)))
		if err != nil {
			return err
		}
		for i := range n {
			l.serve(&events[i])
		}
	}
	return nil
}

func (l *Loop) runInbox(now int64) {
	l.mu.Lock()
	todo := l.inbox
	l.inbox = nil
	l.mu.Unlock()
	for _, f := range todo {
		f(now)
	}
}

// wait returns at next, or when something is ready.
func (l *Loop) wait(events []unix.EpollEvent, next int64) (int, error) {
	now := clock.Now()
	if l.cfg.Quantum == 0 {
		if next-now > spinFor {
			return l.poll(events, next-now-spinFor)
		}
		began := now
		for {
			n, err := l.poll(events, 0)
			now = clock.Now()
			if n > 0 || err != nil || now >= next {
				l.spun.Add(now - began)
				return n, err
			}
		}
	}
	if next <= now {
		return l.poll(events, 0)
	}
	if next != math.MaxInt64 {
		q := int64(l.cfg.Quantum)
		next = (next + q - 1) / q * q
	}
	return l.poll(events, next-now)
}

// poll waits for readiness, at most for d nanoseconds.
func (l *Loop) poll(events []unix.EpollEvent, d int64) (int, error) {
	const longest = int64(time.Second)
	ts := unix.NsecToTimespec(min(max(d, 0), longest))
	call := syscall.Syscall6
	if d <= 0 {
		call = syscall.RawSyscall6 // does not block, so the scheduler need not know
	}
	n, _, errno := call(unix.SYS_EPOLL_PWAIT2, uintptr(l.epoll), uintptr(unsafe.Pointer(&events[0])),
		uintptr(len(events)), uintptr(unsafe.Pointer(&ts)), 0, 0)
	switch errno {
	case 0:
		return int(n), nil
	case unix.EINTR:
		return 0, nil
	}
	return 0, fmt.Errorf("epoll_pwait2: %w", errno)
}

func (l *Loop) serve(ev *unix.EpollEvent) {
	id := int(ev.Fd)
	if id < 0 {
		var b [8]byte
		_, _ = unix.Read(l.waker, b[:]) // only the wake-up matters
		return
	}
	s := l.socks[id]
	if s.fd < 0 {
		return
	}
	if ev.Events&unix.EPOLLOUT != 0 && s.armed {
		s.armed = false
		l.rearm(id, s)
		l.Core.Writable(id, clock.Now())
	}
	if ev.Events&(unix.EPOLLIN|unix.EPOLLHUP|unix.EPOLLERR|unix.EPOLLRDHUP) != 0 && s.fd >= 0 && !s.stopped {
		l.read(id, s)
	}
}

// read takes what has arrived on one connection, one buffer at most.
func (l *Loop) read(id int, s *sock) {
	buf := l.buf
	have := len(s.part)
	if have > 0 {
		if len(s.part) == cap(s.part) {
			s.part = append(s.part, make([]byte, len(s.part))...)[:len(s.part)]
		}
		buf = s.part[:cap(s.part)]
	}
	room := buf[have:]
	if s.pace != nil {
		room = room[:min(len(room), s.pace.Allow(clock.Now()))]
		if len(room) == 0 {
			s.stopped = true
			l.slow = append(l.slow, id)
			l.rearm(id, s)
			return
		}
	}
	n, kernel, err := l.receive(s.fd, room)
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
	if s.pace != nil {
		s.pace.Took(n)
	}
	in := buf[:have+n]
	used := l.Core.Receive(id, now, kernel, in)
	if s.fd < 0 {
		return
	}
	l.keep(s, in[used:])
}

// keep stores what was not consumed in front of what comes next. A large unit gets a buffer of its own.
func (l *Loop) keep(s *sock, rest []byte) {
	switch {
	case len(rest) == 0:
		s.part = nil
	case s.part == nil:
		s.part = append(make([]byte, 0, 2*len(rest)), rest...)
	default:
		s.part = s.part[:copy(s.part[:cap(s.part)], rest)]
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
		s := l.socks[id]
		if at := s.pace.Next(now); at > now && s.fd >= 0 {
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

// Send implements engine.Wire.
func (l *Loop) Send(id int, b []byte) (n int, more bool, err error) {
	s := l.socks[id]
	if s.fd < 0 {
		return 0, false, net.ErrClosed
	}
	r, _, errno := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(s.fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)),
		unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
	switch errno {
	case 0:
		n = int(r)
	case unix.EAGAIN, unix.EINTR:
	default:
		return 0, false, ioError("write", errno)
	}
	if n < len(b) && !s.armed {
		s.armed = true
		l.rearm(id, s)
	}
	return n, n == len(b), nil
}

// Dial implements engine.Wire.
func (l *Loop) Dial(id int, at int64) {
	l.dialer.Dial(at, func(began int64) {
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
	s := l.socks[id]
	s.fd, s.part, s.armed, s.stopped = fd, nil, false, false
	if l.cfg.KernelTime {
		flags := unix.SOF_TIMESTAMPING_RX_SOFTWARE | unix.SOF_TIMESTAMPING_SOFTWARE
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPING, flags); err != nil {
			return os.NewSyscallError("SO_TIMESTAMPING", err)
		}
	}
	return l.watch(fd, id, interest(s), unix.EPOLL_CTL_ADD)
}

// Hangup implements engine.Wire.
func (l *Loop) Hangup(id int) {
	if s := l.socks[id]; s.fd >= 0 {
		_ = unix.Close(s.fd) // takes it out of epoll, too
		s.fd, s.part = -1, nil
	}
}

// FDs calls f with the descriptor of each open connection. It must run on the loop's thread (Do).
func (l *Loop) FDs(f func(id, fd int)) {
	for id, s := range l.socks {
		if s.fd >= 0 {
			f(id, s.fd)
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
		_ = l.watch(s.fd, id, interest(s), unix.EPOLL_CTL_MOD) // cannot fail for a descriptor that was added
	}
}

func (l *Loop) watch(fd, id int, events uint32, op int) error {
	err := unix.EpollCtl(l.epoll, op, fd, &unix.EpollEvent{Events: events, Fd: int32(id)})
	return os.NewSyscallError("epoll_ctl", err)
}

func (l *Loop) close() {
	for id := range l.socks {
		l.Hangup(id)
	}
	_ = unix.Close(l.waker)
	_ = unix.Close(l.epoll)
}

// ioError words what the kernel says of a connection.
func ioError(op string, err error) error {
	if errors.Is(err, io.EOF) {
		return engine.ErrClosed
	}
	return &net.OpError{Op: op, Net: "tcp", Err: os.NewSyscallError(op, err)}
}
