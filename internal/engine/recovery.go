package engine

import (
	"math"

	"github.com/mqlab/mqlab/internal/ledger"
)

// Recovery is what became of connections and of the messages that waited for them, over all outages. Messages are counted only of
// subscribers that have their streams to themselves.
type Recovery struct {
	Outages  int `json:"outages"`  // that began
	Affected int `json:"affected"` // connections that were there when one did, summed over them
	Noticed  int `json:"noticed"`  // … that were lost by it
	Returned int `json:"returned"` // … and ready again
	Resumed  int `json:"resumed"`  // … for which the broker had kept the session (MQTT)
	// Backlog is how many messages came that were sent before their subscriber began to come back: the broker had kept them. Missed
	// are those that never came of all that were sent before it was back.
	Backlog uint64 `json:"backlog"`
	Missed  uint64 `json:"missed"`
	// Oldest and Newest are which of the missed were due before, and after, all that was kept for the same subscriber.
	Oldest uint64 `json:"oldest_dropped"`
	Newest uint64 `json:"newest_dropped"`
	// Largest is the largest backlog of one subscriber after one outage.
	Largest uint64 `json:"largest_backlog"`
}

// Add adds what another Core saw of the same outages.
func (r *Recovery) Add(o Recovery) {
	r.Outages = max(r.Outages, o.Outages)
	r.Affected += o.Affected
	r.Noticed += o.Noticed
	r.Returned += o.Returned
	r.Resumed += o.Resumed
	r.Backlog += o.Backlog
	r.Missed += o.Missed
	r.Oldest += o.Oldest
	r.Newest += o.Newest
	r.Largest = max(r.Largest, o.Largest)
}

// Recovery returns what is known so far; after CloseBooks, all.
func (c *Core) Recovery() Recovery { return c.recovery }

// watch follows one connection through outages. It is made when the first one hits it.
type watch struct {
	began int64     // of the outage that it has not noticed yet; 0 = none
	dark  *darkness // nil = none
	rest  []byte    // arrived in a black hole, and not consumed since
	away  *away     // nil = it is not away, and has got what it missed
}

// away is what a subscriber that was away has missed and gets afterwards.
type away struct {
	dialled int64 // when the latest attempt to come back began
	opened  int64 // when its connection stood again; a broker that kept the session hands over from then on
	ready   int64 // when it was ready; 0 = it is not
	first   bool  // something has come since
	last    int64 // when the last message of the backlog came
	backlog uint64
	streams []span
}

// span tells of one stream, in sequence numbers: next was expected when the connection was lost; low and high are the first and
// the last that had been kept; live is the first one due afterwards.
type span struct{ next, low, high, live uint64 }

// watched returns the watch of a connection that an outage hits.
func (c *Core) watched(cl *client) *watch {
	if cl.watch == nil {
		cl.own().watch = &watch{}
	}
	if cl.state == ready {
		c.recovery.Affected++
	}
	return cl.watch
}

// noticed tells that a connection that was ready is lost.
func (c *Core) noticed(cl *client, now int64) {
	w := cl.watch
	if w == nil || w.began == 0 {
		return
	}
	c.recorder(cl).record(ledger.Notice, now-w.began)
	w.began = 0
	c.recovery.Noticed++
	if cl.sub == nil || cl.sub.FirstLeg || cl.sub.Shared {
		return
	}
	c.caughtUp(cl)
	w.away = &away{streams: make([]span, len(cl.sub.Trackers))}
	for i := range w.away.streams {
		w.away.streams[i] = span{next: cl.sub.Trackers[i].Next(), low: math.MaxUint64, live: math.MaxUint64}
	}
}

// returned tells that a connection that was lost is ready again: how long it took from when it could be, or from its loss where that
// came later.
func (c *Core) returned(cl *client, now, lost int64) {
	r := c.recorder(cl)
	r.window().InWindow.Reconnected++
	if cl.watch == nil {
		return
	}
	c.recovery.Returned++
	r.record(ledger.Reconnect, now-max(lost, min(c.mended, now)))
	if a := cl.watch.away; a != nil {
		a.ready = now
	}
}

// comingBack notes when an attempt to connect began, and when it carried bytes.
func (cl *client) comingBack(dialled, opened int64) {
	if cl.watch != nil && cl.watch.away != nil {
		a := cl.watch.away
		a.dialled, a.opened = max(a.dialled, dialled), opened
	}
}

// after notes a message, one not seen before, that came to a subscriber that had been away.
func (c *Core) after(cl *client, stream uint32, now int64) {
	a := cl.watch.away
	if a == nil {
		return
	}
	if !a.first {
		a.first = true
		c.subs.record(ledger.FirstMessage, now-a.opened)
	}
	s, seq := &a.streams[stream], c.st.Seq
	switch {
	case seq < s.next: // on its way when the connection was lost
	case a.ready > 0 && c.st.Sent >= a.ready:
		s.live = min(s.live, seq)
	case c.st.Sent < a.dialled: // later ones may have come as if it never had been away
		a.backlog++
		a.last = now
		s.low, s.high = min(s.low, seq), max(s.high, seq)
	}
}

// caughtUp sums up what a subscriber missed the last time that it was away.
func (c *Core) caughtUp(cl *client) {
	a := cl.watch.away
	if a == nil {
		return
	}
	cl.watch.away = nil
	r := &c.recovery
	r.Backlog += a.backlog
	r.Largest = max(r.Largest, a.backlog)
	if a.backlog > 0 {
		c.subs.record(ledger.Drain, a.last-a.opened)
	}
	for i := range a.streams {
		s, t := &a.streams[i], &cl.sub.Trackers[i]
		if s.live == math.MaxUint64 {
			continue // nothing came afterwards: how many there were is not known here
		}
		r.Missed += t.Missing(s.next, s.live)
		if s.low <= s.high {
			r.Oldest += t.Missing(s.next, s.low)
			r.Newest += t.Missing(s.high+1, s.live)
		}
	}
}
