package prototest

import (
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
)

// patience is how long a test waits for what must happen.
const patience = 10 * time.Second

// peer is a connected client of a test.
type peer struct {
	t         *testing.T
	client    Client
	conn      *Conn
	resumed   bool
	lastToken uint64
	acked     uint64 // messages acknowledged without an error
	received  []received
}

// received is a message that arrived.
type received struct {
	topic, payload string
	qos            uint8
	retained       bool
}

// connect opens a new client and waits until it is accepted.
func (s *suite) connect(t *testing.T, o Options) *peer {
	t.Helper()
	if o.ID == "" {
		o.ID = clean(t.Name()) + randomID()
	}
	p := &peer{t: t, client: s.p.NewClient(&o)}
	p.reconnect(s.b.Addr)
	t.Cleanup(func() { _ = p.conn.nc.Close() })
	return p
}

// reconnect opens the same session on a new connection.
func (p *peer) reconnect(addr string) {
	p.t.Helper()
	var err error
	if p.conn, err = Dial(addr, p.client); err != nil {
		p.t.Fatal(err)
	}
	p.resumed = p.expect(proto.Ready).Resumed
}

// next waits for an event. Deliveries and acknowledgements are noted, too.
func (p *peer) next() *proto.Event {
	p.t.Helper()
	ev, err := p.conn.Next(patience)
	if err != nil {
		p.t.Fatal(err)
	}
	if ev.Err != nil {
		p.t.Fatal(ev.Err)
	}
	switch ev.Kind {
	case proto.Delivered:
		p.received = append(p.received, received{string(ev.Topic), string(ev.Payload), ev.QoS, ev.Retained})
	case proto.Acked:
		p.acked++
	}
	return ev
}

// expect waits for an event of a kind; deliveries and acknowledgements before it are noted.
func (p *peer) expect(kind proto.Kind) *proto.Event {
	p.t.Helper()
	for {
		ev := p.next()
		if ev.Kind == kind {
			return ev
		}
		if ev.Kind != proto.Delivered && ev.Kind != proto.Acked {
			p.t.Fatalf("event of kind %d while waiting for kind %d", ev.Kind, kind)
		}
	}
}

// subscribe subscribes and waits for the confirmation.
func (p *peer) subscribe(sub proto.Subscription) {
	p.t.Helper()
	p.lastToken++
	sub.Token = p.lastToken
	if err := p.conn.Send(func(out []byte) ([]byte, error) { return p.client.Subscribe(&sub, out) }); err != nil {
		p.t.Fatal(err)
	}
	if ev := p.expect(proto.Subscribed); ev.Token != sub.Token || ev.QoS != sub.QoS {
		p.t.Fatalf("subscription %d with QoS %d confirmed as %d with %d", sub.Token, sub.QoS, ev.Token, ev.QoS)
	}
}

// publish waits for room and sends a message.
func (p *peer) publish(m proto.Message) {
	p.t.Helper()
	if m.Token == 0 {
		p.lastToken++
		m.Token = p.lastToken
	}
	for !m.Redelivered && p.client.Room(m.QoS) == 0 {
		p.next()
	}
	if err := p.conn.Send(func(out []byte) ([]byte, error) { return p.client.Publish(&m, out) }); err != nil {
		p.t.Fatal(err)
	}
}

// barrier waits until the broker has handled all that was sent.
func (p *peer) barrier() {
	p.t.Helper()
	p.lastToken++
	token := p.lastToken
	err := p.conn.Send(func(out []byte) ([]byte, error) { return p.client.Barrier(token, out), nil })
	if err != nil {
		p.t.Fatal(err)
	}
	if ev := p.expect(proto.Barrier); ev.Token != token {
		p.t.Fatalf("barrier %d reported as %d", token, ev.Token)
	}
}

// waitAcked waits until n messages in total were acknowledged.
func (p *peer) waitAcked(n uint64) {
	p.t.Helper()
	for p.acked < n {
		p.expect(proto.Acked)
	}
}

// take waits for n messages and returns them.
func (p *peer) take(n int) []received {
	p.t.Helper()
	for len(p.received) < n {
		p.expect(proto.Delivered)
	}
	got := p.received
	p.received = nil
	if len(got) != n {
		p.t.Fatalf("%d messages arrived instead of %d: %.200v", len(got), n, got)
	}
	return got
}

// takeUntil waits for a message with the payload last and returns all before it.
func (p *peer) takeUntil(last string) []received {
	p.t.Helper()
	for {
		if n := len(p.received); n > 0 && p.received[n-1].payload == last {
			got := p.received[:n-1]
			p.received = nil
			return got
		}
		p.expect(proto.Delivered)
	}
}

// goodbye ends the connection politely.
func (p *peer) goodbye() {
	p.t.Helper()
	if err := p.conn.Goodbye(); err != nil {
		p.t.Fatal(err)
	}
}

// abort ends the connection without a word.
func (p *peer) abort() {
	p.t.Helper()
	if err := p.conn.Abort(); err != nil {
		p.t.Fatal(err)
	}
}
