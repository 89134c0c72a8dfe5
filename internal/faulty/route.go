package faulty

import (
	"container/heap"
	"math"
	"slices"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/stamp"
)

// delivery is one message on its way to one subscription.
type delivery struct {
	to      *conn
	lane    *lane
	sub     uint64
	topic   []byte
	payload []byte // shared between the deliveries of a message; never written to
	at      int64  // when its delay is over
	arrived uint64 // its place among those of the same time
	stamp   stamp.Stamp
	qos     uint8
	counted bool // due in the measure window
	damaged bool
	foreign bool
}

// lane is one stream on its way to one connection.
type lane struct {
	last    int64 // no delivery goes before this, unless they may overtake
	account account
}

type laneKey struct {
	conn   int
	stream uint32
}

// held is a delivery that waits for others of its lane to overtake it.
type held struct {
	delivery
	left   int
	until  int64
	repeat bool // it was forwarded before
}

// route makes a delivery for each subscription that the message of ev reaches.
func (b *Broker) route(ev *proto.Event, now int64) {
	b.truth.came(now)
	message := delivery{topic: slices.Clone(ev.Topic), payload: slices.Clone(ev.Payload)}
	err := stamp.Decode(ev.Payload, &message.stamp)
	message.counted = err == nil && message.stamp.Due >= b.zero
	delay := b.cfg.Plan.Delay.draw(b.rng)
	for _, c := range b.order {
		for i := range c.subs {
			s := &c.subs[i]
			if now < s.from || !b.cfg.Match(s.filter, ev.Topic) {
				continue
			}
			d := message
			d.to, d.sub, d.qos = c, s.token, min(ev.QoS, s.qos)
			b.delay(&d, now, delay)
		}
	}
}

// delay puts d where it waits until its time has come.
func (b *Broker) delay(d *delivery, now, delay int64) {
	key := laneKey{d.to.id, d.stamp.Stream}
	if d.lane = b.lanes[key]; d.lane == nil {
		d.lane = &lane{}
		b.lanes[key] = d.lane
	}
	d.at = now + delay
	if !b.cfg.Plan.Delay.Overtake {
		d.at = max(d.at, d.lane.last)
		d.lane.last = d.at
	}
	d.arrived = b.arrived
	b.arrived++
	if d.counted {
		d.lane.account.Routed++
		b.truth.Delays = append(b.truth.Delays, d.at-now)
	}
	heap.Push(&b.waiting, *d)
}

// forward passes on every delivery whose delay is over, with its fault.
func (b *Broker) forward(now int64) {
	for b.waiting.next() <= now {
		d := heap.Pop(&b.waiting).(delivery)
		var f Fault
		if d.counted {
			f = b.cfg.Plan.Faults[b.ordinal]
			b.ordinal++
		}
		b.apply(d, f, now)
	}
}

func (b *Broker) apply(d delivery, f Fault, now int64) {
	a := &d.lane.account
	switch f.Kind {
	case Lose:
		a.Lost++
		return
	case Defer:
		if f.By > 0 {
			a.Deferred++
			b.held = append(b.held, held{delivery: d, left: f.By, until: now + heldAtMost})
			return
		}
	case Corrupt:
		d.payload = slices.Clone(d.payload)
		bit := b.rng.IntN(8 * len(d.payload))
		d.payload[bit/8] ^= 1 << (bit % 8)
		d.damaged = true
	case Foreign:
		b.enqueue(d.abroad(), now)
	}
	b.pass(d, now)
	if f.Kind != Repeat {
		return
	}
	if f.By == 0 {
		b.enqueue(d, now)
		return
	}
	b.held = append(b.held, held{delivery: d, left: f.By, until: now + heldAtMost, repeat: true})
}

// abroad returns a delivery like d but with the stamp of another run.
func (d *delivery) abroad() delivery {
	other := *d
	other.foreign = true
	other.payload = slices.Clone(d.payload)
	s := d.stamp
	s.Run++
	if other.payload[0] == '{' {
		stamp.PutJSON(other.payload, &s)
	} else {
		stamp.Put(other.payload, &s)
	}
	return other
}

// pass forwards d and then what waited for it to go first.
func (b *Broker) pass(d delivery, now int64) {
	b.enqueue(d, now)
	keep := b.held[:0]
	for _, h := range b.held {
		if h.lane == d.lane {
			h.left--
		}
		if h.left > 0 {
			keep = append(keep, h)
			continue
		}
		b.enqueue(h.delivery, now)
	}
	b.held = keep
}

// release ends the waiting of what has been held for too long: a repetition is given up, anything else goes now.
func (b *Broker) release(now int64) {
	keep := b.held[:0]
	for _, h := range b.held {
		switch {
		case h.until > now:
			keep = append(keep, h)
		case !h.repeat:
			b.enqueue(h.delivery, now)
		}
	}
	b.held = keep
}

func (b *Broker) nextHeld() int64 {
	next := int64(math.MaxInt64)
	for i := range b.held {
		next = min(next, b.held[i].until)
	}
	return next
}

// enqueue hands d to its connection, or drops it where too much is waiting already.
func (b *Broker) enqueue(d delivery, now int64) {
	c := d.to
	if b.conns[c.id] != c {
		b.drop(&d)
		return
	}
	c.queue = append(c.queue, d)
	b.flush(c, now)
	if most := b.cfg.Plan.Queue; most > 0 && len(c.queue) > most {
		c.queue = c.queue[:len(c.queue)-1]
		b.drop(&d)
	}
}

func (b *Broker) drop(d *delivery) {
	if d.counted {
		d.lane.account.Dropped++
	}
}

// batchBytes is how much is given to the wire at once.
const batchBytes = 64 << 10

// flush sends what waits for c as far as flow control and the wire allow.
func (b *Broker) flush(c *conn, now int64) {
	for {
		var batch []byte
		done := 0
		for c.more && done < len(c.queue) && len(batch) < batchBytes && c.session.Room(c.queue[done].qos) > 0 {
			batch = b.publish(&c.queue[done], batch)
			done++
		}
		if done == 0 {
			return
		}
		c.queue = slices.Delete(c.queue, 0, done)
		b.write(c, batch, now)
	}
}

func (b *Broker) publish(d *delivery, batch []byte) []byte {
	m := proto.Message{Token: d.arrived, Topic: d.topic, Payload: d.payload, QoS: d.qos, Sub: d.sub}
	next, err := d.to.session.Publish(&m, batch)
	if err != nil {
		b.drop(d)
		return batch
	}
	b.sent++
	if d.counted {
		d.lane.account.forwarded(d)
	}
	return next
}

// schedule is a heap of deliveries by time.
type schedule []delivery

func (s schedule) next() int64 {
	if len(s) == 0 {
		return math.MaxInt64
	}
	return s[0].at
}

// Len implements heap.Interface.
func (s schedule) Len() int { return len(s) }

// Less implements heap.Interface.
func (s schedule) Less(i, j int) bool {
	return s[i].at < s[j].at || s[i].at == s[j].at && s[i].arrived < s[j].arrived
}

// Swap implements heap.Interface.
func (s schedule) Swap(i, j int) { s[i], s[j] = s[j], s[i] }

// Push implements heap.Interface.
func (s *schedule) Push(x any) { *s = append(*s, x.(delivery)) }

// Pop implements heap.Interface.
func (s *schedule) Pop() any {
	last := len(*s) - 1
	d := (*s)[last]
	(*s)[last] = delivery{}
	*s = (*s)[:last]
	return d
}
