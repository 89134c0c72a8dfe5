package prototest_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/prototest"
)

// patience is how long a test waits for what must happen.
const patience = 10 * time.Second

// clientPeer is one of our clients on a connection. Protocols add to it what is particular to them.
type clientPeer[C proto.Client] struct {
	*prototest.Conn
	t      testing.TB
	client C
}

// dialPeer connects a client and waits until it is accepted.
func dialPeer[C proto.Client](t testing.TB, addr string, c C) *clientPeer[C] {
	t.Helper()
	conn, err := prototest.Dial(addr, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Abort() })
	p := &clientPeer[C]{Conn: conn, t: t, client: c}
	p.expect(proto.Ready, 0)
	return p
}

// next waits for an event.
func (p *clientPeer[C]) next() *proto.Event {
	p.t.Helper()
	ev, err := p.Next(patience)
	if err != nil {
		p.t.Fatal(err)
	}
	return ev
}

// expect wants the next event to be without error and of this kind, and returns it.
func (p *clientPeer[C]) expect(kind proto.Kind, token uint64) *proto.Event {
	p.t.Helper()
	ev := p.next()
	if ev.Kind != kind || ev.Token != token || ev.Err != nil {
		p.t.Fatalf("kind %d, token %d, %v; want kind %d, token %d", ev.Kind, ev.Token, ev.Err, kind, token)
	}
	return ev
}

// ask asks for a subscription without waiting for the answer.
func (p *clientPeer[C]) ask(s proto.Subscription) {
	p.t.Helper()
	if err := p.Send(func(out []byte) ([]byte, error) { return p.client.Subscribe(&s, out) }); err != nil {
		p.t.Fatal(err)
	}
}

// say publishes.
func (p *clientPeer[C]) say(m proto.Message) {
	p.t.Helper()
	if err := p.Send(func(out []byte) ([]byte, error) { return p.client.Publish(&m, out) }); err != nil {
		p.t.Fatal(err)
	}
}

// mark asks for a sign that everything before was handled, in protocols that have one.
func (p *clientPeer[C]) mark(token uint64) {
	p.t.Helper()
	client := any(p.client).(prototest.Client)
	if err := p.Send(func(out []byte) ([]byte, error) { return client.Barrier(token, out), nil }); err != nil {
		p.t.Fatal(err)
	}
}

// quiet wants nothing to be reported for a while, during which the broker has handled all that was sent.
func (p *clientPeer[C]) quiet(token uint64) {
	p.t.Helper()
	p.mark(token)
	p.expect(proto.Barrier, token)
	if ev, err := p.Next(50 * time.Millisecond); err != prototest.ErrQuiet {
		p.t.Fatalf("reported %+v, %v", ev, err)
	}
}

// greets listens for one connection, says a greeting of another protocol, and hangs up.
func greets(t testing.TB, greeting string) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		if nc, err := l.Accept(); err == nil {
			_, _ = nc.Write([]byte(greeting))
			_ = nc.Close()
		}
	}()
	return l.Addr().String()
}

// refusal connects and returns the error that ends the connection.
func refusal(t testing.TB, addr string, c proto.Session) error {
	t.Helper()
	conn, err := prototest.Dial(addr, c)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Abort() }()
	ev, err := conn.Next(patience)
	if err == nil {
		t.Fatalf("not refused: event of kind %d, %v", ev.Kind, ev.Err)
	}
	return err
}

// wantError wants an error with these words, in capitals or not.
func wantError(t testing.TB, err error, words string) {
	t.Helper()
	if err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(words)) {
		t.Errorf("error %v, want %q", err, words)
	}
}
