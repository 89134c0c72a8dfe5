package ktrace

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// Counter counts the system calls of a process.
type Counter struct{ fds []int }

// Count begins to count the system calls of all threads of a process, those that it starts later included.
func Count(pid int) (*Counter, error) {
	list, err := threads(pid)
	if err != nil {
		return nil, err
	}
	c := &Counter{}
	for _, thread := range list {
		fd, err := open(callBegins, thread, -1, 0)
		if err != nil {
			c.Close()
			return nil, err
		}
		c.fds = append(c.fds, fd)
	}
	return c, nil
}

// Calls is how many calls there were since Count.
func (c *Counter) Calls() (n uint64) {
	var b [8]byte
	for _, fd := range c.fds {
		if got, err := unix.Read(fd, b[:]); err == nil && got == len(b) {
			n += binary.NativeEndian.Uint64(b[:])
		}
	}
	return n
}

// Close ends counting.
func (c *Counter) Close() {
	for _, fd := range c.fds {
		_ = unix.Close(fd)
	}
	c.fds = nil
}
