package linktest

import (
	"encoding/binary"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mqlab/mqlab/internal/clock"
)

// buffer is how much may wait for us to read it, if the kernel allows so much.
const buffer = 4 << 20

// newReader reads with the kernel's time of arrival where the socket is one of the kernel's.
func newReader(s *socket) reader {
	conn, ok := s.conn.(*net.UDPConn)
	if !ok {
		conn, ok = s.bound.(*net.UDPConn)
	}
	if !ok {
		return plain{s}
	}
	_ = conn.SetReadBuffer(buffer) // less will mostly do
	raw, err := conn.SyscallConn()
	if err != nil {
		return plain{s}
	}
	var refused error
	err = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, buffer) // as above
		refused = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
	})
	if err != nil || refused != nil {
		return plain{s}
	}
	return &stamped{conn: conn, oob: make([]byte, 128)}
}

// stamped reads datagrams with the kernel's times.
type stamped struct {
	conn   *net.UDPConn
	oob    []byte
	offset int64 // from the wall clock to the monotonic one
	found  int64 // when that was found
}

func (r *stamped) read(buf []byte) (n int, at int64, err error) {
	n, oobn, _, _, err := r.conn.ReadMsgUDPAddrPort(buf, r.oob)
	now := clock.Now()
	if err != nil {
		return n, now, err
	}
	if now-r.found > int64(time.Second) {
		r.offset, r.found = clock.RealtimeOffset(), now
	}
	messages, err := unix.ParseSocketControlMessage(r.oob[:oobn])
	if err != nil {
		return n, now, err
	}
	for _, m := range messages {
		if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SCM_TIMESTAMPNS && len(m.Data) >= 16 {
			seconds, nanoseconds := binary.NativeEndian.Uint64(m.Data), binary.NativeEndian.Uint64(m.Data[8:])
			return n, int64(seconds)*1e9 + int64(nanoseconds) + r.offset, nil
		}
	}
	return n, now, nil
}
