//go:build linux

package uring

import (
	"bytes"
	"errors"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mqlab/mqlab/internal/needs"
)

// open returns an enabled ring, and locks the test to its thread.
func open(t *testing.T, n int) *Ring {
	t.Helper()
	if err := Probe(); err != nil {
		if errors.Is(err, unix.EPERM) {
			t.Skip(err) // containers and system administrators forbid io_uring; nothing that is installed mends that
		}
		needs.Installed(t, err)
	}
	runtime.LockOSThread()
	r, err := New(n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	if err := r.Enable(); err != nil {
		t.Fatal(err)
	}
	return r
}

// pair returns two connected sockets, the first with a small buffer.
func pair(t *testing.T) (from, to int) {
	t.Helper()
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(p[0]); _ = unix.Close(p[1]) })
	if err := unix.SetsockoptInt(p[0], unix.SOL_SOCKET, unix.SO_SNDBUF, 4096); err != nil {
		t.Fatal(err)
	}
	return p[0], p[1]
}

func place(t *testing.T, r *Ring, at, fd int) {
	t.Helper()
	if err := r.Place(at, fd); err != nil {
		t.Fatal(err)
	}
}

// What is taken from its place and closed is gone for the peer; until then it is not.
func TestPlacesKeepSocketsOpen(t *testing.T) {
	r := open(t, 2)
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(p[1]) }()
	if err := r.Places(3); err != nil {
		t.Fatal(err)
	}
	place(t, r, 2, p[0])
	_ = unix.Close(p[0])
	r.Queue(2, []byte("x"), 1)
	if err := r.Submit(); err != nil {
		t.Fatal(err)
	}
	if o, _ := r.Next(); o.N != 1 {
		t.Errorf("%+v", o)
	}
	place(t, r, 2, -1)
	got := make([]byte, 2)
	if n, err := unix.Read(p[1], got); n != 1 || err != nil {
		t.Error(n, err)
	}
	if n, err := unix.Read(p[1], got); n != 0 || err != nil {
		t.Error("still open", n, err)
	}
	if err := r.Place(3, p[1]); err == nil {
		t.Error("a place beyond the last")
	}
}

func TestLayoutIsTheKernels(t *testing.T) {
	for name, got := range map[string][2]uintptr{
		"request":    {unsafe.Sizeof(request{}), 64},
		"completion": {unsafe.Sizeof(completion{}), 16},
		"params":     {unsafe.Sizeof(params{}), 120},
		"files":      {unsafe.Sizeof(files{}), 32},
		"update":     {unsafe.Sizeof(update{}), 16},
		"send flags": {unsafe.Offsetof(request{}.sendFlag), 28},
		"tag":        {unsafe.Offsetof(request{}.tag), 32},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %d, not %d", name, got[0], got[1])
		}
	}
}

// Every outcome belongs to its send, many rounds long, so that the rings wrap.
func TestSendsOnManySockets(t *testing.T) {
	const n = 8
	r := open(t, n)
	var from, to [n]int
	if err := r.Places(n); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		from[i], to[i] = pair(t)
		place(t, r, i, from[i])
	}
	b, got := []byte("0123456789"), make([]byte, 64)
	for round := range 100 {
		for i := range n {
			if !r.Queue(i, b[:1+(i+round)%10], uint64(i)) {
				t.Fatal("no room")
			}
		}
		if r.Queue(0, b, 0) {
			t.Fatal("room for more than the ring holds")
		}
		if err := r.Submit(); err != nil || r.Queued() != 0 {
			t.Fatal(err, r.Queued())
		}
		for range n {
			o, ok := r.Next()
			if want := 1 + (int(o.Tag)+round)%10; o.Err != nil || !ok || o.N != want {
				t.Fatalf("%+v of %d bytes", o, want)
			}
			if k, err := unix.Read(to[o.Tag], got); err != nil || !bytes.Equal(got[:k], b[:o.N]) {
				t.Fatalf("socket %d: %q, %v", o.Tag, got[:k], err)
			}
		}
		if _, more := r.Next(); more {
			t.Fatal("an outcome of nothing")
		}
	}
}

func TestFullAndBrokenSockets(t *testing.T) {
	r := open(t, 2)
	full, _ := pair(t)
	broken, other := pair(t)
	if err := unix.Shutdown(other, unix.SHUT_RD); err != nil {
		t.Fatal(err)
	}
	big := make([]byte, 1<<20)
	if err := r.Places(2); err != nil {
		t.Fatal(err)
	}
	place(t, r, 0, full)
	place(t, r, 1, broken)
	outcome := func(at int) (int, error) {
		r.Queue(at, big, 1)
		if err := r.Submit(); err != nil {
			t.Fatal(err)
		}
		o, ok := r.Next()
		if !ok {
			t.Fatal("no outcome")
		}
		return o.N, o.Err
	}
	if n, err := outcome(0); err != nil || n == 0 || n == len(big) {
		t.Errorf("a full socket took %d bytes, %v", n, err)
	}
	if n, err := outcome(0); !errors.Is(err, syscall.EAGAIN) || n != 0 {
		t.Errorf("a full socket took %d more, %v", n, err)
	}
	if _, err := outcome(1); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("a broken one: %v", err)
	}
}

func TestQueueAndSubmitAllocateNothing(t *testing.T) {
	r := open(t, 2)
	from, to := pair(t)
	if err := r.Places(1); err != nil {
		t.Fatal(err)
	}
	place(t, r, 0, from)
	b, got := []byte("word"), make([]byte, 16)
	if n := testing.AllocsPerRun(100, func() {
		r.Queue(0, b, 1)
		_ = r.Submit()
		r.Next()
		_, _ = unix.Read(to, got)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestWhyThereIsNone(t *testing.T) {
	for errno, want := range map[syscall.Errno]string{
		unix.ENOSYS: "this kernel has none", unix.EINVAL: "Linux 6.1", unix.EPERM: "forbidden", unix.ENOMEM: "memory",
	} {
		if got := unavailable(errno); !errors.Is(got, errno) || !bytes.Contains([]byte(got.Error()), []byte(want)) {
			t.Errorf("%v: %v", errno, got)
		}
	}
	if r, err := New(1 << 30); err == nil {
		_ = r.Close()
		t.Error("a ring without end")
	}
}
