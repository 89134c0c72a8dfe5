package faulty

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// Relay stands between clients and a foreign MQTT broker and does to the packets what its plan says. It knows the framing
// of MQTT and nothing else, and shares no code with the lab's sessions.
type Relay struct {
	target string
	mu     sync.Mutex // guards shared and conns
	shared *tampering
	conns  map[net.Conn]bool
	over   bool
	wg     sync.WaitGroup
}

// NewRelay returns a Relay to the broker at target (host:port).
func NewRelay(target string, p RelayPlan) *Relay {
	return &Relay{target: target, shared: newTampering(p), conns: map[net.Conn]bool{}}
}

// Truth returns what was done so far.
func (r *Relay) Truth() RelayTruth {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.shared.truth
}

// Serve relays the connections that ln accepts until ctx is done, closes ln, and waits for all that it started. It returns
// nil, or why accepting failed.
func (r *Relay) Serve(ctx context.Context, ln net.Listener) error {
	stop := context.AfterFunc(ctx, func() { _ = ln.Close() })
	defer stop()
	err := r.accept(ctx, ln)
	_ = ln.Close() // closed already where ctx is done
	r.mu.Lock()
	r.over = true
	for c := range r.conns {
		_ = c.Close()
	}
	r.mu.Unlock()
	r.wg.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (r *Relay) accept(ctx context.Context, ln net.Listener) error {
	for {
		client, err := ln.Accept()
		if err != nil {
			return err
		}
		r.wg.Go(func() { r.join(ctx, client) })
	}
}

// join relays one connection until either side ends it.
func (r *Relay) join(ctx context.Context, client net.Conn) {
	defer r.forget(client)
	var d net.Dialer
	broker, err := d.DialContext(ctx, "tcp", r.target)
	if err != nil {
		return
	}
	defer r.forget(broker)
	if !r.remember(client) || !r.remember(broker) {
		return
	}
	r.wg.Go(func() {
		_, _ = io.Copy(broker, client) // either side ended, which the client sees for itself
		_ = broker.Close()
	})
	r.back(client, broker)
}

func (r *Relay) remember(c net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conns[c] = true
	return !r.over
}

func (r *Relay) forget(c net.Conn) {
	_ = c.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, c)
}

// back carries what the broker sends to the client, and tampers with it.
func (r *Relay) back(client, broker net.Conn) {
	t := tamper{tampering: r.shared}
	var in, out []byte
	chunk := make([]byte, 64<<10)
	for {
		if len(t.held) > 0 {
			_ = broker.SetReadDeadline(time.Now().Add(time.Duration(heldAtMost)))
		} else {
			_ = broker.SetReadDeadline(time.Time{})
		}
		n, err := broker.Read(chunk)
		in = append(in, chunk[:n]...)
		r.mu.Lock()
		used, next, bad := t.feed(in, out[:0])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			next, err = t.flush(next), nil
		}
		r.mu.Unlock()
		in, out = append(in[:0], in[used:]...), next
		if _, e := client.Write(out); e != nil || err != nil || bad != nil {
			return
		}
	}
}

// Listen opens a free port of the loopback interface and serves it in the background. stop ends it and returns what
// Serve returned.
func (r *Relay) Listen() (addr string, stop func() error, err error) { return listen(r.Serve) }
