package monitor

import (
	"os"

	"golang.org/x/sys/unix"
)

// TCPInfo asks the kernel (4.19 or later) for the totals of one TCP connection. It costs one system call.
func TCPInfo(fd uintptr) (TCPTotals, error) {
	i, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return TCPTotals{}, os.NewSyscallError("getsockopt TCP_INFO", err)
	}
	return TCPTotals{
		Sockets:       1,
		BytesSent:     i.Bytes_sent,
		BytesReceived: i.Bytes_received,
		SegmentsOut:   uint64(i.Segs_out),
		SegmentsIn:    uint64(i.Segs_in),
		Retransmits:   uint64(i.Total_retrans),
	}, nil
}
