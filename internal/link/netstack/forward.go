package netstack

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
	"gvisor.dev/gvisor/pkg/waiter"

	"github.com/mqlab/mqlab/internal/link/splice"
	"github.com/mqlab/mqlab/internal/netns"
)

const (
	// connecting is how many connections may be on their way to brokers; the SYNs of more are dropped.
	connecting = 1 << 16
	// reach is within how much time a broker must take a connection: it is as near as the loopback interface, or one hop away.
	reach = 10 * time.Second
	// spliceBytes bounds what waits in the sockets between the stack and the broker: it has arrived and was not read.
	spliceBytes = 32 << 10
	// datagram is the largest that is carried.
	datagram = 64 << 10
)

// forwarder carries what arrives at the brokers' end of the link on to them, over connections of this host.
type forwarder struct {
	stack   *stack.Stack
	hosts   *hosts
	brokers netns.Place
	ctx     context.Context
	joints  sync.WaitGroup

	mu   sync.Mutex
	open map[net.Conn]struct{} // those of this host; nil = closed
}

// attach makes f the receiver of all that arrives at its stack.
func (f *forwarder) attach() {
	f.stack.SetTransportProtocolHandler(tcp.ProtocolNumber, tcp.NewForwarder(f.stack, 0, connecting, f.tcp).HandlePacket)
	f.stack.SetTransportProtocolHandler(udp.ProtocolNumber, udp.NewForwarder(f.stack, f.udp).HandlePacket)
}

// tcp connects to the broker before the client hears that it is connected, so that a refusal stays one.
func (f *forwarder) tcp(r *tcp.ForwarderRequest) {
	f.joints.Go(func() {
		far, err := f.dial("tcp", r.ID())
		if err != nil {
			r.Complete(true)
			return
		}
		defer f.forget(far)
		var queue waiter.Queue
		end, refusal := r.CreateEndpoint(&queue)
		r.Complete(refusal != nil)
		if refusal != nil {
			splice.Abort(far)
			return
		}
		splice.Join(&conn{gonet.NewTCPConn(&queue, end), end}, far)
	})
}

// udp carries the datagrams of one source both ways, until the network is closed.
func (f *forwarder) udp(r *udp.ForwarderRequest) {
	var queue waiter.Queue
	end, refusal := r.CreateEndpoint(&queue)
	if refusal != nil {
		return
	}
	f.joints.Go(func() {
		near := gonet.NewUDPConn(&queue, end)
		far, err := f.dial("udp", r.ID())
		if err != nil {
			_ = near.Close()
			return
		}
		defer f.forget(far)
		f.joints.Go(func() { datagrams(near, far) })
		datagrams(far, near)
		_ = far.Close()
		_ = near.Close()
	})
}

// datagrams copies one by one until one end is closed. What the receiver does not take is lost, as datagrams are.
func datagrams(to, from net.Conn) {
	for b := make([]byte, datagram); ; {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		_, _ = to.Write(b[:n])
	}
}

// dial connects to the broker at an address of the link.
func (f *forwarder) dial(network string, id stack.TransportEndpointID) (net.Conn, error) {
	at, _ := netip.AddrFromSlice(id.LocalAddress.AsSlice())
	addr, ok := f.hosts.real(netip.AddrPortFrom(at, id.LocalPort))
	if !ok {
		return nil, &net.OpError{Op: "dial", Net: network, Err: systemError("connect", (&tcpip.ErrHostUnreachable{}).String())}
	}
	ctx, cancel := context.WithTimeout(f.ctx, reach)
	defer cancel()
	c, err := f.brokers.Dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	size := spliceBytes
	if network == "udp" {
		size = datagramBuffer
	}
	if sizes, ok := c.(interface {
		SetReadBuffer(bytes int) error
		SetWriteBuffer(bytes int) error
	}); ok {
		_, _ = sizes.SetReadBuffer(size), sizes.SetWriteBuffer(size) // the kernel's own sizes do, too
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open == nil {
		_ = c.Close()
		return nil, net.ErrClosed
	}
	f.open[c] = struct{}{}
	return c, nil
}

func (f *forwarder) forget(c net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.open, c)
}

// close ends all connections to brokers.
func (f *forwarder) close() {
	f.mu.Lock()
	for c := range f.open {
		splice.Abort(c)
	}
	f.open = nil
	f.mu.Unlock()
	f.joints.Wait()
}
