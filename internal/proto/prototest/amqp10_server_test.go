package prototest_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	azure "github.com/Azure/go-amqp"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/amqp091"
	"github.com/mqlab/mqlab/internal/proto/amqp10"
	"github.com/mqlab/mqlab/internal/proto/prototest"
)

// lab10 are settings for our own server: it routes by subject, and takes "group:pattern" for a shared subscription.
func lab10() amqp10.Config {
	return amqp10.Config{
		SenderFirst: true,
		Target:      amqp10.Terminus{Address: "lab"},
		Source:      amqp10.Terminus{Address: amqp10.TopicHere},
		Shared:      amqp10.Terminus{Address: amqp10.GroupHere + ":" + amqp10.TopicHere},
	}
}

// TestAMQP10Server runs the suite against the server side of our own sessions. It waits for events only, hence needs
// credit for all that it publishes with QoS 0.
func TestAMQP10Server(t *testing.T) {
	t.Parallel()
	guarded := &amqp10.ServerConfig{User: prototest.User, Password: prototest.Password, MaxMessage: guardedPayload - 1}
	prototest.Run(t, amqp10Protocol(lab10(), nil), &prototest.Broker{
		Name: "lab", Addr: serveAMQP10(t, &amqp10.ServerConfig{ConfirmEvery: 8, Credit: 2000, SessionWindow: 3000}),
		Guarded: serveAMQP10(t, guarded), GuardedMaxPayload: guardedPayload,
	})
}

// TestAMQP10ServerWithLibrary: go-amqp is content with the server side of our sessions.
func TestAMQP10ServerWithLibrary(t *testing.T) {
	t.Parallel()
	addr := serveAMQP10(t, &amqp10.ServerConfig{User: "guest", Password: "guest", FrameMax: 5000, ConfirmEvery: 3, Credit: 5, IdleTimeout: time.Minute})
	_, err := azure.Dial(t.Context(), "amqp://"+addr, &azure.ConnOptions{SASLType: azure.SASLTypePlain("guest", "guess")})
	wantError(t, err, "SASL PLAIN auth failed")
	for _, qos := range []uint8{0, 1} {
		t.Run(fmt.Sprintf("QoS%d", qos), func(t *testing.T) {
			topic := fmt.Sprint("lab", qos)
			r, s := libraryReceiver(t, addr, topic, qos), librarySender(t, addr, topic, qos)
			for i, size := range amqp10Sizes {
				if err := s.Send(t.Context(), azure.NewMessage(prototest.Pattern(size)), nil); err != nil {
					t.Fatal(err)
				}
				if m := libraryReceive(t, r); !slices.Equal(m.GetData(), prototest.Pattern(size)) {
					t.Errorf("message %d of %d bytes arrived as %d bytes", i, size, len(m.GetData()))
				}
			}
			if err := r.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAMQP10ServerRefusesLibrary: go-amqp understands how our server refuses a link, and what drains its credit.
func TestAMQP10ServerRefusesLibrary(t *testing.T) {
	t.Parallel()
	addr := serveAMQP10(t, &amqp10.ServerConfig{MaxMessage: 1000})
	session := libraryAMQP10(t, addr)
	_, err := session.NewReceiver(t.Context(), "", nil)
	var refused *azure.Error
	if !errors.As(err, &refused) || refused.Condition != azure.ErrCondNotFound {
		t.Errorf("a receiver without an address: %v", err)
	}
	r, err := session.NewReceiver(t.Context(), "lab", &azure.ReceiverOptions{Credit: -1})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.IssueCredit(7); err != nil {
		t.Fatal(err)
	}
	if err := r.DrainCredit(t.Context(), nil); err != nil {
		t.Errorf("draining: %v", err)
	}
	s, err := session.NewSender(t.Context(), "lab", nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.MaxMessageSize() != 1000 {
		t.Errorf("the largest message is said to have %d bytes", s.MaxMessageSize())
	}
	if err := s.Send(t.Context(), azure.NewMessage([]byte("for nobody's credit")), nil); err != nil {
		t.Error(err)
	}
	soon, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if m, err := r.Receive(soon, nil); err == nil {
		t.Errorf("received %q without credit", m.GetData())
	}
	if err := session.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// amqp10Router is a minimal broker over our server sessions: whoever receives a message sends it on under one lock. What
// flow control holds back waits in a backlog.
type amqp10Router struct {
	mu    sync.Mutex
	peers []*amqp10Routed
	turn  int // of shared subscriptions
}

// amqp10Routed is one connection of the router.
type amqp10Routed struct {
	*amqp10.Server
	nc      net.Conn
	out     []byte
	subs    []amqp10Interest
	backlog []proto.Message
}

type amqp10Interest struct {
	token          uint64
	pattern, group string
	qos            uint8
}

// serveAMQP10 starts a router on a loopback port.
func serveAMQP10(t *testing.T, cfg *amqp10.ServerConfig) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	router := &amqp10Router{}
	all.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			p := &amqp10Routed{Server: amqp10.NewServer(cfg), nc: nc}
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

func (r *amqp10Router) serve(p *amqp10Routed) {
	defer func() { _ = p.nc.Close() }()
	r.mu.Lock()
	r.peers = append(r.peers, p)
	p.out = p.Open(0, p.out)
	r.mu.Unlock()
	begun := time.Now()
	var in []byte
	chunk := make([]byte, 32<<10)
	for {
		// The keep-alives of the suite are of a second: a look every tenth of it is enough.
		_ = p.nc.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		n, err := p.nc.Read(chunk)
		in = append(in, chunk[:n]...)
		if timeout := net.Error(nil); err != nil && (!errors.As(err, &timeout) || !timeout.Timeout()) {
			break
		}
		used, err := r.handle(p, int64(time.Since(begun)), in)
		if in = in[used:]; err != nil {
			break
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	p.subs = nil
}

// handle feeds all whole units of in.
func (r *amqp10Router) handle(p *amqp10Routed, now int64, in []byte) (used int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.flush()
	var ev proto.Event
	for {
		var n int
		n, p.out, err = p.Feed(now, in[used:], p.out, &ev)
		if err != nil {
			return used, err
		}
		if n == 0 && ev.Kind == proto.None {
			break
		}
		used += n
		switch ev.Kind {
		case proto.Subscribed:
			i := amqp10Interest{token: ev.Token, pattern: string(ev.Topic), qos: ev.QoS}
			if group, pattern, ok := strings.Cut(i.pattern, ":"); ok {
				i.group, i.pattern = group, pattern
			}
			p.subs = append(p.subs, i)
		case proto.Unsubscribed:
			p.subs = slices.DeleteFunc(p.subs, func(i amqp10Interest) bool { return i.token == ev.Token })
		case proto.Delivered:
			r.route(&ev)
		}
	}
	_, p.out, err = p.Tick(now, p.out)
	return used, err
}

// route passes a message to every subscription that matches, and to one of each group.
func (r *amqp10Router) route(ev *proto.Event) {
	type member struct {
		p *amqp10Routed
		amqp10Interest
	}
	groups := map[string][]member{}
	send := func(m member) {
		m.p.backlog = append(m.p.backlog, proto.Message{
			Topic: slices.Clone(ev.Topic), Payload: slices.Clone(ev.Payload), QoS: min(m.qos, ev.QoS), Sub: m.token,
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
func (r *amqp10Router) flush() {
	for _, p := range r.peers {
		sent := 0
		for _, m := range p.backlog {
			out, err := p.Publish(&m, p.out)
			if errors.Is(err, amqp10.ErrNoRoom) {
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
