package doctor

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mqlab/mqlab/internal/netns"
)

var errNoTime = errors.New("what arrives on the loopback interface bears no time")

// probeKernelTimes sends to itself and looks whether the kernel stamps what arrives.
func probeKernelTimes(ctx context.Context) *Ability {
	l, err := netns.Host.Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil
	}
	defer func() { _ = l.Close() }()
	out, err := netns.Host.Dial(ctx, "tcp4", l.Addr().String())
	if err != nil {
		return nil
	}
	defer func() { _ = out.Close() }()
	in, err := l.Accept()
	if err != nil {
		return nil
	}
	defer func() { _ = in.Close() }()
	if in.SetDeadline(time.Now().Add(time.Second)) != nil {
		return nil
	}
	return able(stamped(in, out))
}

// stamped asks for timestamps at one end and sends a few bytes from the other: the kernel takes a moment to begin.
func stamped(in, out net.Conn) error {
	raw, err := in.(syscall.Conn).SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPING, unix.SOF_TIMESTAMPING_RX_SOFTWARE|unix.SOF_TIMESTAMPING_SOFTWARE)
	})
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	for range 5 {
		if _, err := out.Write([]byte{0}); err != nil {
			return err
		}
		var b [1]byte
		var control [256]byte
		var n int
		err := raw.Read(func(fd uintptr) bool {
			_, n, _, _, failed = unix.Recvmsg(int(fd), b[:], control[:], unix.MSG_DONTWAIT)
			return !errors.Is(failed, unix.EAGAIN)
		})
		if err := errors.Join(err, failed); err != nil {
			return err
		}
		if hasTime(control[:n]) {
			return nil
		}
	}
	return errNoTime
}

// hasTime looks for a software timestamp: the first of the three of struct scm_timestamping.
func hasTime(control []byte) bool {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return false
	}
	for _, m := range messages {
		if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SO_TIMESTAMPING && len(m.Data) >= int(unsafe.Sizeof(unix.Timespec{})) {
			return (*unix.Timespec)(unsafe.Pointer(&m.Data[0])).Sec != 0
		}
	}
	return false
}
