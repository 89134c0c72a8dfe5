package netstack

import (
	"errors"
	"fmt"
	"net/netip"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/icmp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
)

// mtu is that of Ethernet. One packet of the stacks is one packet of the link: they do not offload segmentation.
const mtu = 1500

// datagramBuffer is how many bytes of datagrams may wait for a reader that is not scheduled: the link is to lose them, not its ends.
const datagramBuffer = 4 << 20

// card is the number of a stack's only network interface.
const card = 1

// algorithm is the congestion control of the stacks: their cubic takes acknowledgements for losses and may shrink the window to
// nothing, in which a connection stays for good (mended by gVisor's pull request 13958, which needs a later Go than this module).
const algorithm = "reno"

// recovery is how the stacks find losses: by duplicate acknowledgements and SACK (RFC 6675). Their RACK leaves, now and then, bytes
// unsent with no timer that would send them (gVisor issue 6113).
const recovery = tcpip.TCPRecovery(0)

// newStack makes a TCP/IP stack with one interface, which takes and sends packets of any address: there is one stack for all
// devices and one for all brokers.
func newStack(e *endpoint, own netip.Addr, buffer int) (*stack.Stack, error) {
	s := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol, udp.NewProtocol, icmp.NewProtocol4},
	})
	sack, loss, control := tcpip.TCPSACKEnabled(true), recovery, tcpip.CongestionControlOption(algorithm)
	send := tcpip.TCPSendBufferSizeRangeOption{Min: tcp.MinBufferSize, Default: buffer, Max: buffer}
	receive := tcpip.TCPReceiveBufferSizeRangeOption{Min: tcp.MinBufferSize, Default: buffer, Max: buffer}
	for _, o := range []tcpip.SettableTransportProtocolOption{&sack, &loss, &control, &send, &receive} {
		if err := s.SetTransportProtocolOption(tcp.ProtocolNumber, o); err != nil {
			return nil, fmt.Errorf("set %T: %s", o, err)
		}
	}
	room := tcpip.ReceiveBufferSizeOption{Min: tcp.MinBufferSize, Default: datagramBuffer, Max: datagramBuffer}
	if err := s.SetOption(room); err != nil {
		return nil, fmt.Errorf("set %T: %s", room, err)
	}
	if err := s.CreateNIC(card, e); err != nil {
		return nil, fmt.Errorf("create an interface: %s", err)
	}
	address := tcpip.ProtocolAddress{Protocol: ipv4.ProtocolNumber, AddressWithPrefix: tcpip.AddrFromSlice(own.AsSlice()).WithPrefix()}
	s.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: card}})
	for _, err := range []tcpip.Error{
		s.AddProtocolAddress(card, address, stack.AddressProperties{}), s.SetPromiscuousMode(card, true), s.SetSpoofing(card, true),
	} {
		if err != nil {
			return nil, fmt.Errorf("set up the interface: %s", err)
		}
	}
	return s, nil
}

// congestion reads back which algorithm new connections of s have.
func congestion(s *stack.Stack) (string, error) {
	var now tcpip.CongestionControlOption
	if err := s.TransportProtocolOption(tcp.ProtocolNumber, &now); err != nil {
		return "", errors.New(err.String())
	}
	return string(now), nil
}

// checkCongestion says whether the stacks have the algorithm that was asked for; empty = any.
func checkCongestion(asked string) error {
	if asked != "" && asked != algorithm {
		return fmt.Errorf("congestion control %q: backend netstack has %s only; use backend tun", asked, algorithm)
	}
	return nil
}

// endpoint is the end of a link at a stack: what the stack sends is offered to send.
type endpoint struct {
	*channel.Endpoint                     // its queue is not used
	send              func(packet []byte) // must not keep it
}

func newEndpoint(send func([]byte)) *endpoint {
	return &endpoint{channel.New(1, mtu, ""), send}
}

// WritePackets implements stack.LinkWriter.
func (e *endpoint) WritePackets(list stack.PacketBufferList) (int, tcpip.Error) {
	for _, p := range list.AsSlice() {
		view := p.ToView()
		e.send(view.AsSlice()) // which copies
		view.Release()
	}
	return list.Len(), nil
}
