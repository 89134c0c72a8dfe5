// Package virtual joins an engine.Core and a faulty.Broker in virtual time, for tests: no socket, no clock, no goroutine, and
// so the same result each time.
package virtual

import (
	"container/heap"
	"time"

	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/faulty"
	"github.com/mqlab/mqlab/internal/proto"
)

// Config describes a World.
type Config struct {
	Settings engine.Settings
	Faulty   faulty.Config
	Session  func() proto.Server // makes the broker's side of a connection
	Latency  time.Duration       // of the network, each way
	// SocketBytes is how much a connection takes towards the broker before it is full: what is under way and what the
	// broker has not read. 0 = any amount.
	SocketBytes int
}

// World is a Core, a Broker, and the network between them.
type World struct {
	Core   *engine.Core
	Broker *faulty.Broker

	cfg    Config
	now    int64
	events events
	count  uint64
	links  []*link
	left   []*link // abandoned, and not buried
}

// link is the present connection of one client.
type link struct {
	up, down []byte // arrived, and not consumed
	left     int    // bytes of up that the broker has seen, and wants again with more behind them
	flying   int    // bytes on their way to the broker
	full     bool   // the Core was told so
	open     bool
	retry    bool // an attempt to read again is planned
}

// New returns a World at time 0. Fill its Core, then Connect.
func New(cfg Config) *World {
	w := &World{cfg: cfg}
	w.Core = engine.New(cfg.Settings, (*clientWire)(w))
	w.Broker = faulty.New(cfg.Faulty, (*brokerWire)(w))
	return w
}

// Now returns the time.
func (w *World) Now() int64 { return w.now }

// Add registers a connection of the Core and dials it.
func (w *World) Add(s engine.ClientSpec) {
	id := w.Core.Add(s)
	w.links = append(w.links, &link{})
	(*clientWire)(w).Dial(id, w.now)
}

// Run lets time pass until the given moment.
func (w *World) Run(until int64) {
	for {
		next := min(w.Core.Advance(w.now), w.Broker.Advance(w.now), w.events.next())
		if next > until {
			w.now = until
			return
		}
		w.now = max(w.now, next)
		for w.events.next() <= w.now {
			heap.Pop(&w.events).(event).do()
		}
	}
}

func (w *World) after(d int64, do func()) {
	heap.Push(&w.events, event{w.now + d, w.count, do})
	w.count++
}

// present gives the broker what has arrived, as far as it wants to read.
func (w *World) present(id int, l *link) {
	for l.open && len(l.up) > l.left {
		allowed, next := w.Broker.Allow(id, w.now)
		if allowed == 0 {
			w.presentLater(id, l, next)
			return
		}
		shown := min(len(l.up), l.left+min(allowed, len(l.up)))
		used := w.Broker.Receive(id, w.now, l.up[:shown])
		l.up, l.left = l.up[used:], shown-used
		if l.full && used > 0 && l.open {
			l.full = false
			w.Core.Writable(id, w.now)
		}
	}
}

func (w *World) presentLater(id int, l *link, at int64) {
	if l.retry {
		return
	}
	l.retry = true
	w.after(at-w.now, func() {
		l.retry = false
		w.present(id, l)
	})
}

// clientWire is the World as its Core sees it.
type clientWire World

// Send implements engine.Wire.
func (c *clientWire) Send(id int, b []byte) (n int, more bool, err error) {
	w, l := (*World)(c), c.links[id]
	n = len(b)
	if limit := w.cfg.SocketBytes; limit > 0 {
		n = min(n, max(limit-l.flying-len(l.up), 0))
	}
	sent := append([]byte(nil), b[:n]...)
	l.flying += n
	w.after(int64(w.cfg.Latency), func() {
		l.flying -= n
		l.up = append(l.up, sent...)
		w.present(id, l)
	})
	l.full = n < len(b)
	return n, !l.full, nil
}

// Dial implements engine.Wire.
func (c *clientWire) Dial(id int, at int64) {
	w := (*World)(c)
	w.after(max(at-w.now, 0), func() {
		w.Core.Dialling(id, w.now)
		began := w.now
		w.after(2*int64(w.cfg.Latency), func() {
			l := &link{open: true}
			w.links[id] = l
			w.Core.Connected(id, w.now, time.Duration(w.now-began), 0)
			w.Broker.Accept(id, w.cfg.Session(), w.now)
		})
	})
}

// Hangup implements engine.Wire.
func (c *clientWire) Hangup(id int) {
	c.links[id].open = false
	c.Broker.Gone(id)
}

// Reset ends connection id for both ends.
func (c *clientWire) Reset(id int) { c.Hangup(id) }

// Abandon leaves connection id without the broker's knowing; Bury ends that.
func (c *clientWire) Abandon(id int) {
	c.links[id].open = false
	c.left = append(c.left, c.links[id])
}

// Bury lets the broker know of every connection that was abandoned and that no other has replaced.
func (c *clientWire) Bury() {
	for id, l := range c.links {
		for _, left := range c.left {
			if l == left {
				c.Broker.Gone(id)
			}
		}
	}
	c.left = nil
}

// brokerWire is the World as its Broker sees it.
type brokerWire World

// Send implements faulty.Wire.
func (b *brokerWire) Send(id int, bytes []byte) (more bool) {
	w, l := (*World)(b), b.links[id]
	sent := append([]byte(nil), bytes...)
	w.after(int64(w.cfg.Latency), func() {
		if !l.open {
			return
		}
		l.down = append(l.down, sent...)
		used := w.Core.Receive(id, w.now, 0, l.down)
		l.down = l.down[used:]
	})
	return true
}

// Hangup implements faulty.Wire.
func (b *brokerWire) Hangup(id int) {
	w, l := (*World)(b), b.links[id]
	w.after(int64(w.cfg.Latency), func() {
		if l.open {
			l.open = false
			w.Core.Lost(id, w.now, engine.ErrClosed)
		}
	})
}

// event is something that happens at a moment.
type event struct {
	at int64
	n  uint64
	do func()
}

// events is a heap of events by time.
type events []event

func (e events) next() int64 {
	if len(e) == 0 {
		return 1<<63 - 1
	}
	return e[0].at
}

// Len implements heap.Interface.
func (e events) Len() int { return len(e) }

// Less implements heap.Interface.
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].n < e[j].n
}

// Swap implements heap.Interface.
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

// Push implements heap.Interface.
func (e *events) Push(x any) { *e = append(*e, x.(event)) }

// Pop implements heap.Interface.
func (e *events) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	*e = (*e)[:last]
	return x
}
