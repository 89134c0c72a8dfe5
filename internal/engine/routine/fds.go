package routine

import (
	"net"
	"syscall"
)

// FDs calls f with the descriptor of each open connection that has one. It must be called from Do.
func (r *Routines) FDs(f func(id, fd int)) {
	for id, c := range r.conns {
		if c.link == nil {
			continue
		}
		socket, ok := below(c.net).(syscall.Conn)
		if !ok {
			continue
		}
		if raw, err := socket.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) { f(id, int(fd)) }) // a closed one has none
		}
	}
}

// below is the connection under whatever is spoken over it.
func below(conn net.Conn) net.Conn {
	for {
		wrapper, wraps := conn.(interface{ NetConn() net.Conn })
		if !wraps {
			return conn
		}
		conn = wrapper.NetConn()
	}
}
