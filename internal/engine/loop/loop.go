//go:build linux

// Package loop drives an engine.Core by one locked OS thread that waits, sends and receives: epoll's time-out is the schedule.
package loop

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
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
	// Ring sends what several connections have to send by one system call (io_uring), instead of one call for each.
	Ring bool
}

// spinFor is how long before a due time a precise loop stops sleeping: a timer wake-up is rarely later than this.
const spinFor = int64(60 * time.Microsecond)

// readBytes is the size of the buffer that all connections of a loop share for reading.
const readBytes = 64 << 10

// Loop is an engine.Wire over sockets. Make one with New, fill its Core, then Run it.
type Loop struct {
	Core *engine.Core

	cfg     Config
	dialer  engine.Dialer
	dialers map[int]engine.Dialer // of connections that have another
	socks   []sock
	buf     []byte
	waker   int // eventfd
	epoll   int
	paces   map[int]*engine.ReadPace // of the connections that read slowly on purpose
	slow    []int                    // those that pause before reading on
	parts   map[int32]*[]byte        // incomplete units that wait for more bytes

	batch   *batch // nil = each send is a call
	leaving int    // connections that have said goodbye and wait for the other end

	abandoned []int // sockets that nobody reads or writes any more, and whose peers do not know

	mu       sync.Mutex // guards what other threads give and see
	inbox    []func(now int64)
	progress engine.Progress
	closed   bool

	spun atomic.Int64

	toMonotonic int64 // what turns the kernel's wall clock stamps into monotonic time
	checked     int64 // when that was measured
	control     [128]byte
	iov         unix.Iovec
	header      unix.Msghdr
}

// sock is one connection's place in the loop.
type sock struct {
	fd      int32
	part    bool // an incomplete unit waits for more bytes, among the loop's parts
	armed   bool // waiting for EPOLLOUT
	queued  bool // has something in the batch
	polite  bool // has said goodbye
	leaving bool // nothing is wanted of it any more but its end
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
	l := &Loop{cfg: cfg, dialer: dialer, epoll: epoll, waker: waker, buf: make([]byte, readBytes), paces: map[int]*engine.ReadPace{}, dialers: map[int]engine.Dialer{}, parts: map[int32]*[]byte{}}
	l.Core = engine.New(settings, l)
	err = l.watch(waker, -1, unix.EPOLLIN, unix.EPOLL_CTL_ADD)
	if err == nil && cfg.Ring {
		l.batch, err = newBatch()
	}
	if err != nil {
		return nil, errors.Join(err, unix.Close(waker), unix.Close(epoll))
	}
	return l, nil
}

// Expect makes room for n connections.
func (l *Loop) Expect(n int) {
	l.socks = slices.Grow(l.socks, max(n-len(l.socks), 0))
	l.Core.Expect(n)
}

// Add registers a connection; pace limits how fast it reads (nil = as fast as it can). It must be called before Run.
func (l *Loop) Add(s engine.ClientSpec, pace *engine.ReadPace) int {
	l.socks = append(l.socks, sock{fd: -1})
	id := l.Core.Add(s)
	if s.Dialer != nil {
		l.dialers[id] = s.Dialer
	}
	if pace != nil {
		l.paces[id] = pace
	}
	return id
}

// Do runs f on the loop's thread, soon; never, when the loop has ended.
func (l *Loop) Do(f func(now int64)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return // the waker's number may be that of another file by now
	}
	l.inbox = append(l.inbox, f)
	one := [8]byte{1}
	_, _ = unix.Write(l.waker, one[:]) // a full counter has woken the loop already
}

// Progress returns how far the Core is, as of the loop's last turn.
func (l *Loop) Progress() engine.Progress {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.progress
}

// Spun returns how much CPU time the loop has spent waiting by spinning.
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
	if l.batch != nil {
		if err := errors.Join(l.batch.ring.Enable(), l.batch.ring.Places(max(len(l.socks), 1))); err != nil {
			return err
		}
	}
	events := make([]unix.EpollEvent, 256)
	last := engine.Progress{}
	for ctx.Err() == nil {
		now := clock.Now()
		l.runInbox(now)
		next := l.Core.Advance(now)
		for next <= now && l.batch.gathers() {
			now = clock.Now()
			next = l.Core.Advance(now)
		}
		if p := l.Core.Progress(); p != last {
			last = p
			l.tell(p)
		}
		if err := l.flush(); err != nil {
			return err
		}
		n, err := l.wait(events, min(next, l.resume(now)))
		if err != nil {
			return err
		}
		for i := range n {
			l.serve(&events[i])
		}
	}
	return l.part(events)
}

// tell lets other threads see how far the Core is.
func (l *Loop) tell(p engine.Progress) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.progress = p
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

// attentive is how long the loop sleeps without telling the scheduler of the runtime. Telling it costs a thread wake-up of
// the runtime's own when an answer comes, which the answer would seem to have taken. Not telling it is safe for so long:
// epoll_pwait2 returns when the runtime signals the thread, which it does to stop the world.
const attentive = int64(2 * time.Millisecond)

// wait returns at next, or when something is ready.
func (l *Loop) wait(events []unix.EpollEvent, next int64) (int, error) {
	now := clock.Now()
	if next <= now {
		return l.poll(events, 0, false)
	}
	if l.cfg.Quantum == 0 {
		if next-now > spinFor {
			return l.sleep(events, now, next-spinFor)
		}
		began := threadCPU()
		for {
			n, err := l.poll(events, 0, false)
			if n > 0 || err != nil || clock.Now() >= next {
				l.spun.Add(threadCPU() - began)
				return n, err
			}
		}
	}
	if next != math.MaxInt64 {
		q := int64(l.cfg.Quantum)
		next = (next + q - 1) / q * q
	}
	return l.sleep(events, now, next)
}

// threadCPU is the CPU time of this thread in nanoseconds. Spinning is counted by it: while others have the core nobody spins.
func threadCPU() int64 {
	var ts unix.Timespec
	_, _, errno := syscall.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_THREAD_CPUTIME_ID, uintptr(unsafe.Pointer(&ts)), 0)
	if errno != 0 {
		return 0
	}
	return ts.Nano()
}

// sleep returns at the given time, or when something is ready, or earlier.
func (l *Loop) sleep(events []unix.EpollEvent, now, until int64) (int, error) {
	n, err := l.poll(events, min(until-now, attentive), false)
	if n > 0 || err != nil || until-now <= attentive {
		return n, err
	}
	return l.poll(events, until-clock.Now(), true)
}

// poll waits for readiness, at most for d nanoseconds; told says whether the scheduler is to know of it.
func (l *Loop) poll(events []unix.EpollEvent, d int64, told bool) (int, error) {
	const longest = int64(time.Second)
	ts := unix.NsecToTimespec(min(max(d, 0), longest))
	var n uintptr
	var errno syscall.Errno
	if told {
		n, _, errno = syscall.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(l.epoll), uintptr(unsafe.Pointer(&events[0])),
			uintptr(len(events)), uintptr(unsafe.Pointer(&ts)), 0, 0)
	} else {
		n, _, errno = syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(l.epoll), uintptr(unsafe.Pointer(&events[0])),
			uintptr(len(events)), uintptr(unsafe.Pointer(&ts)), 0, 0)
	}
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
	s := &l.socks[id]
	if s.fd < 0 {
		return
	}
	if s.leaving {
		l.readOut(id, s)
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

func (l *Loop) close() {
	for id := range l.socks {
		l.shut(id)
	}
	if l.batch != nil {
		_ = l.batch.ring.Close()
	}
	l.Bury()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	_ = unix.Close(l.waker)
	_ = unix.Close(l.epoll)
}
