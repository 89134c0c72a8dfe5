package prototest

import (
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
)

// Routed is the server's side of a connection that a router can serve.
type Routed interface {
	proto.Server
	// Matches tells whether a message on topic is to be delivered to subscription sub of the peer.
	Matches(sub uint64, topic []byte) bool
}

// Route starts a minimal broker over server sessions on a loopback port, and returns its address. open makes the session of
// one connection. The broker ends with the test.
//
// Whoever receives a message sends it on under one lock, so that what a session answers to its peer stands behind all that
// was delivered before.
func Route(t *testing.T, open func() Routed) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r, done := &router{epoch: time.Now()}, make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() { r.tick(done) })
	all.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			p := &routed{Routed: open(), nc: nc}
			all.Go(func() { r.serve(p) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		close(done)
		r.mu.Lock()
		for _, p := range r.peers {
			_ = p.nc.Close()
		}
		r.mu.Unlock()
		all.Wait()
	})
	return l.Addr().String()
}

// router passes messages between its peers.
type router struct {
	mu    sync.Mutex
	peers []*routed
	epoch time.Time
}

// routed is one connection of a router.
type routed struct {
	Routed
	nc   net.Conn
	out  []byte
	subs []uint64
}

// now is the sessions' clock.
func (r *router) now() int64 { return int64(time.Since(r.epoch)) }

// tick lets the sessions keep their connections alive until done is closed. The keep-alives of the suite are of a second.
func (r *router) tick(done <-chan struct{}) {
	every := time.NewTicker(100 * time.Millisecond)
	defer every.Stop()
	for {
		select {
		case <-done:
			return
		case <-every.C:
		}
		r.mu.Lock()
		for _, p := range r.peers {
			var err error
			if _, p.out, err = p.Tick(r.now(), p.out); err != nil {
				_ = p.nc.Close()
			}
		}
		r.flush()
		r.mu.Unlock()
	}
}

func (r *router) serve(p *routed) {
	defer func() { _ = p.nc.Close() }()
	r.mu.Lock()
	p.out = p.Open(r.now(), p.out)
	r.peers = append(r.peers, p)
	r.flush()
	r.mu.Unlock()
	var in []byte
	chunk := make([]byte, 32<<10)
	for {
		n, err := p.nc.Read(chunk)
		if in = append(in, chunk[:n]...); err != nil {
			break
		}
		used, err := r.handle(p, in)
		if in = in[used:]; err != nil {
			break
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.peers = slices.DeleteFunc(r.peers, func(other *routed) bool { return other == p })
}

// handle feeds all whole units of in.
func (r *router) handle(p *routed, in []byte) (used int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.flush()
	var ev proto.Event
	for {
		var n int
		n, p.out, err = p.Feed(r.now(), in[used:], p.out, &ev)
		if n == 0 && ev.Kind == proto.None || err != nil {
			return used, err
		}
		used += n
		switch ev.Kind {
		case proto.Subscribed:
			if !slices.Contains(p.subs, ev.Token) {
				p.subs = append(p.subs, ev.Token)
			}
		case proto.Unsubscribed:
			p.subs = slices.DeleteFunc(p.subs, func(token uint64) bool { return token == ev.Token })
		case proto.Delivered:
			if err := r.route(&ev); err != nil {
				return used, err
			}
		case proto.Closed:
			return used, net.ErrClosed
		}
	}
}

// route passes a message to every subscription that it matches.
func (r *router) route(ev *proto.Event) (err error) {
	for _, p := range r.peers {
		for _, token := range p.subs {
			if !p.Matches(token, ev.Topic) {
				continue
			}
			m := proto.Message{Topic: ev.Topic, Payload: ev.Payload, Sub: token}
			if p.out, err = p.Publish(&m, p.out); err != nil {
				return err
			}
		}
	}
	return nil
}

// flush writes what is to be sent to anybody. A peer that has gone is noticed by its own reader.
func (r *router) flush() {
	for _, p := range r.peers {
		if len(p.out) > 0 {
			_, _ = p.nc.Write(p.out)
			p.out = p.out[:0]
		}
	}
}
