package inspect

import (
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mqlab/mqlab/internal/procstat"
)

// state is what a thread does.
type state uint8

const (
	otherState     state = iota
	running              // or ready to
	waitsForSocket       // that is one of those watched
	sleeps               // for a time
	writes               // to something that is no socket, or waits until it is on disk
)

// threadStates are those of all threads at this moment.
func threadStates(pid int, sockets map[int]*watched) (list []state, err error) {
	threads, err := procstat.Host.Threads(pid)
	if err != nil {
		return nil, errEnded
	}
	for _, tid := range threads {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/task/" + strconv.Itoa(tid) + "/syscall")
		if errors.Is(err, os.ErrPermission) {
			return nil, ErrRights
		}
		if err != nil {
			continue // it has just ended
		}
		list = append(list, stateOf(pid, string(text), sockets))
	}
	if len(list) == 0 {
		return nil, errEnded
	}
	return list, nil
}

var errEnded = errors.New("it ended while mqlab looked at it")

// stateOf reads a line of /proc/PID/task/TID/syscall: the number of a system call and its arguments in hexadecimal, or "running".
func stateOf(pid int, line string, sockets map[int]*watched) state {
	fields := strings.Fields(line)
	if len(fields) < 5 {
		return running
	}
	call, err := strconv.Atoi(fields[0])
	if err != nil {
		return running
	}
	arg := func(i int) uint64 {
		n, err := strconv.ParseUint(strings.TrimPrefix(fields[1+i], "0x"), 16, 64)
		if err != nil {
			return 0
		}
		return n
	}
	watchedSocket := func(fd int) bool { return sockets[fd] != nil }
	switch calls[call] {
	case receiving:
		if watchedSocket(int(arg(0))) {
			return waitsForSocket
		}
	case sending:
		if !watchedSocket(int(arg(0))) {
			return writes
		}
	case syncing:
		return writes
	case sleeping:
		return sleeps
	case polling:
		if pollsFor(pid, arg(0), arg(1), watchedSocket) {
			return waitsForSocket
		}
	case selecting:
		if selectsFor(pid, arg(0), arg(1), watchedSocket) {
			return waitsForSocket
		}
		if arg(0) == 0 {
			return sleeps
		}
	case epolling:
		if epollsFor(pid, int(arg(0)), watchedSocket) {
			return waitsForSocket
		}
	}
	return otherState
}

// peek reads memory of the process.
func peek(pid int, address uint64, n int) []byte {
	b := make([]byte, n)
	local := []unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(n)
	got, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: uintptr(address), Len: n}}, 0)
	if err != nil || got < 0 {
		return nil
	}
	return b[:got]
}

const maxPolled = 1024

// pollsFor tells whether poll(2) waits for a descriptor: struct pollfd begins with it, and is 8 bytes long.
func pollsFor(pid int, address, n uint64, want func(int) bool) bool {
	if n == 0 || n > maxPolled {
		return false
	}
	for b := peek(pid, address, int(n)*8); len(b) >= 8; b = b[8:] {
		if want(int(int32(binary.NativeEndian.Uint32(b)))) {
			return true
		}
	}
	return false
}

// selectsFor tells whether select(2) waits to read from a descriptor: a bit of a set of n.
func selectsFor(pid int, n, address uint64, want func(int) bool) bool {
	if n == 0 || n > maxPolled || address == 0 {
		return false
	}
	for i, b := range peek(pid, address, int(n+7)/8) {
		for bit := range 8 {
			if b>>bit&1 == 1 && want(8*i+bit) {
				return true
			}
		}
	}
	return false
}

// epollsFor tells whether epoll_wait(2) waits for a descriptor.
func epollsFor(pid, epoll int, want func(int) bool) bool {
	return slices.ContainsFunc(strings.Split(read("/proc/"+strconv.Itoa(pid)+"/fdinfo/"+strconv.Itoa(epoll)), "\n"), func(line string) bool {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] != "tfd:" {
			return false
		}
		fd, err := strconv.Atoi(f[1])
		return err == nil && want(fd)
	})
}
