package prototest_test

import (
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/nats"
	"github.com/mqlab/mqlab/internal/proto/prototest"
)

// patience is how long a test waits for what must happen.
const patience = 10 * time.Second

// natsPeer is one of our clients on a connection.
type natsPeer struct {
	*prototest.Conn
	t      *testing.T
	client *nats.Client
}

// dialNATS connects a client and waits until it is accepted.
func dialNATS(t *testing.T, addr string, c *nats.Client) *natsPeer {
	t.Helper()
	conn, err := prototest.Dial(addr, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Abort() })
	p := &natsPeer{Conn: conn, t: t, client: c}
	p.expect(proto.Ready, 0)
	return p
}

// next waits for an event.
func (p *natsPeer) next() *proto.Event {
	p.t.Helper()
	ev, err := p.Next(patience)
	if err != nil {
		p.t.Fatal(err)
	}
	return ev
}

// expect wants the next event to be without error and of this kind, and returns it.
func (p *natsPeer) expect(kind proto.Kind, token uint64) *proto.Event {
	p.t.Helper()
	ev := p.next()
	if ev.Kind != kind || ev.Token != token || ev.Err != nil {
		p.t.Fatalf("kind %d, token %d, %v; want kind %d, token %d", ev.Kind, ev.Token, ev.Err, kind, token)
	}
	return ev
}

// subscribe asks for a subscription without waiting for the answer.
func (p *natsPeer) subscribe(token uint64, topic, group string) {
	p.t.Helper()
	s := proto.Subscription{Token: token, Topic: topic, Group: group}
	if err := p.Send(func(out []byte) ([]byte, error) { return p.client.Subscribe(&s, out) }); err != nil {
		p.t.Fatal(err)
	}
}

func (p *natsPeer) publish(topic string, payload []byte) {
	p.t.Helper()
	m := proto.Message{Topic: []byte(topic), Payload: payload}
	if err := p.Send(func(out []byte) ([]byte, error) { return p.client.Publish(&m, out) }); err != nil {
		p.t.Fatal(err)
	}
}

// barrier asks for a sign that everything before was handled.
func (p *natsPeer) barrier(token uint64) {
	p.t.Helper()
	if err := p.Send(func(out []byte) ([]byte, error) { return p.client.Barrier(token, out), nil }); err != nil {
		p.t.Fatal(err)
	}
}

// until returns everything delivered before the barrier, in words.
func (p *natsPeer) until(barrier uint64) (got []string) {
	p.t.Helper()
	for {
		ev := p.next()
		switch {
		case ev.Err != nil:
			p.t.Fatal(ev.Err)
		case ev.Kind == proto.Barrier && ev.Token == barrier:
			return got
		case ev.Kind == proto.Delivered:
			got = append(got, fmt.Sprintf("%d %s %s", ev.Token, ev.Topic, ev.Payload))
		}
	}
}

// readGreeting connects and reads until the server has sent its greeting.
func readGreeting(addr string) (*greeted, error) {
	nc, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return nil, err
	}
	g := &greeted{Conn: nc}
	if err = nc.SetDeadline(time.Now().Add(patience)); err == nil {
		err = g.read()
	}
	if err != nil {
		_ = nc.Close()
		return nil, err
	}
	return g, nil
}

// greeted is a connection whose first line has been read; whoever reads next, or from over, gets that line first.
type greeted struct {
	net.Conn
	over net.Conn // what carries everything after the greeting; nil = Conn
	line []byte
	info nats.Info
}

func (g *greeted) read() error {
	b := make([]byte, 1)
	for {
		if _, err := g.Conn.Read(b); err != nil {
			return err
		}
		g.line = append(g.line, b...)
		n, info, err := nats.Greeting(g.line)
		if err != nil {
			return err
		}
		if n > 0 {
			g.info = info
			return nil
		}
	}
}

func (g *greeted) carrier() net.Conn {
	if g.over != nil {
		return g.over
	}
	return g.Conn
}

func (g *greeted) Read(b []byte) (int, error) {
	if len(g.line) > 0 {
		n := copy(b, g.line)
		g.line = slices.Delete(g.line, 0, n)
		return n, nil
	}
	return g.carrier().Read(b)
}

func (g *greeted) Write(b []byte) (int, error) { return g.carrier().Write(b) }
