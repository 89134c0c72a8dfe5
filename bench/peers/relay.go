//go:build linux

package main

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// relay hands on what a generator sends to a broker, and what comes back, and notes when messages arrived by the kernel's time stamps.
type relay struct {
	ln     net.Listener
	target string

	mu    sync.Mutex
	reads []arrival
	open  []net.Conn
	ended sync.WaitGroup
}

// arrival is what one read brought.
type arrival struct {
	at    int64 // of the last of its bytes, by the wall clock
	bytes int
}

func newRelay(target string) (*relay, error) {
	// Connections inherit the option from the listener; the kernel takes a moment until it stamps.
	stamped := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (failed error) {
		err := c.Control(func(fd uintptr) { failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1) })
		return errors.Join(err, failed)
	}}
	ln, err := stamped.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &relay{ln: ln, target: target}
	r.ended.Go(r.accept)
	return r, nil
}

func (r *relay) address() string { return r.ln.Addr().String() }

func (r *relay) accept() {
	for {
		in, err := r.ln.Accept()
		if err != nil {
			return // closed
		}
		out, err := net.Dial("tcp", r.target)
		if err != nil {
			_ = in.Close()
			continue
		}
		r.mu.Lock()
		r.open = append(r.open, in, out)
		r.mu.Unlock()
		r.ended.Go(func() { r.forward(out.(*net.TCPConn), in.(*net.TCPConn)) })
		r.ended.Go(func() {
			_, _ = io.Copy(in, out) // until either end closes
			_ = in.Close()
		})
	}
}

// forward copies from a generator to the broker.
func (r *relay) forward(to, from *net.TCPConn) {
	defer func() { _ = to.Close() }()
	raw, err := from.SyscallConn()
	if err != nil {
		return
	}
	buf, control := make([]byte, 64<<10), make([]byte, 128)
	for {
		var n, controlled int
		var failed error
		err := raw.Read(func(fd uintptr) bool {
			n, controlled, _, _, failed = unix.Recvmsg(int(fd), buf, control, unix.MSG_DONTWAIT)
			return !errors.Is(failed, unix.EAGAIN)
		})
		if err != nil || failed != nil || n == 0 {
			return
		}
		if at, ok := stampOf(control[:controlled]); ok && n >= payloadBytes {
			r.mu.Lock()
			r.reads = append(r.reads, arrival{at, n})
			r.mu.Unlock()
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// stampOf reads a time stamp (SCM_TIMESTAMPNS, a struct timespec).
func stampOf(control []byte) (int64, bool) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return 0, false
	}
	for _, m := range messages {
		if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SCM_TIMESTAMPNS && len(m.Data) >= int(unsafe.Sizeof(unix.Timespec{})) {
			return (*unix.Timespec)(unsafe.Pointer(&m.Data[0])).Nano(), true
		}
	}
	return 0, false
}

// arrivals are the times of messages, in order. A read of several messages counts as so many: as often as the smallest fits
// into it. What is smaller than a payload was no message.
func (r *relay) arrivals() (times []int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.reads) == 0 {
		return nil
	}
	unit := slices.MinFunc(r.reads, func(a, b arrival) int { return a.bytes - b.bytes }).bytes
	for _, a := range r.reads {
		for range max(1, (a.bytes+unit/2)/unit) {
			times = append(times, a.at)
		}
	}
	return times
}

func (r *relay) close() {
	_ = r.ln.Close()
	r.mu.Lock()
	for _, c := range r.open {
		_ = c.SetDeadline(time.Now())
	}
	r.mu.Unlock()
	r.ended.Wait()
	for _, c := range r.open {
		_ = c.Close()
	}
}
