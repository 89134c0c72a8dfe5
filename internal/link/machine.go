package link

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Verdict is what becomes of a packet as it is offered.
type Verdict uint8

// Verdicts.
const (
	Accepted     Verdict = iota // it is on its way
	LostOnAir                   // see Counters.Lost
	QueueFull                   // see Counters.QueueDropped
	DuringOutage                // see Counters.Outage
)

func (v Verdict) String() string {
	return [...]string{"accepted", "lost on the air", "queue full", "during an outage"}[v]
}

// flowSlots is how many flows OrderFlow tells apart; flows that share a slot keep their order among each other, too.
const flowSlots = 4096

// Machine is one direction of a link. It is not safe for concurrent use. Times are nanoseconds of any monotonic clock and
// must not go backwards. It copies what it is given, and does not allocate once it has seen as many packets at once as it will.
type Machine struct {
	p     Params
	queue float64 // Params.Queue
	limit int     // Params.QueueLimit

	losses     losses
	delays     delays
	duplicates *rand.Rand
	copies     delays // of duplicates
	corrupts   *rand.Rand
	netem      *netem // nil in mode physical

	flight flight
	idle   int64   // when the rate has nothing more to do
	last   int64   // when the last packet arrives
	flows  []int64 // the same by flow, of OrderFlow

	down    bool // by SetDown
	out     bool // by the schedule
	outages []Outage
	start   int64 // of the schedule

	seed uint64
	c    Counters
}

// New returns an idle link. The same params and seed give the same sequence of verdicts and delays. Params must be valid.
func New(p Params, seed uint64) *Machine {
	m := &Machine{
		losses:     losses{chance: sequence(seed, "loss")},
		delays:     delays{chance: sequence(seed, "delay")},
		duplicates: sequence(seed, "copy"),
		copies:     delays{chance: sequence(seed, "copydely")},
		corrupts:   sequence(seed, "corrupt"),
		seed:       seed,
	}
	m.set(p)
	return m
}

func (m *Machine) set(p Params) {
	m.p, m.queue, m.limit = p, float64(p.Queue()), p.QueueLimit()
	m.losses.set(p)
	m.delays.set(p)
	m.copies.set(p)
	switch {
	case p.Order != OrderFlow:
		m.flows = nil
	case m.flows == nil: // else a change lets nothing overtake what is in flight
		m.flows = make([]int64, flowSlots)
	}
	if m.netem = nil; p.Mode == NetEm {
		m.netem = newNetem(p, m.seed)
		m.seed++ // another change goes on with other numbers
	}
}

// Change sets the properties for packets offered from now on; those accepted before keep the times they were given.
func (m *Machine) Change(now int64, p Params) {
	m.advance(now)
	m.set(p)
}

// Push offers a packet. Data is copied. Flow tells flows apart for OrderFlow; FlowOf finds it in an IP packet.
func (m *Machine) Push(now int64, data []byte, flow uint32) Verdict {
	m.advance(now)
	m.c.Offered.add(len(data))
	if m.down || m.out {
		m.c.Outage.add(len(data))
		return DuringOutage
	}
	if m.netem != nil {
		return m.pushNetem(now, data)
	}
	leaves, ok := m.serialise(now, len(data))
	if !ok {
		m.c.QueueDropped.add(len(data))
		return QueueFull
	}
	if m.losses.next() {
		m.c.Lost.add(len(data))
		return LostOnAir
	}
	m.send(m.inOrder(leaves+m.delays.next(), flow), data, false)
	if m.duplicated() {
		m.send(m.inOrder(leaves+m.copies.next(), flow), data, true)
	}
	return Accepted
}

// serialise returns when a packet has left at the rate; ok is false if there is no room for it to wait.
func (m *Machine) serialise(now int64, size int) (leaves int64, ok bool) {
	if m.p.Rate == 0 {
		return now, true
	}
	starts := max(now, m.idle)
	wait := starts - now
	if waiting := float64(wait) * float64(m.p.Rate) / 8e9; wait > 0 && waiting+float64(size+m.p.OverheadBytes) > m.queue+0.5 {
		return 0, false
	}
	m.waited(wait)
	air := int64(m.p.AirTime(size))
	m.c.AirTime += time.Duration(air)
	m.idle = starts + air
	return m.idle, true
}

func (m *Machine) waited(ns int64) {
	m.c.Waited += time.Duration(ns)
	m.c.LongestWait = max(m.c.LongestWait, time.Duration(ns))
}

// inOrder returns when a packet arrives that should not overtake those before it.
func (m *Machine) inOrder(at int64, flow uint32) int64 {
	switch m.p.Order {
	case OrderLink:
		m.last = max(at, m.last)
		return m.last
	case OrderFlow:
		last := &m.flows[flow%flowSlots]
		*last = max(at, *last)
		return *last
	}
	return at
}

func (m *Machine) duplicated() bool {
	return m.p.Duplicate > 0 && m.duplicates.Float64() < m.p.Duplicate
}

// send puts a packet on its way.
func (m *Machine) send(at int64, data []byte, isCopy bool) {
	sent := m.flight.add(at, data, isCopy)
	if !isCopy {
		m.c.InFlight.add(len(data))
	}
	if m.p.Corrupt > 0 && m.corrupts.Float64() < m.p.Corrupt && corrupt(sent, m.corrupts, m.p.FixChecksum) {
		m.c.Corrupted.add(len(data))
	}
}

// Next returns when the next packet is due.
func (m *Machine) Next() (deadline int64, ok bool) {
	if len(m.flight.heap) == 0 {
		return 0, false
	}
	return m.flight.heap[0].at, true
}

// Pop returns the next packet that is due by now. It is valid until the next call of Push.
func (m *Machine) Pop(now int64) (data []byte, ok bool) {
	m.advance(now)
	if len(m.flight.heap) == 0 || m.flight.heap[0].at > now {
		return nil, false
	}
	p := m.flight.take()
	if p.copy {
		m.c.Duplicated.add(len(p.data))
	} else {
		m.c.InFlight.remove(len(p.data))
		m.c.Carried.add(len(p.data))
	}
	return p.data, true
}

// Backlog returns how long a packet offered now would wait for the rate.
func (m *Machine) Backlog(now int64) time.Duration { return time.Duration(max(0, m.idle-now)) }

// Counters returns what became of the packets so far.
func (m *Machine) Counters() Counters { return m.c }

// SetDown begins or ends an outage of kind Blackhole: what is waiting or on the air is lost, too. Outages of the schedule come
// beside it.
func (m *Machine) SetDown(now int64, down bool) {
	m.advance(now)
	m.down = down
	if down {
		m.fail(now)
	}
}

// Schedule sets the outages of kind Blackhole to come, in place of those set before. They begin at start + At, in order of
// time and without overlap; other kinds are not a Machine's and an error.
func (m *Machine) Schedule(start int64, outages []Outage) error {
	var end time.Duration
	for i, o := range outages {
		switch {
		case o.Kind != Blackhole:
			return fmt.Errorf("outage %d: %q is not something a link does by itself", i+1, o.Kind)
		case o.At < end || o.For <= 0:
			return fmt.Errorf("outage %d from %s for %s: outages follow each other, and each lasts", i+1, o.At, o.For)
		}
		end = o.At + o.For
	}
	m.outages, m.start, m.out = slices.Clone(outages), start, false
	return nil
}

// advance carries out what the schedule says until now.
func (m *Machine) advance(now int64) {
	for len(m.outages) > 0 {
		begin := m.start + int64(m.outages[0].At)
		if now < begin {
			return
		}
		if !m.out {
			m.out = true
			m.fail(begin)
		}
		if now < begin+int64(m.outages[0].For) {
			return
		}
		m.out = false
		m.outages = m.outages[1:]
	}
}

// fail loses everything that has not arrived by a time.
func (m *Machine) fail(at int64) {
	m.flight.drop(at, func(p packet) {
		if !p.copy {
			m.c.InFlight.remove(len(p.data))
			m.c.Outage.add(len(p.data))
		}
	})
	if m.idle > at {
		m.c.AirTime -= time.Duration(m.idle - at)
		m.idle = at
	}
	m.last = 0
	clear(m.flows)
}
