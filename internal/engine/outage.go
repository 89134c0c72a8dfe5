package engine

import (
	"fmt"
	"net"
	"syscall"
)

// Break is what an outage does to connections.
type Break uint8

// The kinds of breaks.
const (
	// Elsewhere is an outage that is not done to connections here: the broker ends, or the network below fails. Only what
	// becomes of the connections is noted.
	Elsewhere Break = iota
	// Reset ends connections at once, at both ends: the peer gets a RST.
	Reset
	// BlackHole lets nothing through, either way, until the outage ends; neither end is told. What was sent meanwhile is on its
	// way then, as TCP repeats it.
	BlackHole
	// HalfOpen is a black hole for good for all connections there are; new ones work. So it is when a NAT forgot them.
	HalfOpen
)

// Outage is a break of all connections of one side, or both.
type Outage struct {
	Break
	Publishers, Subscribers bool
}

// darkBytes is how much a connection takes in a black hole before it is full: what a socket of Linux holds (tcp_wmem) when its
// peer acknowledges nothing.
const darkBytes = 64 << 10

// darkness is what a black hole keeps back of one connection. Bytes to be sent stay in its pend.
type darkness struct {
	in    []byte // arrived, and not shown
	end   error  // what became of the connection behind it; nil = it lives
	whole bool   // for good
	open  bool   // for what arrives, just now
}

// abandoner is a Wire that can leave a connection without a word to the peer.
type abandoner interface {
	// Abandon is Hangup, but the peer is told nothing before Bury.
	Abandon(id int)
	// Bury resets all connections that were abandoned.
	Bury()
}

// resetter is a Wire that can end a connection with a RST.
type resetter interface{ Reset(id int) }

// BeginOutage breaks connections. Whether new ones can be made meanwhile is up to the dialer.
func (c *Core) BeginOutage(now int64, o Outage) {
	c.rotate(now)
	for cl := range c.all() {
		if cl.state == down || !o.hits(cl) {
			continue
		}
		c.watched(cl).began = now
		switch o.Break {
		case Reset:
			c.follow(cl)
			if w, can := c.wire.(resetter); can {
				w.Reset(int(cl.id))
			}
			c.drop(cl, now, fmt.Errorf("outage: %w", &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}))
		case BlackHole, HalfOpen:
			cl.watch.dark = &darkness{whole: o.Break == HalfOpen}
		}
	}
	c.recovery.Outages++
}

func (o *Outage) hits(cl *client) bool {
	if cl.pub != nil {
		return o.Publishers
	}
	return o.Subscribers
}

// EndOutage lets everything through again that a black hole kept back. Connections that were given up meanwhile end for the peer, too.
func (c *Core) EndOutage(now int64) {
	c.rotate(now)
	c.mended = now
	for cl := range c.all() {
		if cl.dark() && !cl.watch.dark.whole {
			c.enlighten(cl, now)
		}
	}
	if w, can := c.wire.(abandoner); can {
		w.Bury()
	}
}

// Drip lets n bytes through every black hole, each way.
func (c *Core) Drip(now int64, n int) {
	c.rotate(now)
	for cl := range c.all() {
		if !cl.dark() || cl.watch.dark.whole || cl.watch.dark.end != nil {
			continue
		}
		c.dripOut(cl, now, n)
		c.dripIn(cl, now, n)
	}
}

func (c *Core) dripOut(cl *client, now int64, n int) {
	if cl.pend == nil {
		return
	}
	pend := *cl.pend
	sent, _, err := c.wire.Send(int(cl.id), pend[:min(n, len(pend))])
	c.recorder(cl).window().InWindow.BytesOut += uint64(sent)
	if *cl.pend = pend[sent:]; len(pend) == sent {
		cl.forgetPend()
	}
	cl.full = len(pend)-sent >= darkBytes
	if err != nil {
		c.drop(cl, now, err)
	}
}

func (c *Core) dripIn(cl *client, now int64, n int) {
	if !cl.dark() || len(cl.watch.dark.in) == 0 {
		return
	}
	d := cl.watch.dark
	n = min(n, len(d.in))
	in := d.in[:n:n]
	d.in = d.in[n:]
	d.open = true // the session sees them; what it answers is swallowed
	if used := c.Receive(int(cl.id), now, 0, in); used < n && cl.state != down {
		cl.watch.rest = append([]byte(nil), in[used:]...)
	}
	d.open = false
}

// dark tells that a black hole is between the connection and its peer.
func (cl *client) dark() bool { return cl.watch != nil && cl.watch.dark != nil }

// enlighten ends a black hole.
func (c *Core) enlighten(cl *client, now int64) {
	in, end := cl.watch.dark.in, cl.watch.dark.end
	cl.watch.dark = nil
	if end != nil {
		c.drop(cl, now, end)
		return
	}
	c.Writable(int(cl.id), now)
	if len(in) > 0 && cl.state != down {
		cl.watch.rest = append(cl.watch.rest, in...)
		c.Receive(int(cl.id), now, 0, nil)
	}
}

// swallow keeps back what a black hole does not let through to the peer.
func (cl *client) swallow(b []byte) {
	cl.keep(b)
	cl.full = len(*cl.pend) >= darkBytes
}

// received is what there is to be shown to the session: what a black hole kept back stands in front.
func (cl *client) received(in []byte) []byte {
	if cl.watch == nil || len(cl.watch.rest) == 0 {
		return in
	}
	return append(cl.watch.rest, in...)
}

// consumed keeps what the session did not take of received, and returns what the Wire is to be told of in.
func (cl *client) consumed(used int, all, in []byte) int {
	if len(all) == len(in) {
		return used
	}
	cl.watch.rest = append([]byte(nil), all[used:]...)
	return len(in)
}

// hangup closes the connection; through a black hole the peer does not hear of it.
func (c *Core) hangup(cl *client) {
	w, can := c.wire.(abandoner)
	if cl.dark() && can {
		w.Abandon(int(cl.id))
		return
	}
	c.wire.Hangup(int(cl.id))
}
