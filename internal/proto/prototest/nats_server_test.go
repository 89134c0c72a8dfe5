package prototest_test

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"

	natsgo "github.com/nats-io/nats.go"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/nats"
	"github.com/mqlab/mqlab/internal/proto/prototest"
)

// TestNATSServer runs the suite against the server side of our own sessions.
func TestNATSServer(t *testing.T) {
	t.Parallel()
	guarded := &nats.ServerConfig{User: prototest.User, Password: prototest.Password, MaxPayload: guardedPayload - 1}
	prototest.Run(t, natsProtocol(nil), &prototest.Broker{
		Name: "lab", Addr: serveNATS(t, &nats.ServerConfig{}), Guarded: serveNATS(t, guarded), GuardedMaxPayload: guardedPayload,
	})
}

// TestNATSServerWithLibrary: nats.go is content with the server side of our sessions.
func TestNATSServerWithLibrary(t *testing.T) {
	t.Parallel()
	addr := serveNATS(t, &nats.ServerConfig{User: "u", Password: "p", MaxPayload: 200 << 10})
	_, err := natsgo.Connect("nats://"+addr, natsgo.UserInfo("u", "x"))
	if !errors.Is(err, natsgo.ErrAuthorization) {
		t.Errorf("a wrong password: %v", err)
	}
	nc := libraryNATS(t, addr, natsgo.UserInfo("u", "p"))
	if nc.MaxPayload() != 200<<10 || !nc.HeadersSupported() {
		t.Errorf("max_payload %d, headers %v", nc.MaxPayload(), nc.HeadersSupported())
	}
	all, err := nc.SubscribeSync("lab.>")
	if err != nil {
		t.Fatal(err)
	}
	few, err := nc.SubscribeSync("lab.*")
	if err != nil {
		t.Fatal(err)
	}
	if err := few.AutoUnsubscribe(3); err != nil {
		t.Fatal(err)
	}
	for i, size := range natsSizes {
		m := natsgo.NewMsg(fmt.Sprintf("lab.%d", i))
		m.Data = prototest.Pattern(size)
		m.Header.Set("Lab", fmt.Sprint(i))
		if err := nc.PublishMsg(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	for i, size := range natsSizes {
		m, err := all.NextMsg(patience)
		if err != nil {
			t.Fatal(err)
		}
		if m.Subject != fmt.Sprintf("lab.%d", i) || !slices.Equal(m.Data, prototest.Pattern(size)) ||
			m.Header.Get("Lab") != fmt.Sprint(i) {
			t.Errorf("message %d of %d bytes arrived as %d bytes on %s with %v", i, size, len(m.Data), m.Subject, m.Header)
		}
	}
	for i := range 3 {
		if _, err := few.NextMsg(patience); err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
	}
	if _, err := few.NextMsg(patience); !errors.Is(err, natsgo.ErrMaxMessages) {
		t.Errorf("a fourth message: %v", err)
	}
}

// natsRouter is a minimal broker over our server sessions. Whoever receives a message sends it on under one lock, so that
// an answer to PING stands behind all that was delivered before.
type natsRouter struct {
	mu    sync.Mutex
	peers []*natsRouted
	turn  int // of queue groups
}

// natsRouted is one connection of the router.
type natsRouted struct {
	*nats.Server
	nc   net.Conn
	out  []byte
	subs []natsInterest
}

type natsInterest struct {
	token          uint64
	pattern, group string
}

// serveNATS starts a router on a loopback port.
func serveNATS(t *testing.T, cfg *nats.ServerConfig) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	router := &natsRouter{}
	all.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			p := &natsRouted{Server: nats.NewServer(cfg), nc: nc}
			all.Go(func() { router.serve(p) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		router.mu.Lock()
		for _, p := range router.peers {
			_ = p.nc.Close()
		}
		router.mu.Unlock()
		all.Wait()
	})
	return l.Addr().String()
}

func (r *natsRouter) serve(p *natsRouted) {
	defer func() { _ = p.nc.Close() }()
	r.mu.Lock()
	r.peers = append(r.peers, p)
	p.out = p.Open(0, p.out)
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
	p.subs = nil
}

// handle feeds all whole units of in.
func (r *natsRouter) handle(p *natsRouted, in []byte) (used int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.flush()
	var ev proto.Event
	for {
		var n int
		n, p.out, err = p.Feed(0, in[used:], p.out, &ev)
		if n == 0 || err != nil {
			return used, err
		}
		used += n
		switch ev.Kind {
		case proto.Subscribed:
			p.subs = append(p.subs, natsInterest{ev.Token, string(ev.Topic), p.Group(ev.Token)})
		case proto.Unsubscribed:
			p.subs = slices.DeleteFunc(p.subs, func(i natsInterest) bool { return i.token == ev.Token })
		case proto.Delivered:
			r.route(&ev, p.Headers())
		}
	}
}

// route passes a message to every subscription, and to one of each queue group.
func (r *natsRouter) route(ev *proto.Event, headers []byte) {
	type member struct {
		p     *natsRouted
		token uint64
	}
	groups := map[string][]member{}
	send := func(m member) {
		out, err := m.p.PublishHeaders(&proto.Message{Topic: ev.Topic, Payload: ev.Payload, Sub: m.token}, headers, m.p.out)
		if err == nil { // a subscription that has had its last message is gone
			m.p.out = out
		}
	}
	for _, p := range r.peers {
		for _, i := range p.subs {
			switch {
			case !nats.Match(i.pattern, ev.Topic):
			case i.group != "":
				group := i.group + " " + i.pattern
				groups[group] = append(groups[group], member{p, i.token})
			default:
				send(member{p, i.token})
			}
		}
	}
	for _, members := range groups {
		r.turn++
		send(members[r.turn%len(members)])
	}
}

// flush writes what is to be sent to anybody. A peer that has gone is noticed by its own reader.
func (r *natsRouter) flush() {
	for _, p := range r.peers {
		if len(p.out) > 0 {
			_, _ = p.nc.Write(p.out)
			p.out = p.out[:0]
		}
	}
}
