package prototest_test

import (
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/prototest"
	"github.com/mqlab/mqlab/internal/proto/resp"
)

// TestRedisServer runs the suite against the server side of our own sessions.
func TestRedisServer(t *testing.T) {
	t.Parallel()
	guarded := &resp.ServerConfig{User: prototest.User, Password: prototest.Password, MaxPayload: redisGuardedPayload - 1}
	runPubSub(t, &prototest.Broker{
		Name: "lab", Addr: serveRedis(t, &resp.ServerConfig{}), Guarded: serveRedis(t, guarded),
		GuardedMaxPayload: redisGuardedPayload,
	})
}

// TestRedisServerOld: a server that knows no HELLO is spoken to with RESP2.
func TestRedisServerOld(t *testing.T) {
	t.Parallel()
	cfg := &resp.ServerConfig{RESP2: true}
	prototest.RunSome(t, pubSubProtocol(false), &prototest.Broker{Name: "old", Addr: serveRedis(t, cfg)}, "groups", "mute")
}

// redisRouter is a minimal broker over our server sessions. Whoever receives a message sends it on under one lock, so that
// an answer to PING stands behind all that was delivered before.
type redisRouter struct {
	mu    sync.Mutex
	peers []*redisRouted
}

// redisRouted is one connection of the router.
type redisRouted struct {
	*resp.Server
	nc   net.Conn
	out  []byte
	subs []uint64
}

// serveRedis starts a router on a loopback port.
func serveRedis(t *testing.T, cfg *resp.ServerConfig) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	router := &redisRouter{}
	all.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			p := &redisRouted{Server: resp.NewServer(cfg), nc: nc}
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

func (r *redisRouter) serve(p *redisRouted) {
	defer func() { _ = p.nc.Close() }()
	r.mu.Lock()
	p.out = p.Open(0, p.out)
	r.peers = append(r.peers, p)
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
func (r *redisRouter) handle(p *redisRouted, in []byte) (used int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.flush()
	var ev proto.Event
	for {
		var n int
		n, p.out, err = p.Feed(0, in[used:], p.out, &ev)
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
func (r *redisRouter) route(ev *proto.Event) (err error) {
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
func (r *redisRouter) flush() {
	for _, p := range r.peers {
		if len(p.out) > 0 {
			_, _ = p.nc.Write(p.out)
			p.out = p.out[:0]
		}
	}
}
