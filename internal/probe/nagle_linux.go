package probe

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// delayAcks tells the kernel to delay the acknowledgement of what arrives next. It forgets that after a while.
func delayAcks(c *net.TCPConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var set error
	err = raw.Control(func(fd uintptr) { set = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_QUICKACK, 0) })
	return errors.Join(err, set)
}
