// Package faulty holds a broker with known faults: it delays, loses, repeats, reorders and damages exactly the messages that
// its plan names, stands still at known times, and keeps the truth about what it did. The self-test measures it and
// compares.
//
// A [Broker] is a value machine: it is told the time and what arrived, and gives bytes to a [Wire]. [Server] moves its
// bytes over sockets. [Relay] is another source of faults: it stands in front of a foreign broker and knows nothing of
// the lab's protocol code.
package faulty

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/mqlab/mqlab/internal/proto"
)

// Wire carries bytes from a Broker to its connections.
type Wire interface {
	// Send gives bytes to connection id and keeps none of them. All are taken; more tells that further ones would be
	// welcome now. When they would not, Broker.Writable must be called once they are.
	Send(id int, b []byte) (more bool)
	// Hangup closes connection id after what Send took.
	Hangup(id int)
}

// Config describes a Broker.
type Config struct {
	Plan Plan
	// Match tells whether a message published to topic reaches a subscription to filter: mqtt.Match, nats.Match. Shared
	// subscriptions and queue groups are served like others: each member gets everything.
	Match func(filter, topic []byte) bool
}

// Broker routes messages between its connections, with the faults of its plan. Its methods must not be called concurrently.
type Broker struct {
	cfg   Config
	wire  Wire
	conns map[int]*conn
	order []*conn // by time of connecting, so that routing does not depend on chance
	zero  int64
	rng   *rand.Rand

	waiting schedule // deliveries whose delay is not over
	lanes   map[laneKey]*lane
	held    []held
	arrived uint64 // deliveries put into waiting, so that those of one instant keep their order
	ordinal uint64 // of the next counted delivery

	truth Truth
	sent  uint64 // messages of any kind
	ev    proto.Event
	out   []byte
}

// conn is one connection.
type conn struct {
	id      int
	session proto.Server
	subs    []subscription
	queue   []delivery // routed to this connection, not sent yet
	more    bool       // the wire takes further bytes
	tick    int64      // when the session wants Tick
	mute    int64      // nothing is written before
	kept    []byte     // written when mute ends
	pace    pace
	left    int // bytes that were presented and not consumed
}

type subscription struct {
	token  uint64
	filter []byte
	qos    uint8
	from   int64 // it takes part in routing from this time on
}

// New returns a Broker that writes to wire.
func New(cfg Config, wire Wire) *Broker {
	return &Broker{
		cfg: cfg, wire: wire, zero: math.MaxInt64,
		conns: map[int]*conn{}, lanes: map[laneKey]*lane{},
		rng: rand.New(rand.NewPCG(cfg.Plan.Seed, 0x6661756c7479)),
	}
}

// SetZero says when the measure window begins: stalls count from then, and only messages due then or later have faults
// by ordinal number and are in the Truth.
func (b *Broker) SetZero(at int64) { b.zero = at }

// Accept takes a new connection; s is the broker's side of its protocol, fresh.
func (b *Broker) Accept(id int, s proto.Server, now int64) {
	c := &conn{id: id, session: s, more: true, tick: now, pace: pace{perSecond: b.cfg.Plan.ReadBytesPerS, at: now}}
	if until, stalled := b.stalled(now); stalled {
		c.mute = until
	}
	b.conns[id] = c
	b.order = append(b.order, c)
	b.write(c, s.Open(now, nil), now)
}

// Gone tells that connection id is closed. What waited for it is dropped.
func (b *Broker) Gone(id int) {
	c := b.conns[id]
	if c == nil {
		return
	}
	delete(b.conns, id)
	b.order = slices.DeleteFunc(b.order, func(o *conn) bool { return o == c })
	for i := range c.queue {
		b.drop(&c.queue[i])
	}
	c.queue = nil
}

// Allow tells how many bytes may be read from connection id now; where that is 0, nothing may be until next.
func (b *Broker) Allow(id int, now int64) (n int, next int64) {
	if until, stalled := b.stalled(now); stalled {
		return 0, until
	}
	if c := b.conns[id]; c != nil {
		return c.pace.allow(now)
	}
	return math.MaxInt, now
}

// Receive takes what arrived on connection id and returns how much of it was consumed. The rest must be presented again:
// with more bytes behind it, or, where the broker stands still, when Allow says so.
func (b *Broker) Receive(id int, now int64, in []byte) int {
	c := b.conns[id]
	if c == nil {
		return len(in)
	}
	c.pace.took(len(in) - c.left)
	used, open := 0, true
	if _, stalled := b.stalled(now); !stalled {
		used, open = b.feed(c, now, in)
	}
	c.left = len(in) - used
	if !open {
		b.hangup(c)
	}
	b.advance(now)
	return used
}

func (b *Broker) feed(c *conn, now int64, in []byte) (used int, open bool) {
	b.out, open = b.out[:0], true
	for used < len(in) && open {
		n, out, err := c.session.Feed(now, in[used:], b.out, &b.ev)
		b.out = out
		used += n
		if n == 0 && err == nil && b.ev.Kind == proto.None {
			break
		}
		b.handle(c, now)
		open = err == nil && b.ev.Kind != proto.Closed
	}
	b.write(c, b.out, now)
	return used, open
}

func (b *Broker) handle(c *conn, now int64) {
	ev := &b.ev
	switch {
	case ev.Kind == proto.Delivered:
		b.route(ev, now)
	case ev.Kind == proto.Subscribed && ev.Err == nil:
		b.subscribe(c, ev, now)
	case ev.Kind == proto.Unsubscribed:
		c.subs = slices.DeleteFunc(c.subs, func(s subscription) bool { return s.token == ev.Token })
	}
}

// subscribe notes a subscription. A late one mutes the connection, and with it the confirmation.
func (b *Broker) subscribe(c *conn, ev *proto.Event, now int64) {
	from := now + int64(b.cfg.Plan.LateSubscription)
	c.mute = max(c.mute, from)
	b.truth.Confirmed = max(b.truth.Confirmed, c.mute)
	c.subs = slices.DeleteFunc(c.subs, func(s subscription) bool { return s.token == ev.Token })
	c.subs = append(c.subs, subscription{token: ev.Token, filter: slices.Clone(ev.Topic), qos: ev.QoS, from: from})
}

// Writable tells that connection id takes bytes again.
func (b *Broker) Writable(id int, now int64) {
	if c := b.conns[id]; c != nil {
		c.more = true
		b.advance(now)
	}
}

// Advance does everything that is due at now and returns when it wants to be called next (math.MaxInt64 = not before
// something arrives).
func (b *Broker) Advance(now int64) (next int64) {
	b.advance(now)
	if until, stalled := b.stalled(now); stalled {
		return until
	}
	next = min(b.waiting.next(), b.nextHeld())
	for _, c := range b.order {
		next = min(next, c.tick)
		if len(c.kept) > 0 {
			next = min(next, c.mute)
		}
	}
	return next
}

func (b *Broker) advance(now int64) {
	if _, stalled := b.stalled(now); stalled {
		return
	}
	b.forward(now)
	b.release(now)
	for i := 0; i < len(b.order); {
		if b.serve(b.order[i], now) {
			i++
		}
	}
}

// serve writes what waits for a connection and lets its session do what is due. It tells whether the connection is still there.
func (b *Broker) serve(c *conn, now int64) bool {
	if now >= c.mute && len(c.kept) > 0 {
		kept := c.kept
		c.kept = nil
		b.write(c, kept, now)
	}
	b.flush(c, now)
	if now < c.tick {
		return true
	}
	next, out, err := c.session.Tick(now, b.out[:0])
	b.out, c.tick = out[:0], next
	b.write(c, out, now)
	if err != nil {
		b.hangup(c)
	}
	return err == nil
}

func (b *Broker) write(c *conn, bytes []byte, now int64) {
	switch {
	case len(bytes) == 0:
	case now < c.mute:
		c.kept = append(c.kept, bytes...)
	default:
		c.more = b.wire.Send(c.id, bytes)
	}
}

func (b *Broker) hangup(c *conn) {
	b.Gone(c.id)
	b.wire.Hangup(c.id)
}

func (b *Broker) stalled(now int64) (until int64, yes bool) { return b.cfg.Plan.stalled(b.zero, now) }
