package prototest_test

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	amqpgo "github.com/rabbitmq/amqp091-go"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/amqp091"
	"github.com/mqlab/mqlab/internal/proto/prototest"
)

// TestAMQP091Server runs the suite against the server side of our own sessions.
func TestAMQP091Server(t *testing.T) {
	t.Parallel()
	guarded := &amqp091.ServerConfig{User: prototest.User, Password: prototest.Password, MaxMessage: guardedPayload - 1}
	settings := topics()
	settings.User, settings.Password = "", ""
	prototest.Run(t, amqp091Protocol(settings), &prototest.Broker{
		Name: "lab", Addr: serveAMQP091(t, &amqp091.ServerConfig{ConfirmEvery: 8}),
		Guarded: serveAMQP091(t, guarded), GuardedMaxPayload: guardedPayload,
	})
}

// TestAMQP091ServerWithLibrary: amqp091-go is content with the server side of our sessions.
func TestAMQP091ServerWithLibrary(t *testing.T) {
	t.Parallel()
	addr := serveAMQP091(t, &amqp091.ServerConfig{User: "guest", Password: "guest", FrameMax: 5000, ConfirmEvery: 3})
	_, err := amqpgo.Dial("amqp://guest:guess@" + addr + "/")
	var refused *amqpgo.Error
	if !errors.As(err, &refused) || refused.Code != amqpgo.AccessRefused {
		t.Errorf("a wrong password: %v", err)
	}
	subscriber, publisher := libraryAMQP091(t, addr), libraryAMQP091(t, addr)
	if err := subscriber.Qos(5, 0, false); err != nil {
		t.Fatal(err)
	}
	deliveries := libraryQueue(t, subscriber, "amq.topic", "lab.*", false)
	unacknowledged := libraryQueue(t, subscriber, "amq.topic", "lab.#", true)
	if err := publisher.Confirm(false); err != nil {
		t.Fatal(err)
	}
	for i, size := range amqp091Sizes {
		libraryPublish(t, publisher, "amq.topic", fmt.Sprintf("lab.%d", i), prototest.Pattern(size))
		for _, d := range []<-chan amqpgo.Delivery{deliveries, unacknowledged} {
			m := received(t, d)
			if m.RoutingKey != fmt.Sprintf("lab.%d", i) || !slices.Equal(m.Body, prototest.Pattern(size)) {
				t.Errorf("message %d of %d bytes arrived as %d bytes on %s", i, size, len(m.Body), m.RoutingKey)
			}
			if d == deliveries {
				if err := m.Ack(i%3 == 0); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if err := subscriber.Close(); err != nil {
		t.Error(err)
	}
}

// amqp091Router is a minimal broker over our server sessions: whoever receives a message sends it on under one lock.
// What flow control holds back waits in a backlog.
type amqp091Router struct {
	mu    sync.Mutex
	peers []*amqp091Routed
	turn  int // of shared queues
	epoch time.Time
}

// now is the sessions' clock.
func (r *amqp091Router) now() int64 { return int64(time.Since(r.epoch)) }

// beat lets the sessions send their heartbeats until done is closed.
func (r *amqp091Router) beat(done <-chan struct{}) {
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

// amqp091Routed is one connection of the router.
type amqp091Routed struct {
	*amqp091.Server
	nc      net.Conn
	out     []byte
	subs    []amqp091Interest
	backlog []proto.Message
}

type amqp091Interest struct {
	token          uint64
	pattern, group string
	qos            uint8
}

// serveAMQP091 starts a router on a loopback port.
func serveAMQP091(t *testing.T, cfg *amqp091.ServerConfig) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	router, done := &amqp091Router{epoch: time.Now()}, make(chan struct{})
	all.Go(func() { router.beat(done) })
	all.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			p := &amqp091Routed{Server: amqp091.NewServer(cfg), nc: nc}
			all.Go(func() { router.serve(p) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		close(done)
		router.mu.Lock()
		for _, p := range router.peers {
			_ = p.nc.Close()
		}
		router.mu.Unlock()
		all.Wait()
	})
	return l.Addr().String()
}

func (r *amqp091Router) serve(p *amqp091Routed) {
	defer func() { _ = p.nc.Close() }()
	r.mu.Lock()
	r.peers = append(r.peers, p)
	p.out = p.Open(r.now(), p.out)
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
func (r *amqp091Router) handle(p *amqp091Routed, in []byte) (used int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.flush()
	var ev proto.Event
	for {
		var n int
		n, p.out, err = p.Feed(r.now(), in[used:], p.out, &ev)
		if err != nil || (n == 0 && ev.Kind == proto.None) {
			return used, err
		}
		used += n
		switch ev.Kind {
		case proto.Subscribed:
			p.subs = append(p.subs, amqp091Interest{ev.Token, string(ev.Topic), p.Group(ev.Token), ev.QoS})
		case proto.Unsubscribed:
			p.subs = slices.DeleteFunc(p.subs, func(i amqp091Interest) bool { return i.token == ev.Token })
		case proto.Delivered:
			r.route(&ev)
		}
	}
}

// route passes a message to every exclusive queue that is bound for it, and to one consumer of each shared queue.
func (r *amqp091Router) route(ev *proto.Event) {
	type member struct {
		p *amqp091Routed
		amqp091Interest
	}
	groups := map[string][]member{}
	send := func(m member) {
		m.p.backlog = append(m.p.backlog, proto.Message{
			Topic: slices.Clone(ev.Topic), Payload: slices.Clone(ev.Payload), QoS: m.qos, Sub: m.token,
		})
	}
	for _, p := range r.peers {
		for _, i := range p.subs {
			switch {
			case !amqp091.Match(i.pattern, ev.Topic):
			case i.group != "":
				groups[i.group] = append(groups[i.group], member{p, i})
			default:
				send(member{p, i})
			}
		}
	}
	for _, members := range groups {
		r.turn++
		send(members[r.turn%len(members)])
	}
}

// flush writes what is to be sent to anybody. A peer that has gone is noticed by its own reader.
func (r *amqp091Router) flush() {
	for _, p := range r.peers {
		sent := 0
		for _, m := range p.backlog {
			out, err := p.Publish(&m, p.out)
			if errors.Is(err, amqp091.ErrNoRoom) {
				break
			}
			p.out = out
			sent++
		}
		p.backlog = p.backlog[sent:]
		if len(p.out) > 0 {
			_, _ = p.nc.Write(p.out)
			p.out = p.out[:0]
		}
	}
}
