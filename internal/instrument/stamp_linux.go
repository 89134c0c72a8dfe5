package instrument

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mqlab/mqlab/internal/clock"
)

// stampSends has the kernel note when what is written leaves to the network device, or no more.
func (r *rawSocket) stampSends(on bool) error {
	flags := 0
	if on {
		flags = unix.SOF_TIMESTAMPING_TX_SOFTWARE | unix.SOF_TIMESTAMPING_SOFTWARE | unix.SOF_TIMESTAMPING_OPT_TSONLY | unix.SOF_TIMESTAMPING_OPT_ID
	}
	return os.NewSyscallError("SO_TIMESTAMPING", unix.SetsockoptInt(r.fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPING, flags))
}

// left is when the last of what was written left, CLOCK_MONOTONIC ns; 0 = the kernel has not said.
func (r *rawSocket) left() (at int64) {
	var control [512]byte
	for {
		_, n, _, _, err := unix.Recvmsg(r.fd, nil, control[:], unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return at
		}
		messages, err := unix.ParseSocketControlMessage(control[:n])
		if err != nil {
			return at
		}
		for _, m := range messages {
			if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SO_TIMESTAMPING && len(m.Data) >= int(unsafe.Sizeof(unix.Timespec{})) {
				if t := (*unix.Timespec)(unsafe.Pointer(&m.Data[0])); t.Sec != 0 {
					at = max(at, t.Nano()+clock.RealtimeOffset())
				}
			}
		}
	}
}
