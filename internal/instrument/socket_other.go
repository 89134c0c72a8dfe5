//go:build !linux

package instrument

import (
	"errors"
	"net"
)

// rawSocket writes to a socket.
type rawSocket struct{ conn *net.TCPConn }

func newRawSocket(c *net.TCPConn) (*rawSocket, error) { return &rawSocket{c}, nil }

func (r *rawSocket) write(b []byte) error {
	_, err := r.conn.Write(b)
	return err
}

func (r *rawSocket) writeNow([]byte) (int, error) {
	return 0, errors.New("writing without waiting works on Linux only")
}

func grow(c *net.TCPConn, bytes int) (int, error) { return bytes, c.SetWriteBuffer(bytes) }

func (r *rawSocket) stampSends(bool) error { return errors.New("sends are stamped on Linux only") }

func (r *rawSocket) left() int64 { return 0 }
