//go:build linux

// Package uring sends on many sockets by one system call, through a Linux io_uring: no C, no threads of its own, and nothing
// but sends. See io_uring(7) for the rings, io_uring_setup(2) and io_uring_enter(2) for the calls.
package uring

import (
	"errors"
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What <linux/io_uring.h> calls IORING_*.
const (
	setupDisabled     = 1 << 6  // SETUP_R_DISABLED: whoever enables it is the one thread that submits
	setupSingleIssuer = 1 << 12 // Linux 6.0
	setupDeferTaskrun = 1 << 13 // Linux 6.1: completions are made ready only when asked for
	featureSingleMmap = 1 << 0
	offsetEntries     = 0x10000000
	registerUpdate    = 6 // REGISTER_FILES_UPDATE
	registerEnable    = 12
	registerFiles     = 13 // REGISTER_FILES2
	registerSparse    = 1 << 0
	enterGetEvents    = 1 << 0
	sendAtPlace       = 1 << 0 // IOSQE_FIXED_FILE
	opSend            = 26
)

// params is struct io_uring_params.
type params struct {
	entries, completions, flags, threadCPU, threadIdle, features, queueFD uint32
	reserved                                                              [3]uint32
	submit, complete                                                      offsets
}

// offsets are struct io_sqring_offsets and struct io_cqring_offsets, which differ in what two fields mean.
type offsets struct {
	head, tail, mask, count, flags, dropped, array, reserved uint32 // complete: flags is overflow, dropped is where the entries are
	user                                                     uint64
}

// request is struct io_uring_sqe as IORING_OP_SEND uses it.
type request struct {
	op       uint8
	flags    uint8
	priority uint16
	fd       int32
	offset   uint64
	address  uint64
	length   uint32
	sendFlag uint32
	tag      uint64
	unused   [24]byte
}

// completion is struct io_uring_cqe.
type completion struct {
	tag    uint64
	result int32
	flags  uint32
}

// Ring is a queue of sends. Make one with New; then all else is done by one locked thread, Enable first.
type Ring struct {
	fd      int
	shared  []byte // both rings
	entries []byte // of the submission ring

	submitTail     *uint32
	requests       []request
	mask           uint32
	tail, queued   uint32
	completeHead   *uint32
	completeTail   *uint32
	completions    []completion
	completionMask uint32
}

// New returns a ring for n sends at a time; n must be a power of two.
func New(n int) (*Ring, error) {
	p := params{flags: setupDisabled | setupSingleIssuer | setupDeferTaskrun}
	fd, _, errno := syscall.Syscall(unix.SYS_IO_URING_SETUP, uintptr(n), uintptr(unsafe.Pointer(&p)), 0)
	if errno != 0 {
		return nil, unavailable(errno)
	}
	r := &Ring{fd: int(fd)}
	unix.CloseOnExec(r.fd)
	if err := r.mapRings(&p); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// unavailable words why there is no ring.
func unavailable(errno syscall.Errno) error {
	switch errno {
	case unix.ENOSYS:
		return fmt.Errorf("io_uring: this kernel has none: %w", errno)
	case unix.EINVAL:
		return fmt.Errorf("io_uring: it needs Linux 6.1: %w", errno)
	case unix.EPERM, unix.EACCES:
		return fmt.Errorf("io_uring: forbidden here (kernel.io_uring_disabled, or the filter of a container): %w", errno)
	}
	return fmt.Errorf("io_uring: %w", errno)
}

func (r *Ring) mapRings(p *params) error {
	if p.features&featureSingleMmap == 0 {
		return unavailable(unix.EINVAL)
	}
	size := max(p.submit.array+p.entries*4, p.complete.dropped+p.completions*uint32(unsafe.Sizeof(completion{})))
	var err error
	if r.shared, err = r.mmap(0, int(size)); err != nil {
		return err
	}
	if r.entries, err = r.mmap(offsetEntries, int(p.entries)*int(unsafe.Sizeof(request{}))); err != nil {
		return err
	}
	at := func(offset uint32) *uint32 { return (*uint32)(unsafe.Pointer(&r.shared[offset])) }
	r.submitTail, r.mask, r.tail = at(p.submit.tail), *at(p.submit.mask), *at(p.submit.tail)
	r.completeHead, r.completeTail, r.completionMask = at(p.complete.head), at(p.complete.tail), *at(p.complete.mask)
	r.requests = unsafe.Slice((*request)(unsafe.Pointer(&r.entries[0])), p.entries)
	r.completions = unsafe.Slice((*completion)(unsafe.Pointer(&r.shared[p.complete.dropped])), p.completions)
	for i, places := 0, unsafe.Slice(at(p.submit.array), p.entries); i < len(places); i++ {
		places[i] = uint32(i) // entry i is always at place i
	}
	return nil
}

func (r *Ring) mmap(offset int64, size int) ([]byte, error) {
	b, err := unix.Mmap(r.fd, offset, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return nil, fmt.Errorf("io_uring: mapping its rings: %w", err)
	}
	return b, nil
}

// Enable makes the calling thread, which must be locked, the one that sends.
func (r *Ring) Enable() error {
	if _, _, errno := syscall.RawSyscall6(unix.SYS_IO_URING_REGISTER, uintptr(r.fd), registerEnable, 0, 0, 0, 0); errno != 0 {
		return unavailable(errno)
	}
	return nil
}

// files is struct io_uring_rsrc_register.
type files struct {
	count, flags         uint32
	reserved, data, tags uint64
}

// Places makes room for n sockets. It is called once.
func (r *Ring) Places(n int) error {
	f := files{count: uint32(n), flags: registerSparse}
	return r.register(registerFiles, unsafe.Pointer(&f), unsafe.Sizeof(f))
}

// update is struct io_uring_rsrc_update.
type update struct {
	at, reserved uint32
	data         *int32
}

// Place puts a socket at a place below n: a send names the place, and the kernel need not look the socket up. -1 takes away what
// is there; until then it stays open for the peer, even when closed.
func (r *Ring) Place(at, fd int) error {
	number := int32(fd)
	u := update{at: uint32(at), data: &number}
	return r.register(registerUpdate, unsafe.Pointer(&u), 1)
}

func (r *Ring) register(what uintptr, arg unsafe.Pointer, n uintptr) error {
	if _, _, errno := syscall.Syscall6(unix.SYS_IO_URING_REGISTER, uintptr(r.fd), what, uintptr(arg), n, 0, 0); errno != 0 {
		return fmt.Errorf("io_uring: places for sockets: %w", errno)
	}
	return nil
}

// Close frees the ring. Nothing may be queued.
func (r *Ring) Close() error {
	var errs []error
	for _, b := range [][]byte{r.entries, r.shared} {
		if b != nil {
			errs = append(errs, unix.Munmap(b))
		}
	}
	r.entries, r.shared = nil, nil
	return errors.Join(append(errs, unix.Close(r.fd))...)
}
