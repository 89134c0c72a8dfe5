package engine

import (
	"math"

	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/stamp"
)

// PublishSpec says what a connection sends.
type PublishSpec struct {
	Stream uint32
	QoS    uint8
	Retain bool
	Closed bool // closed loop: send whenever there is room; due is when it was sent
	Apart  bool // each message in a write of its own, also where several are due
	Window int  // unacknowledged messages at most (QoS 1, 2)
	Topic  []byte
	Pacer  *Pacer // where the schedule begins; nil in a closed loop
}

// cursor walks a schedule: due is the time of the message it stands at.
type cursor struct {
	due   int64
	more  bool
	pacer Pacer
}

func (c *cursor) step(start int64) {
	off, ok := c.pacer.Next()
	c.due, c.more = start+off, ok
}

// flight is a message sent with a guarantee and not yet acknowledged.
type flight struct {
	seq       uint64
	due, sent int64
	next      int32 // free list
	busy      bool
	stage     uint8 // how far its bytes have come, see Stages
}

// publisher keeps the schedule of one stream. The schedule never waits: at its due time every message is handed to the
// connection. What the connection cannot take (socket or window full) is backlog, sent as soon as it can be.
// Of many publishers each is cold in the processor's caches when its turn comes: what every message needs stands at the front.
type publisher struct {
	tick    int64  // when the session wants Tick
	seq     uint64 // next sequence number to send
	first   uint64 // first sequence number due in the measure window
	backlog uint64
	flow    *flow // nil = it is not followed
	out     int   // flights in use
	free    int32 // first free flight, -1 = none
	began   bool
	done    bool
	PublishSpec
	hand    cursor // next message to hand over
	back    cursor // first message of the backlog
	flights []flight
}

func newPublisher(s *PublishSpec) *publisher {
	return &publisher{PublishSpec: *s, free: -1, tick: math.MaxInt64}
}

func (p *publisher) begin(start int64) {
	p.began = true
	if p.Closed {
		p.hand = cursor{due: start, more: true}
		return
	}
	p.hand.pacer = *p.Pacer
	p.hand.step(start)
	p.done = !p.hand.more
}

// next is when publish should be called: at the next due time, at once if a connection with room has work left. end is that of
// the schedule.
func (p *publisher) next(cl *client, end int64) int64 {
	if !p.began || p.done {
		return math.MaxInt64
	}
	open := func() bool { return cl.state == ready && !cl.full && p.room(cl) > 0 }
	switch {
	case p.backlog > 0 && open():
		return math.MinInt64
	case p.Closed && !open():
		return end
	case !p.hand.more:
		return math.MaxInt64
	}
	return p.hand.due
}

// waiting tells whether room that has just appeared would be used.
func (p *publisher) waiting() bool { return p.began && (p.backlog > 0 || p.Closed) }

func (p *publisher) room(cl *client) int {
	room := cl.session.Room(p.QoS)
	if p.QoS > 0 {
		room = min(room, p.Window-p.out)
	}
	return room
}

// writesApart is how many writes of a message each there are in one turn: so few that the time at the start of the turn is
// still that of the last.
const writesApart = 16

// writes is how often publish sends in one turn. The writes of those that are due together take turns.
func (c *Core) writes(p *publisher) int {
	if p.Apart {
		return max(writesApart/max(len(c.due), 1), 1)
	}
	return 1
}

// batch is how many bytes are gathered for one write.
func (p *publisher) batch() int {
	if p.Apart {
		return 1
	}
	return batchBytes
}

// publish hands over what is due and sends what there is room for, one turn's worth at most.
func (c *Core) publish(cl *client, now int64) {
	p := cl.pub
	if !p.began || p.done {
		return
	}
	for writes := c.writes(p); writes > 0 && cl.state == ready && !cl.full; writes-- {
		if c.out = c.fill(cl, now, c.out[:0]); len(c.out) == 0 {
			break
		}
		c.send(cl, c.out, now)
	}
	for !p.Closed && p.hand.more && p.hand.due <= now && (cl.state != ready || cl.full || p.room(cl) <= 0) {
		c.hold(p, now)
	}
	if p.backlog == 0 && (!p.hand.more || (p.Closed && now >= c.end)) {
		p.done = true
		c.progress.Waiting--
	}
}

// fill encodes the backlog and then what is due, until a batch is full or flow control says stop.
func (c *Core) fill(cl *client, now int64, out []byte) []byte {
	p := cl.pub
	var like alike
	for room := p.room(cl); room > 0 && len(out) < p.batch(); room-- {
		var due int64
		switch {
		case p.backlog > 0:
			due = p.back.due
			c.pubs.record(ledger.Blocked, now-due)
		case p.Closed:
			if now >= c.end || now < c.start {
				return out
			}
			due = now
			p.hand.due = now // the longest without a message has the next turn
			c.offer(p, due)
		case p.hand.more && p.hand.due <= now:
			due = p.hand.due
			c.handOver(p, now)
		default:
			return out
		}
		next, err := c.encode(cl, due, now, out, &like)
		if err != nil {
			c.fail(err)
			return out
		}
		out = next
		if p.Closed && p.backlog == 0 && like.size > 0 {
			if more := min(room-1, (p.batch()-len(out)+like.size-1)/like.size); more > 0 && c.repeats(p, due, &like) {
				return c.repeat(p, due, out, &like, more)
			}
		}
		if p.backlog > 0 {
			p.backlog--
			p.back.step(c.start)
		}
	}
	return out
}

// repeats tells that nothing else need be done for each further message that is due now than to encode and count it.
func (c *Core) repeats(p *publisher, due int64, like *alike) bool {
	return c.Sample == nil && (p.flow == nil || due < c.measure) && like.stamped(&c.Payload)
}

// repeat appends n messages like the last of out, due and sent with it, and counts them.
func (c *Core) repeat(p *publisher, due int64, out []byte, like *alike, n int) []byte {
	out = stamp.Repeat(out, like.size, len(like.head), n)
	w, k := c.pubs.window(), uint64(n)
	w.InWindow.Offered += k
	w.InWindow.Sent += k
	p.seq += k
	if due < c.measure {
		p.first = p.seq
		return out
	}
	w.Counts.Offered += k
	w.Counts.Sent += k
	c.progress.Offered += k
	c.progress.Sent += k
	return out
}

// hold hands over a message that cannot be sent now.
func (c *Core) hold(p *publisher, now int64) {
	if p.backlog == 0 {
		p.back = p.hand
	}
	p.backlog++
	c.handOver(p, now)
}

// handOver moves the schedule past a due message and records how late that was.
func (c *Core) handOver(p *publisher, now int64) {
	c.pubs.record(ledger.Lateness, now-p.hand.due)
	c.offer(p, p.hand.due)
	p.hand.step(c.start)
}

func (c *Core) offer(p *publisher, due int64) {
	w := c.pubs.window()
	w.InWindow.Offered++
	if due >= c.measure {
		w.Counts.Offered++
		c.progress.Offered++
	}
}

// encode appends the next message of cl's stream, due at due and sent at now. like is the one before it in out.
func (c *Core) encode(cl *client, due, now int64, out []byte, like *alike) ([]byte, error) {
	p := cl.pub
	c.st.Run, c.st.Stream, c.st.Seq, c.st.Due, c.st.Sent = c.Run, p.Stream, p.seq, due, now
	if like.size > 0 {
		from := len(out)
		out = append(out, out[from-like.size:]...)
		c.Payload.put(out[from+len(like.head):], &c.st)
	} else {
		next, err := c.publishNext(cl, due, now, out)
		if err != nil {
			return out, err
		}
		*like, _ = framed(cl.session, p.QoS, next[len(out):], c.msg.Payload)
		out = next
	}
	if p.flow != nil && due >= c.measure {
		m := mark{seq: p.seq, token: -1}
		if p.QoS > 0 {
			m.token = int32(c.msg.Token)
		}
		c.mark(cl, len(out), m)
	}
	c.booked(cl, due, now)
	return out, nil
}

// publishNext has the session encode the message that the stamp describes.
func (c *Core) publishNext(cl *client, due, now int64, out []byte) ([]byte, error) {
	p := cl.pub
	c.msg.Topic, c.msg.Payload, c.msg.QoS, c.msg.Retain = p.Topic, c.Payload.stamped(&c.st), p.QoS, p.Retain
	c.msg.Token, c.msg.Redelivered = 0, false
	if p.QoS > 0 {
		c.msg.Token = uint64(p.take(flight{seq: p.seq, due: due, sent: now}))
	}
	return cl.session.Publish(&c.msg, out)
}

// booked counts the message that was encoded.
func (c *Core) booked(cl *client, due, now int64) {
	p := cl.pub
	w := c.pubs.window()
	w.InWindow.Sent++
	if due >= c.measure {
		w.Counts.Sent++
		c.progress.Sent++
	} else {
		p.first = p.seq + 1
	}
	if c.Sample != nil {
		c.Sample(&Sample{Kind: SampleSent, Stream: p.Stream, Client: cl.number, Seq: p.seq, Due: due, Sent: now})
	}
	p.seq++
}

// acked closes the flight that the event names.
func (c *Core) acked(cl *client, now int64) {
	f, ok := cl.pub.release(c.ev.Token)
	if !ok {
		return // of a connection before this one
	}
	if c.closed {
		return // it was counted as unconfirmed
	}
	measured := f.due >= c.measure
	w := c.pubs.window()
	switch {
	case c.ev.Err != nil:
		note(&c.conns.Refusals, c.ev.Err.Error(), 1)
		if measured {
			w.Counts.Refused++
			c.progress.Answered++
		}
		return
	case measured:
		w.Counts.Acked++
		c.progress.Answered++
		c.pubs.record(ledger.Ack, now-f.sent)
	}
	if c.Sample != nil {
		c.Sample(&Sample{Kind: SampleAcked, Stream: cl.pub.Stream, Client: cl.number, Seq: f.seq, Due: f.due, Sent: f.sent, Received: now})
	}
}

// resend repeats an unacknowledged message with the stamp of its first try.
func (c *Core) resend(cl *client) {
	p := cl.pub
	if c.ev.Token >= uint64(len(p.flights)) || !p.flights[c.ev.Token].busy {
		return
	}
	f := &p.flights[c.ev.Token]
	c.st.Run, c.st.Stream, c.st.Seq, c.st.Due, c.st.Sent = c.Run, p.Stream, f.seq, f.due, f.sent
	c.msg = proto.Message{
		Token: c.ev.Token, Topic: p.Topic, Payload: c.Payload.stamped(&c.st), QoS: p.QoS, Retain: p.Retain, Redelivered: true,
	}
	out, err := cl.session.Publish(&c.msg, c.out)
	if err != nil {
		c.fail(err)
		return
	}
	c.out = out
	if f.due >= c.measure && f.stage < atPeer {
		c.mark(cl, len(out), mark{seq: f.seq, token: int32(c.ev.Token), stage: f.stage})
	}
	if f.due >= c.measure {
		c.pubs.window().Counts.Resent++
	}
}

// take keeps f until it is acknowledged and returns its token.
func (p *publisher) take(f flight) int32 {
	f.busy = true
	p.out++
	if p.free < 0 {
		p.flights = append(p.flights, f)
		return int32(len(p.flights) - 1)
	}
	token := p.free
	p.free = p.flights[token].next
	p.flights[token] = f
	return token
}

func (p *publisher) release(token uint64) (flight, bool) {
	if token >= uint64(len(p.flights)) || !p.flights[token].busy {
		return flight{}, false
	}
	f := p.flights[token]
	p.flights[token] = flight{next: p.free}
	p.free = int32(token)
	p.out--
	return f, true
}

// forget gives up all flights: the peer did not keep the session, nobody will acknowledge them.
func (c *Core) forget(p *publisher) {
	c.pubs.window().Counts.Unconfirmed += p.unconfirmed(c.measure)
	p.flights, p.free, p.out = p.flights[:0], -1, 0
}

// unconfirmed counts the flights of messages due at or after measure.
func (p *publisher) unconfirmed(measure int64) (n uint64) {
	for i := range p.flights {
		if p.flights[i].busy && p.flights[i].due >= measure {
			n++
		}
	}
	return n
}
