// Package engine generates load: it keeps the schedule, drives protocol sessions, and records what happened to every message.
//
// A [Core] is one shard of a trial: a set of connections served by one thread. It is pure: it is told the time, what arrived and
// what became writable, and asks a [Wire] to carry bytes. It knows no protocol, no socket and no clock, so that stalls, overload and
// faults are tested in virtual time. Package loop drives Cores by epoll, package routine by goroutines over net.Conn.
package engine

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"time"

	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/stamp"
)

// Wire carries bytes between a Core and its sockets.
type Wire interface {
	// Send gives bytes to connection id and keeps none of them. It took n; more tells that it would take further
	// bytes now. When it would not, Core.Writable must be called once it does.
	Send(id int, b []byte) (n int, more bool, err error)
	// Dial makes connection id (again), no sooner than at. Core.Connected or Core.Lost answers.
	Dial(id int, at int64)
	// Hangup closes connection id after what Send took.
	Hangup(id int)
}

// Settings are what all connections of a trial share.
type Settings struct {
	Run       uint32
	Payload   Payload
	Reconnect bool
	Pause     time.Duration // before each attempt to connect again; 0 = growing and scattered ones
	Seed      uint64
	Follow    bool // count how far messages come on their way to the broker's TCP, see Stages
	// Emit takes a finished window and must not block; the Core does not touch it again.
	Emit func(*ledger.Window)
	// Event reports what happens to connections; it must not block. nil = nobody listens.
	Event func(Event)
	// Sample takes every message sent, acknowledged and received, when samples are wanted; it must not block.
	Sample func(*Sample)
}

// The groups that windows belong to.
const (
	Publishers  = "publishers"
	Subscribers = "subscribers"
)

// batchBytes is how much is encoded for one connection before others get their turn.
const batchBytes = 64 << 10

// turn is how many connections Advance serves before it wants to be told the time again: messages are stamped with the
// time that it was told.
const turn = 32

// Core is one shard of a trial. Its methods must not be called concurrently.
type Core struct {
	Settings
	wire    Wire
	clients []client
	timers  timers
	due     []*client // scratch of Advance
	out     []byte    // scratch: bytes of a batch or of an answer
	ev      proto.Event
	msg     proto.Message
	st      stamp.Stamp
	burst   burst
	rng     *rand.Rand

	opened              int64 // when the first connection was dialled
	start, measure, end int64 // schedule: warm-up begins, measure window begins, nothing is due any more
	closed              bool  // the books are closed: what still arrives is late
	stopping            bool  // connections are being closed on purpose

	pubs, subs recorder
	conns      Connections
	progress   Progress
	recovery   Recovery
	stages     Stages
	atEnd      *Stages // at the end of the measure window; nil = it has not come
	followed   int64   // when all connections were asked last
	mended     int64   // when the last outage ended
}

// New returns a Core that sends through w.
func New(s Settings, w Wire) *Core {
	c := &Core{
		Settings: s, wire: w,
		rng:   rand.New(rand.NewPCG(s.Seed, 0x6d716c6162)),
		start: math.MaxInt64, measure: math.MaxInt64, end: math.MaxInt64,
		opened: math.MaxInt64,
		pubs:   recorder{group: Publishers, boundary: math.MaxInt64},
		subs:   recorder{group: Subscribers, boundary: math.MaxInt64},
	}
	c.timers.clients = &c.clients
	return c
}

// Connections counts what happened to connections.
type Connections struct {
	Attempted   int            `json:"attempted"`
	Established int            `json:"established"`
	Failed      int            `json:"failed"` // attempts that never became ready
	Lost        int            `json:"lost"`   // ready connections that died before the end
	Reconnected int            `json:"reconnected"`
	Failures    map[string]int `json:"failures,omitempty"` // by reason, refusals of subscriptions included
	Refusals    map[string]int `json:"refusals,omitempty"` // of messages, by the broker's reason
}

// Add adds o to c.
func (c *Connections) Add(o Connections) {
	c.Attempted += o.Attempted
	c.Established += o.Established
	c.Failed += o.Failed
	c.Lost += o.Lost
	c.Reconnected += o.Reconnected
	for reason, n := range o.Failures {
		note(&c.Failures, reason, n)
	}
	for reason, n := range o.Refusals {
		note(&c.Refusals, reason, n)
	}
}

// maxReasons bounds the number of distinct failure texts that are kept; the rest are counted together.
const maxReasons = 64

// note counts a reason in a map that may not be made yet.
func note(reasons *map[string]int, reason string, n int) {
	if *reasons == nil {
		*reasons = map[string]int{}
	}
	if _, known := (*reasons)[reason]; !known && len(*reasons) >= maxReasons {
		reason = "other reasons"
	}
	(*reasons)[reason] += n
}

// Progress is how far a Core is; all counts but Ready are of messages due in the measure window.
type Progress struct {
	Ready     int // connections that are ready, subscriptions confirmed
	Offered   uint64
	Sent      uint64
	Answered  uint64 // acknowledged or refused
	Delivered uint64
	Waiting   int   // publishers that still have something to send
	Err       error // what makes it pointless to go on: refused credentials, a forbidden topic, a message above the limit
}

// Add adds the counts of another Core's.
func (p *Progress) Add(o Progress) {
	p.Ready += o.Ready
	p.Offered += o.Offered
	p.Sent += o.Sent
	p.Answered += o.Answered
	p.Delivered += o.Delivered
	p.Waiting += o.Waiting
}

// Event is something that happened to a connection.
type Event struct {
	At     int64
	Kind   string // lost, reconnected, failed, refused
	Client string // "publisher 3"; empty = not of a connection
	Text   string
}

// Sample is one fact about one message, see package run for its file form.
type Sample struct {
	Kind                        SampleKind
	Stream                      uint32
	Client                      uint32 // number of the publisher or subscriber
	Seq                         uint64
	Due, Sent, Received, Kernel int64
}

// SampleKind says what a Sample reports.
type SampleKind uint8

// What a Sample can report.
const (
	SampleSent SampleKind = iota + 1
	SampleAcked
	SampleReceived
	SampleCorrupt
	SampleForeign
)

// Connections returns the counts so far.
func (c *Core) Connections() Connections {
	n := c.conns
	n.Failures, n.Refusals = maps.Clone(n.Failures), maps.Clone(n.Refusals)
	return n
}

// Progress returns how far the Core is.
func (c *Core) Progress() Progress { return c.progress }

// Begin sets the schedule: warm-up from start, measuring from measure, nothing due at or after end. Nothing is published
// before Publish, so that every Core of a trial can know the schedule before a message of another reaches it.
func (c *Core) Begin(start, measure, end int64) {
	c.start, c.measure, c.end = start, measure, end
	c.opened = min(c.opened, start)
	c.pubs.begin(c.opened, start, measure, end, c.Emit)
	c.subs.begin(c.opened, start, measure, end, c.Emit)
}

// Publish lets the publishers follow the schedule.
func (c *Core) Publish() {
	for cl := range c.all() {
		if cl.pub == nil {
			continue
		}
		if cl.pub.begin(c.start); !cl.pub.done {
			c.progress.Waiting++
			c.schedule(cl)
		}
	}
}

// Advance does what is due at now, for a limited number of connections, and returns when it wants to be called next; a time
// not after now means at once.
func (c *Core) Advance(now int64) int64 {
	c.followAll(now)
	c.rotate(now)
	c.due = c.timers.popDue(now, c.due[:0])
	for _, cl := range c.due { // apart from what follows: many that are not in the processor's caches are looked at side by side
		if cl.state == ready && cl.tick() <= now {
			c.tickClient(cl, now)
		}
	}
	for _, cl := range c.due {
		if cl.pub != nil {
			c.publish(cl, now)
		}
		c.schedule(cl)
	}
	c.due = c.due[:0]
	return min(c.timers.next(), c.pubs.boundary)
}

// Writable tells that connection id takes bytes again.
func (c *Core) Writable(id int, now int64) {
	c.rotate(now)
	cl := &c.clients[id]
	if cl.dark() {
		return
	}
	cl.full = false
	if cl.pend != nil {
		pend := *cl.pend
		cl.forgetPend()
		if cl.pub != nil && cl.pub.flow != nil {
			cl.pub.flow.handed -= uint64(len(pend)) // it is handed over again
		}
		c.send(cl, pend, now)
		if cl.full || cl.state == down {
			return
		}
	}
	if cl.pub != nil {
		c.publish(cl, now)
		c.schedule(cl)
	}
}

func (c *Core) tickClient(cl *client, now int64) {
	next, out, err := cl.session.Tick(now, c.out[:0])
	c.out = out[:0]
	c.setTick(cl, next)
	c.send(cl, out, now)
	if err != nil {
		c.drop(cl, now, err)
	}
}

// schedule puts the client's next deadline into the timers.
func (c *Core) schedule(cl *client) {
	at := int64(math.MaxInt64)
	if cl.state == ready {
		at = cl.tick()
	}
	if cl.pub != nil {
		at = min(at, cl.pub.next(cl, c.end))
	}
	c.timers.set(cl, at)
}

// send carries b, behind anything that waits already.
func (c *Core) send(cl *client, b []byte, now int64) {
	if len(b) == 0 || cl.state == down {
		return
	}
	if cl.pub != nil && cl.pub.flow != nil {
		cl.pub.flow.handed += uint64(len(b))
	}
	if cl.dark() {
		cl.swallow(b)
		return
	}
	if cl.full || cl.pend != nil {
		cl.keep(b)
		return
	}
	n, more, err := c.wire.Send(int(cl.id), b)
	c.recorder(cl).sent(n)
	cl.full = !more
	if n < len(b) {
		cl.full = true
		cl.keep(b[n:])
	}
	if err != nil {
		c.drop(cl, now, err)
	}
}

// Unsent gives back the end of what Send took of connection id: the socket did not take it. Core.Writable must be called
// once it does.
func (c *Core) Unsent(id int, rest []byte) {
	cl := &c.clients[id]
	if cl.state == down {
		return
	}
	later := cl.pend
	cl.full = true
	cl.forgetPend()
	cl.keep(rest)
	if later != nil {
		cl.keep(*later)
	}
	c.recorder(cl).unsent += uint64(len(rest))
}

func (c *Core) recorder(cl *client) *recorder {
	if cl.pub != nil {
		return &c.pubs
	}
	return &c.subs
}

func (c *Core) event(now int64, kind string, cl *client, text string) {
	if c.Event == nil {
		return
	}
	role := "subscriber"
	if cl.pub != nil {
		role = "publisher"
	}
	c.Event(Event{At: now, Kind: kind, Client: fmt.Sprintf("%s %d", role, cl.number), Text: text})
}

func (c *Core) rotate(now int64) {
	c.pubs.rotate(now, c.Emit)
	c.subs.rotate(now, c.Emit)
}
