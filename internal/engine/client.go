package engine

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/proto"
)

type state uint8

const (
	down        state = iota // no connection
	opening                  // connected, handshake under way
	subscribing              // accepted, subscriptions not all confirmed
	ready
)

// client is one connection. There may be very many, most of them idle: what only some need, or for a while, hangs behind a pointer.
type client struct {
	session proto.Client
	pub     *publisher
	sub     *SubscribeSpec
	*spare        // never nil; to be changed through own only
	at      int64 // when the session wants Tick; once in timers, its deadline there, which a publisher may have earlier
	id      int32
	number  uint32
	slot    int32 // place in the heap of timers, or why there is none
	state   state
	full    bool // the socket takes no more bytes now
	was     bool // has been ready before
}

// spare is what a connection needs while something is the matter with it.
type spare struct {
	pend    *[]byte // what the socket did not take; nil = nothing
	attempt *attempt
	watch   *watch // nil until an outage hits it
}

// noSpare is that of all connections with which nothing is the matter. It is never changed.
var noSpare = &spare{}

// own returns a spare that may be changed.
func (cl *client) own() *spare {
	if cl.spare == noSpare {
		cl.spare = &spare{}
	}
	return cl.spare
}

// forgetPend drops what waits for the socket.
func (cl *client) forgetPend() {
	if cl.pend != nil {
		cl.own().pend = nil
		cl.tidy()
	}
}

// tidy gives a spare back in which nothing is left.
func (cl *client) tidy() {
	if *cl.spare == *noSpare {
		cl.spare = noSpare
	}
}

// attempt is a connection that is being made; nil while it is ready.
type attempt struct {
	dialled int64         // when it began
	opened  int64         // when it carried bytes
	lost    int64         // when the last ready connection ended, if there was one
	pause   time.Duration // before it; 0 = it is the first
}

// making returns the attempt under way, a new one if there is none.
func (cl *client) making() *attempt {
	if cl.attempt == nil {
		cl.own().attempt = &attempt{}
	}
	return cl.attempt
}

// keep puts b behind what waits for the socket already.
func (cl *client) keep(b []byte) {
	if cl.pend == nil {
		cl.own().pend = new([]byte)
	}
	*cl.pend = append(*cl.pend, b...)
}

// tick is when the session wants Tick.
func (cl *client) tick() int64 {
	if cl.pub != nil {
		return cl.pub.tick
	}
	return cl.at
}

// setTick notes when the session wants Tick.
func (c *Core) setTick(cl *client, at int64) {
	if cl.pub != nil {
		cl.pub.tick = at // schedule makes the best of both
		return
	}
	c.timers.set(cl, at)
}

// Expect makes room for n connections.
func (c *Core) Expect(n int) { c.clients = slices.Grow(c.clients, max(n-len(c.clients), 0)) }

// all iterates over the connections.
func (c *Core) all() iter.Seq[*client] {
	return func(yield func(*client) bool) {
		for i := range c.clients {
			if !yield(&c.clients[i]) {
				return
			}
		}
	}
}

// Add registers a connection and returns its id, counted from 0. The Wire has yet to dial it.
func (c *Core) Add(s ClientSpec) int {
	cl := client{session: s.Session, spare: noSpare, id: int32(len(c.clients)), number: s.Number, slot: nowhere, at: math.MaxInt64}
	if s.Publish != nil {
		cl.pub = newPublisher(s.Publish)
		if c.Follow {
			cl.pub.flow = &flow{}
		}
	}
	if s.Subscribe != nil {
		cl.sub = s.Subscribe
	}
	c.clients = append(c.clients, cl)
	return int(cl.id)
}

// Trackers returns what connection id received of each of its streams; nil if it subscribes to none. They change while
// the Core is at work.
func (c *Core) Trackers(id int) []ledger.Tracker {
	if sub := c.clients[id].sub; sub != nil {
		return sub.Trackers
	}
	return nil
}

// Delivered returns how many different messages of the measure window came to connection id.
func (c *Core) Delivered(id int) uint64 {
	if sub := c.clients[id].sub; sub != nil {
		return sub.delivered
	}
	return 0
}

// Publishes tells whether connection id is a publisher's.
func (c *Core) Publishes(id int) bool { return c.clients[id].pub != nil }

// Dialling tells that an attempt to connect id begins.
func (c *Core) Dialling(id int, now int64) {
	c.clients[id].making().dialled = now
	c.clients[id].comingBack(now, 0)
	c.opened = min(c.opened, now)
	c.conns.Attempted++
}

// Connected tells that connection id carries bytes; tcp and tls are how long its parts took (tls 0 = none).
func (c *Core) Connected(id int, now int64, tcp, tls time.Duration) {
	c.rotate(now)
	cl := &c.clients[id]
	cl.state, cl.full = opening, false
	cl.forgetPend()
	if cl.watch != nil {
		cl.watch.dark, cl.watch.rest = nil, nil
	}
	cl.making().opened = now
	cl.comingBack(0, now)
	r := c.recorder(cl)
	r.record(ledger.ConnectTCP, int64(tcp))
	if tls > 0 {
		r.record(ledger.ConnectTLS, int64(tls))
	}
	c.out = cl.session.Open(now, c.out[:0])
	c.send(cl, c.out, now)
}

// Lost tells that connection id died or could not be made. It is dialled again where the settings say so.
func (c *Core) Lost(id int, now int64, err error) {
	c.rotate(now)
	cl := &c.clients[id]
	if cl.dark() {
		c.wire.Hangup(id)
		cl.watch.dark.end = cmp.Or(err, ErrClosed)
		return
	}
	c.drop(cl, now, err)
}

// Receive takes what arrived on connection id and returns how much of it was consumed; the rest must be presented
// again with more bytes behind it. kernel is when the kernel received the last of these bytes, 0 if unknown.
func (c *Core) Receive(id int, now, kernel int64, in []byte) int {
	c.rotate(now)
	cl := &c.clients[id]
	if cl.dark() && !cl.watch.dark.open {
		cl.watch.dark.in = append(cl.watch.dark.in, in...)
		return len(in)
	}
	fresh := in
	in = cl.received(in)
	used := 0
	c.out = c.out[:0]
	c.ev = proto.Event{}
	var like alike
	for cl.state != down && (used < len(in) || c.resuming()) {
		if p, ok := like.payload(in[used:]); ok {
			used += like.size
			c.deliver(cl, p, now, lastOnly(kernel, used, in))
			used += c.deliverRun(cl, in[used-like.size:], &like)
			continue
		}
		n, out, err := cl.session.Feed(now, in[used:], c.out, &c.ev)
		c.out = out
		used += n
		silent := c.ev.Kind == proto.None && c.ev.Err == nil
		if !silent {
			c.handle(cl, now, lastOnly(kernel, used, in))
		}
		if like.size = 0; c.ev.Kind == proto.Delivered && used < len(in) {
			like, _ = framed(cl.session, c.ev.QoS, in[used-n:used], c.ev.Payload)
		}
		if err != nil {
			c.recordBurst(now)
			c.send(cl, c.out, now)
			c.drop(cl, now, err)
			return cl.consumed(used, in, fresh)
		}
		if n == 0 && silent {
			break
		}
	}
	c.recordBurst(now)
	c.recorder(cl).window().InWindow.BytesIn += uint64(used)
	c.send(cl, c.out, now)
	if cl.pub != nil && cl.pub.waiting() {
		c.publish(cl, now)
	}
	c.schedule(cl)
	return cl.consumed(used, in, fresh)
}

// lastOnly is the kernel's time of arrival for the message that ends at used: the stamp belongs to the last one only.
func lastOnly(kernel int64, used int, in []byte) int64 {
	if used < len(in) {
		return 0
	}
	return kernel
}

// resuming tells that the session may have messages to resend although no bytes are left: an acknowledgement makes room for the
// next where the broker has lowered its limit.
func (c *Core) resuming() bool {
	return c.ev.Kind == proto.Resend || c.ev.Kind == proto.Acked || (c.ev.Kind == proto.Ready && c.ev.Resumed)
}

// handle acts on one event of a session; answers go to c.out.
func (c *Core) handle(cl *client, now, kernel int64) {
	ev := &c.ev
	switch ev.Kind {
	case proto.Delivered:
		c.deliver(cl, ev.Payload, now, kernel)
	case proto.Acked:
		c.acked(cl, now)
	case proto.Resend:
		c.resend(cl)
	case proto.Ready:
		c.accepted(cl, now)
	case proto.Subscribed:
		c.subscribed(cl, now)
	case proto.Closed:
		c.drop(cl, now, ev.Err)
	case proto.None:
		c.refused(cl, now, ev.Err)
	}
}

func (c *Core) accepted(cl *client, now int64) {
	if cl.pub != nil && !c.ev.Resumed {
		c.forget(cl.pub)
	}
	if cl.was && c.ev.Resumed {
		c.recovery.Resumed++
	}
	cl.state = subscribing
	if cl.sub != nil {
		list := cl.sub.Subscriptions.Subscriptions(cl.sub.FirstStream, len(cl.sub.Trackers))
		cl.sub.left = int32(len(list))
		for i := range list {
			out, err := cl.session.Subscribe(&list[i], c.out)
			if err != nil {
				c.fail(err)
				return
			}
			c.out = out
		}
	}
	c.settled(cl, now)
}

func (c *Core) subscribed(cl *client, now int64) {
	if err := c.ev.Err; err != nil {
		c.refused(cl, now, err)
		return
	}
	if cl.state == subscribing {
		cl.sub.left--
		c.settled(cl, now)
	}
}

// settled makes the client ready once every subscription is confirmed.
func (c *Core) settled(cl *client, now int64) {
	if cl.sub != nil && cl.sub.left > 0 {
		return
	}
	cl.state = ready
	c.setTick(cl, now)
	c.progress.Ready++
	c.conns.Established++
	r := c.recorder(cl)
	r.record(ledger.Connect, now-cl.attempt.dialled)
	r.record(ledger.ConnectProtocol, now-cl.attempt.opened)
	if cl.was {
		r.record(ledger.Outage, now-cl.attempt.lost)
		c.returned(cl, now, cl.attempt.lost)
		c.conns.Reconnected++
		c.event(now, "reconnected", cl, "")
	}
	cl.was = true
	cl.own().attempt = nil
	cl.tidy()
	c.schedule(cl)
}

// refused notes what the broker would not do although the connection lives. Unless that passes (a resource alarm), nothing can be
// measured on it.
func (c *Core) refused(cl *client, now int64, err error) {
	if err == nil || c.closed {
		return
	}
	note(&c.conns.Failures, err.Error(), 1)
	c.event(now, "refused", cl, err.Error())
	if permanent(err) {
		c.fail(err)
	}
}

func (c *Core) fail(err error) {
	if c.progress.Err == nil {
		c.progress.Err = err
	}
}

// Goodbye closes all connections gracefully. Nothing is dialled again.
func (c *Core) Goodbye(now int64) {
	c.stopping = true
	for cl := range c.all() {
		if cl.state != down {
			c.send(cl, cl.session.Close(c.out[:0]), now)
			cl.state = down
			c.wire.Hangup(int(cl.id))
		}
	}
}
