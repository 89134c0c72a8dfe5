package prototest

import (
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
)

// Router is a minimal broker over server sessions: it passes every message to all subscriptions that match, and to one of
// each group. What flow control holds back waits in a backlog.
//
// Whoever receives a message sends it on under one lock, so that what a session answers to its peer stands behind all that
// was delivered before.
type Router struct {
	Open  func() proto.Server // makes the session of one connection
	Match func(s proto.Server, i *Interest, topic []byte) bool
	// Interest, if set, completes what a Subscribed event says.
	Interest func(s proto.Server, i *Interest)
	// Publish, if set, is how a message goes from one session to another, instead of to.Publish.
	Publish func(to, from proto.Server, m *proto.Message, out []byte) ([]byte, error)
	Full    error // of Publish when flow control holds the message back; what else it does not take is dropped
	// Lower says that a message keeps the QoS it was published with where that is lower than the subscription's.
	Lower bool

	mu    sync.Mutex
	peers []*routed
	turn  int // of groups
	epoch time.Time
}

// Interest is a subscription at a Router.
type Interest struct {
	Token          uint64
	Pattern, Group string
	QoS            uint8
}

// routed is one connection of a router.
type routed struct {
	proto.Server
	nc      net.Conn
	out     []byte
	subs    []Interest
	backlog []held
}

// held is a message on its way.
type held struct {
	from *routed
	m    proto.Message
}

// Serve listens on a loopback port until the test ends, and returns its address.
func (r *Router) Serve(t *testing.T) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.epoch = time.Now()
	done := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() { r.tick(done) })
	all.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			p := &routed{Server: r.Open(), nc: nc}
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

// now is the sessions' clock.
func (r *Router) now() int64 { return int64(time.Since(r.epoch)) }

// tick lets the sessions keep their connections alive until done is closed. The keep-alives of the suite are of a second.
func (r *Router) tick(done <-chan struct{}) {
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

func (r *Router) serve(p *routed) {
	defer func() { _ = p.nc.Close() }()
	r.mu.Lock()
	p.out = p.Server.Open(r.now(), p.out)
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
func (r *Router) handle(p *routed, in []byte) (used int, err error) {
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
			i := Interest{Token: ev.Token, Pattern: string(ev.Topic), QoS: ev.QoS}
			if r.Interest != nil {
				r.Interest(p.Server, &i)
			}
			p.forget(ev.Token)
			p.subs = append(p.subs, i)
		case proto.Unsubscribed:
			p.forget(ev.Token)
		case proto.Delivered:
			r.route(p, &ev)
		}
	}
}

func (p *routed) forget(token uint64) {
	p.subs = slices.DeleteFunc(p.subs, func(i Interest) bool { return i.Token == token })
}

// route passes a message to every subscription that it matches, and to one of each group.
func (r *Router) route(from *routed, ev *proto.Event) {
	type member struct {
		p *routed
		i *Interest
	}
	groups := map[string][]member{}
	send := func(to member) {
		m := proto.Message{Topic: slices.Clone(ev.Topic), Payload: slices.Clone(ev.Payload), QoS: to.i.QoS, Sub: to.i.Token}
		if r.Lower {
			m.QoS = min(m.QoS, ev.QoS)
		}
		to.p.backlog = append(to.p.backlog, held{from, m})
		r.drain(to.p)
	}
	for _, p := range r.peers {
		for n := range p.subs {
			switch to := (member{p, &p.subs[n]}); {
			case !r.Match(p.Server, to.i, ev.Topic):
			case to.i.Group != "":
				group := to.i.Group + " " + to.i.Pattern
				groups[group] = append(groups[group], to)
			default:
				send(to)
			}
		}
	}
	for _, members := range groups {
		r.turn++
		send(members[r.turn%len(members)])
	}
}

// drain encodes what may be sent to a peer now.
func (r *Router) drain(p *routed) {
	sent := 0
	publish := r.Publish
	if publish == nil {
		publish = func(to, _ proto.Server, m *proto.Message, out []byte) ([]byte, error) { return to.Publish(m, out) }
	}
	for n := range p.backlog {
		out, err := publish(p.Server, p.backlog[n].from.Server, &p.backlog[n].m, p.out)
		if err != nil && r.Full != nil && errors.Is(err, r.Full) {
			break
		}
		if err == nil {
			p.out = out
		}
		sent++
	}
	p.backlog = slices.Delete(p.backlog, 0, sent)
}

// flush writes what is to be sent to anybody. A peer that has gone is noticed by its own reader.
func (r *Router) flush() {
	for _, p := range r.peers {
		r.drain(p)
		if len(p.out) > 0 {
			_, _ = p.nc.Write(p.out)
			p.out = p.out[:0]
		}
	}
}
