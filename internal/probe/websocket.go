package probe

import (
	"errors"
	"io"
	"net"
	"time"
)

// patient is a WebSocket that may be read again after a read took too long, which WebSockets do not forgive: another goroutine
// reads from it, a buffer ahead at most.
type patient struct {
	net.Conn          // the WebSocket
	in       net.Conn // what came
}

func newPatient(ws net.Conn) *patient {
	near, far := net.Pipe()
	go func() {
		_, _ = io.Copy(far, ws) // the end of either ends it
		_ = far.Close()
	}()
	return &patient{ws, near}
}

func (p *patient) Read(b []byte) (int, error) { return p.in.Read(b) }

func (p *patient) SetReadDeadline(t time.Time) error { return p.in.SetReadDeadline(t) }

func (p *patient) Close() error { return errors.Join(p.in.Close(), p.Conn.Close()) }
