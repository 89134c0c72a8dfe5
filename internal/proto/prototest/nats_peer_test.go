package prototest_test

import (
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/nats"
)

// natsPeer is one of our clients on a connection.
type natsPeer struct{ *clientPeer[*nats.Client] }

// dialNATS connects a client and waits until it is accepted.
func dialNATS(t *testing.T, addr string, c *nats.Client) *natsPeer {
	t.Helper()
	return &natsPeer{dialPeer(t, addr, c)}
}

// subscribe asks for a subscription without waiting for the answer.
func (p *natsPeer) subscribe(token uint64, topic, group string) {
	p.t.Helper()
	p.ask(proto.Subscription{Token: token, Topic: topic, Group: group})
}

func (p *natsPeer) publish(topic string, payload []byte) {
	p.t.Helper()
	p.say(proto.Message{Topic: []byte(topic), Payload: payload})
}

// barrier asks for a sign that everything before was handled.
func (p *natsPeer) barrier(token uint64) {
	p.t.Helper()
	p.mark(token)
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
