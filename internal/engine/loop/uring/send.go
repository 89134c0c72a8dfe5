//go:build linux

package uring

import (
	"fmt"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Queue adds a send of b, which must stay as it is until Submit and be kept by the caller, to the socket at a place. tag comes
// back with its outcome. Sends of one Submit to one socket could overtake each other where the first does not fit: queue
// one only. Queue tells whether there was room.
func (r *Ring) Queue(place int, b []byte, tag uint64) bool {
	if r.queued == uint32(len(r.requests)) || len(b) == 0 {
		return false
	}
	r.requests[r.tail&r.mask] = request{
		op: opSend, flags: sendAtPlace, fd: int32(place), address: uint64(uintptr(unsafe.Pointer(&b[0]))), length: uint32(len(b)),
		sendFlag: unix.MSG_DONTWAIT | unix.MSG_NOSIGNAL, tag: tag,
	}
	r.tail++
	r.queued++
	return true
}

// Queued is how many sends Submit would do.
func (r *Ring) Queued() int { return int(r.queued) }

// Submit does what is queued, and returns when all of it has an outcome, which Next tells. It does not block: a socket without
// room ends its send with EAGAIN.
func (r *Ring) Submit() error {
	atomic.StoreUint32(r.submitTail, r.tail)
	for r.queued > 0 {
		n, _, errno := syscall.RawSyscall6(unix.SYS_IO_URING_ENTER, uintptr(r.fd), uintptr(r.queued), uintptr(r.queued), enterGetEvents, 0, 0)
		switch errno {
		case 0:
			r.queued -= uint32(n)
		case unix.EINTR, unix.EAGAIN, unix.EBUSY:
		default:
			return fmt.Errorf("io_uring_enter: %w", errno)
		}
	}
	return nil
}

// Outcome is what became of one send.
type Outcome struct {
	Tag uint64
	N   int   // bytes that the socket took
	Err error // EAGAIN: it has no room
}

// Next returns one outcome; ok is false when all have been told.
func (r *Ring) Next() (o Outcome, ok bool) {
	head := *r.completeHead
	if head == atomic.LoadUint32(r.completeTail) {
		return o, false
	}
	c := r.completions[head&r.completionMask]
	atomic.StoreUint32(r.completeHead, head+1)
	o.Tag = c.tag
	if c.result < 0 {
		o.Err = syscall.Errno(-c.result)
	} else {
		o.N = int(c.result)
	}
	return o, true
}
