// Package netns says where sockets and processes live. The rest of the lab opens connections, listens and starts
// processes through a Place only, so that a trial can move from this host into a network namespace or a user-space
// network stack without any other package noticing.
package netns

import (
	"context"
	"net"
	"os/exec"
)

// Place is where sockets and processes live. Its methods have the contracts of net.Dialer.DialContext,
// net.ListenConfig.Listen and exec.CommandContext.
type Place interface {
	Dial(ctx context.Context, network, addr string) (net.Conn, error)
	Listen(ctx context.Context, network, addr string) (net.Listener, error)
	Command(ctx context.Context, name string, args ...string) *exec.Cmd
}

// PacketPlace is a Place that receives datagrams, too, with the contract of net.ListenConfig.ListenPacket.
type PacketPlace interface {
	ListenPacket(ctx context.Context, network, addr string) (net.PacketConn, error)
}

// Host is the network and process space that this program itself runs in.
var Host Place = host{}

type host struct{}

func (host) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, network, addr)
}

func (host) Listen(ctx context.Context, network, addr string) (net.Listener, error) {
	var l net.ListenConfig
	return l.Listen(ctx, network, addr)
}

func (host) ListenPacket(ctx context.Context, network, addr string) (net.PacketConn, error) {
	var l net.ListenConfig
	return l.ListenPacket(ctx, network, addr)
}

func (host) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, name, args...)
}

// Userland is a Place whose connections are not sockets of the kernel, so that only what asks no more of them than a net.Conn can use
// them.
type Userland interface {
	Place
	// Userland says what makes the connections, in a few words.
	Userland() string
}
