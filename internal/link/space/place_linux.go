package space

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Place is a namespace as a netns.Place. Sockets are made by the thread in the namespace; everything else about them can be
// done by any thread. Connections have no TCP keepalive, which would add packets of its own.
type Place struct {
	Space *Space
	// Source, if set, tells from which address the next connection is made.
	Source func() netip.Addr
	// Loopback, if set, is dialled instead of 127.0.0.1.
	Loopback netip.Addr
}

// Dial connects by tcp or udp. Addresses are of IPv4, or localhost.
func (p *Place) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	kind := unix.SOCK_STREAM
	switch network {
	case "tcp", "tcp4":
	case "udp", "udp4":
		kind = unix.SOCK_DGRAM
	default:
		return nil, fmt.Errorf("dial %s %s: this network has tcp and udp of IPv4", network, addr)
	}
	conn, err := p.dial(ctx, kind, addr)
	if err != nil {
		return nil, fmt.Errorf("dial %s %s: %w", network, addr, err)
	}
	return conn, nil
}

func (p *Place) dial(ctx context.Context, kind int, addr string) (net.Conn, error) {
	to, err := p.resolve(addr)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	fd, err := p.socket(kind)
	if err != nil {
		return nil, err
	}
	if p.Source != nil {
		if err := bind(fd, p.Source()); err != nil {
			return nil, errors.Join(err, unix.Close(fd))
		}
	}
	return connect(ctx, fd, to)
}

// resolve reads an address and replaces the loopback one.
func (p *Place) resolve(addr string) (netip.AddrPort, error) {
	host, service, err := net.SplitHostPort(addr)
	if err != nil {
		return netip.AddrPort{}, err
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("port %q is not a number up to 65535", service)
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || !ip.Is4() {
		return netip.AddrPort{}, fmt.Errorf("%q is not an address of IPv4: there are no names in this network", host)
	}
	if p.Loopback.IsValid() && ip.IsLoopback() {
		ip = p.Loopback
	}
	return netip.AddrPortFrom(ip, uint16(port)), nil
}

// socket makes a socket in the namespace.
func (p *Place) socket(kind int) (fd int, err error) {
	err = p.Space.Do(func() error {
		fd, err = unix.Socket(unix.AF_INET, kind|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		return err
	})
	return fd, err
}

// bind sets the source address; the port is left to connect, which knows the other end.
func bind(fd int, source netip.Addr) error {
	return errors.Join(
		unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1),
		unix.Bind(fd, &unix.SockaddrInet4{Addr: source.As4()}),
	)
}

// connect owns fd.
func connect(ctx context.Context, fd int, to netip.AddrPort) (net.Conn, error) {
	err := unix.Connect(fd, &unix.SockaddrInet4{Addr: to.Addr().As4(), Port: int(to.Port())})
	if err != nil && !errors.Is(err, unix.EINPROGRESS) {
		return nil, errors.Join(err, unix.Close(fd))
	}
	f := os.NewFile(uintptr(fd), "socket")
	defer func() { _ = f.Close() }() // the connection has a descriptor of its own
	if err != nil {
		if err := established(ctx, f); err != nil {
			return nil, err
		}
	}
	conn, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		if err := tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: false}); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return conn, nil
}

// established waits until a connection is made or refused.
func established(ctx context.Context, f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = f.SetWriteDeadline(time.Unix(1, 0)) })
	defer stop()
	var failed error
	err = raw.Write(func(fd uintptr) bool {
		code, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ERROR)
		switch {
		case err != nil:
			failed = err
		case code != 0:
			failed = syscall.Errno(code)
		default:
			_, err = unix.Getpeername(int(fd))
			return !errors.Is(err, unix.ENOTCONN)
		}
		return true
	})
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	return failed
}

// Listen listens at an address of the namespace.
func (p *Place) Listen(ctx context.Context, network, addr string) (l net.Listener, err error) {
	err = p.Space.Do(func() error {
		c := net.ListenConfig{KeepAlive: -1}
		l, err = c.Listen(ctx, network, addr)
		return err
	})
	return l, err
}

// ListenPacket listens for datagrams; it implements netns.PacketPlace.
func (p *Place) ListenPacket(ctx context.Context, network, addr string) (c net.PacketConn, err error) {
	err = p.Space.Do(func() error {
		var config net.ListenConfig
		c, err = config.ListenPacket(ctx, network, addr)
		return err
	})
	return c, err
}

// Command prepares a program that will run in the namespace. It is this program, which enters the namespace and becomes the other.
func (p *Place) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	path, lookErr := exec.LookPath(name)
	if path == "" {
		path = name
	}
	where := fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), p.Space.fd)
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Args = append([]string{self, enterVerb, where, path, name}, args...)
	cmd.Err = errors.Join(cmd.Err, lookErr)
	return cmd
}
