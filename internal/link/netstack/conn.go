package netstack

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"
)

// conn is a TCP connection of a stack with what callers know from net.TCPConn.
type conn struct {
	*gonet.TCPConn
	end tcpip.Endpoint
}

// dialTCP connects from one address to another.
func dialTCP(ctx context.Context, s *stack.Stack, from netip.Addr, to netip.AddrPort) (*conn, error) {
	var queue waiter.Queue
	end, refusal := s.NewEndpoint(tcp.ProtocolNumber, ipv4.ProtocolNumber, &queue)
	if refusal != nil {
		return nil, dialError(to, refusal)
	}
	writable, connected := waiter.NewChannelEntry(waiter.WritableEvents)
	queue.EventRegister(&writable)
	defer queue.EventUnregister(&writable)
	if refusal = end.Bind(fullAddress(netip.AddrPortFrom(from, 0))); refusal == nil {
		refusal = end.Connect(fullAddress(to))
	}
	if _, started := refusal.(*tcpip.ErrConnectStarted); started {
		select {
		case <-ctx.Done():
			end.Abort()
			return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: net.TCPAddrFromAddrPort(to), Err: ctx.Err()}
		case <-connected:
		}
		refusal = end.LastError()
	}
	if refusal != nil {
		end.Close()
		return nil, dialError(to, refusal)
	}
	return &conn{gonet.NewTCPConn(&queue, end), end}, nil
}

func dialError(to netip.AddrPort, e tcpip.Error) error {
	return &net.OpError{Op: "dial", Net: "tcp", Addr: net.TCPAddrFromAddrPort(to), Err: systemError("connect", e.String())}
}

func fullAddress(a netip.AddrPort) tcpip.FullAddress {
	return tcpip.FullAddress{NIC: card, Addr: tcpip.AddrFromSlice(a.Addr().AsSlice()), Port: a.Port()}
}

// known are the errors of a stack that callers tell apart, by the kernel's names for them.
var known = map[string]syscall.Errno{
	(&tcpip.ErrConnectionRefused{}).String(): syscall.ECONNREFUSED,
	(&tcpip.ErrConnectionReset{}).String():   syscall.ECONNRESET,
	(&tcpip.ErrConnectionAborted{}).String(): syscall.ECONNABORTED,
	(&tcpip.ErrTimeout{}).String():           syscall.ETIMEDOUT,
	(&tcpip.ErrHostUnreachable{}).String():   syscall.EHOSTUNREACH,
	(&tcpip.ErrClosedForSend{}).String():     syscall.EPIPE,
	(&tcpip.ErrNoPortAvailable{}).String():   syscall.EADDRNOTAVAIL,
}

func systemError(call, text string) error {
	if n, ok := known[text]; ok {
		return os.NewSyscallError(call, n)
	}
	return errors.New(text)
}

// explain gives an error of gonet the kernel's name.
func explain(call string, err error) error {
	var op *net.OpError
	if err == nil || err == io.EOF || !errors.As(err, &op) {
		return err
	}
	op.Err = systemError(call, op.Err.Error())
	return op
}

// Read implements net.Conn.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(b)
	if err != nil && !isTimeout(err) {
		err = explain("read", err)
	}
	return n, err
}

// Write implements net.Conn.
func (c *conn) Write(b []byte) (int, error) {
	n, err := c.TCPConn.Write(b)
	if err != nil && !isTimeout(err) {
		err = explain("write", err)
	}
	return n, err
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

// SetNoDelay switches Nagle's algorithm off, or on.
func (c *conn) SetNoDelay(on bool) error {
	c.end.SocketOptions().SetDelayOption(!on)
	return nil
}

// SetLinger says what Close does with bytes that were not sent: 0 = drop them and reset the connection.
func (c *conn) SetLinger(seconds int) error {
	c.end.SocketOptions().SetLinger(tcpip.LingerOption{Enabled: seconds >= 0, Timeout: time.Duration(seconds) * time.Second})
	return nil
}
