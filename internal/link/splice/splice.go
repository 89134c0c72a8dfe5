// Package splice joins two byte streams, so that what one end sees of the other is what it would see without a joint: its bytes,
// the end of them (FIN) and an abort (RST).
package splice

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
)

// bufferBytes is what is on its way within one direction of a joint. It is small: bytes in it were acknowledged to the sender and
// have not reached the receiver.
const bufferBytes = 16 << 10

// Join carries bytes both ways until both directions have ended, and closes both connections. When one is aborted the other is
// aborted, too.
func Join(a, b net.Conn) {
	var wg sync.WaitGroup
	wg.Go(func() { oneWay(a, b) })
	wg.Go(func() { oneWay(b, a) })
	wg.Wait()
	_ = a.Close() // both have ended
	_ = b.Close()
}

// oneWay carries bytes from one connection to another until the first ends.
func oneWay(to, from net.Conn) {
	// The plain interfaces keep io.CopyBuffer from splice(2), whose pipe would hold up to a mebibyte.
	_, err := io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, make([]byte, bufferBytes))
	if err != nil {
		Abort(to)
		Abort(from)
		return
	}
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // the other direction tells if it is gone
	}
}

// Abort closes a connection so that its peer sees a reset (RST), where the connection can do that.
func Abort(c net.Conn) {
	if lingers, ok := c.(interface{ SetLinger(sec int) error }); ok {
		_ = lingers.SetLinger(0) // fails only when it is closed already
	}
	_ = c.Close()
}

// Relay accepts connections and joins each with one that dial makes, until the listener is closed or ctx ends; then it ends all of
// them. A connection whose other side cannot be dialled is aborted; failed, if not nil, is told why. It owns the listener.
func Relay(ctx context.Context, l net.Listener, dial func(context.Context) (net.Conn, error), failed func(error)) error {
	ctx, cancel := context.WithCancel(ctx)
	r := relay{open: map[net.Conn]struct{}{}}
	stop := context.AfterFunc(ctx, func() {
		_ = l.Close() // ends Accept
		r.abort()
	})
	defer func() {
		cancel()
		stop()
		_ = l.Close()
		r.abort()
		r.joints.Wait()
	}()
	for {
		near, err := l.Accept()
		switch {
		case ctx.Err() != nil, errors.Is(err, net.ErrClosed):
			return context.Cause(ctx)
		case err != nil:
			return err
		}
		r.joints.Go(func() { r.serve(ctx, near, dial, failed) })
	}
}

// relay knows the connections that are joined now.
type relay struct {
	joints sync.WaitGroup
	mu     sync.Mutex
	ended  bool
	open   map[net.Conn]struct{}
}

func (r *relay) serve(ctx context.Context, near net.Conn, dial func(context.Context) (net.Conn, error), failed func(error)) {
	if !r.keep(near) {
		return
	}
	defer r.forget(near)
	far, err := dial(ctx)
	if err != nil {
		Abort(near)
		if failed != nil && ctx.Err() == nil {
			failed(err)
		}
		return
	}
	if !r.keep(far) {
		return
	}
	defer r.forget(far)
	Join(near, far)
}

// keep notes a connection that is to end with the relay; false = the relay has ended, and so has the connection.
func (r *relay) keep(c net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		Abort(c)
		return false
	}
	r.open[c] = struct{}{}
	return true
}

func (r *relay) forget(c net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, c)
}

// abort ends all connections, and those to come.
func (r *relay) abort() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	for c := range r.open {
		Abort(c)
	}
}
