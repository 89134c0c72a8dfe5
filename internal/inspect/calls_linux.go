package inspect

import "golang.org/x/sys/unix"

// kind is what sort of system call a thread is in.
type kind uint8

const (
	receiving kind = iota + 1 // from the descriptor that is the first argument
	sending                   // to it
	syncing
	sleeping
	polling   // address, number
	selecting // number, address
	epolling  // descriptor
)

// calls are the system calls that all architectures have; those of older ones are added.
var calls = map[int]kind{
	unix.SYS_READ: receiving, unix.SYS_READV: receiving, unix.SYS_RECVFROM: receiving, unix.SYS_RECVMSG: receiving,
	unix.SYS_WRITE: sending, unix.SYS_WRITEV: sending, unix.SYS_SENDTO: sending, unix.SYS_SENDMSG: sending, unix.SYS_PWRITE64: sending,
	unix.SYS_FSYNC: syncing, unix.SYS_FDATASYNC: syncing, unix.SYS_SYNC_FILE_RANGE: syncing,
	unix.SYS_NANOSLEEP: sleeping, unix.SYS_CLOCK_NANOSLEEP: sleeping,
	unix.SYS_PPOLL: polling, unix.SYS_PSELECT6: selecting, unix.SYS_EPOLL_PWAIT: epolling, unix.SYS_EPOLL_PWAIT2: epolling,
}
