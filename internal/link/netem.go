package link

import (
	"math"
	"math/rand/v2"
	"time"
)

// netem is the part of a Machine that works as Linux's sch_netem does (net/sched/sch_netem.c: netem_enqueue, tabledist,
// get_crandom), including what is surprising about it.
type netem struct {
	delays, losses crandom
	table          []float64 // of the distribution; nil = uniform
}

// tableSize is the number of entries in the tables of iproute2, tableLimit the largest of them: 16 bits in units of 1/8192.
const (
	tableSize  = 4096
	tableLimit = math.MaxInt16 / 8192.0
)

func newNetem(p Params, seed uint64) *netem {
	n := &netem{
		delays: newCrandom(sequence(seed, "ndelay"), p.Correlation),
		losses: newCrandom(sequence(seed, "nloss"), p.LossCorrelation),
	}
	if p.uniform() {
		return n
	}
	n.table = make([]float64, tableSize)
	for i := range n.table {
		n.table[i] = tableEntry(p.Distribution, (float64(i)+0.5)/tableSize)
	}
	return n
}

// tableEntry returns a quantile as iproute2's tables have it: their Pareto distribution is one of shape 3, less 1.5, times 4/3, cut
// at 4, so that its mean lies below 0 and its deviation is 0.82; paretonormal adds quantiles as ours, without scaling.
func tableEntry(d Distribution, share float64) float64 {
	normal := math.Sqrt2 * math.Erfinv(2*share-1)
	pareto := min((1/math.Cbrt(1-share)-1.5)*4/3, tableLimit)
	x := normal
	switch d {
	case Pareto:
		x = pareto
	case ParetoNormal:
		x = 0.25*normal + 0.75*pareto
	}
	return max(-4, min(x, tableLimit))
}

// crandom is get_crandom of the kernel: a new number averaged with the last one. Averages crowd around the middle, which is why a
// correlation makes rare events rarer.
type crandom struct {
	chance *rand.Rand
	rho    uint64 // of 1<<32; 0 = none
	last   uint32
}

func newCrandom(chance *rand.Rand, correlation float64) crandom {
	c := crandom{chance: chance, last: chance.Uint32()}
	if correlation > 0 {
		c.rho = uint64(correlation*math.MaxUint32) + 1
	}
	return c
}

func (c *crandom) next() uint32 {
	value := c.chance.Uint32()
	if c.rho == 0 {
		return value
	}
	c.last = uint32((uint64(value)*(1<<32-c.rho) + uint64(c.last)*c.rho) >> 32)
	return c.last
}

// delay is tabledist of the kernel. That the number is taken modulo the range undoes most of its correlation.
func (n *netem) delay(p *Params) int64 {
	jitter := int64(p.Jitter)
	if jitter == 0 {
		return int64(p.Delay)
	}
	r := n.delays.next()
	if n.table == nil {
		return int64(r%(2*uint32(jitter))) + int64(p.Delay) - jitter
	}
	return int64(n.table[r%tableSize]*float64(jitter)) + int64(p.Delay)
}

// pushNetem does what netem_enqueue does: a packet that is lost and duplicated at once is one packet; the delay of a packet runs
// while those before it wait for the rate.
func (m *Machine) pushNetem(now int64, data []byte) Verdict {
	copies := 1
	if m.duplicated() {
		copies++
	}
	if m.netemLoses() {
		copies--
	}
	if copies == 0 {
		m.c.Lost.add(len(data))
		return LostOnAir
	}
	verdict := QueueFull
	for i := range copies {
		if len(m.flight.heap) >= m.limit {
			break
		}
		m.send(m.netemTime(now, len(data)), data, i > 0)
		verdict = Accepted
	}
	if verdict == QueueFull {
		m.c.QueueDropped.add(len(data))
	}
	return verdict
}

func (m *Machine) netemLoses() bool {
	if m.p.LossCorrelation == 0 {
		return m.losses.next()
	}
	return m.p.Loss > 0 && uint32(m.p.Loss*math.MaxUint32) >= m.netem.losses.next()
}

// netemTime returns when a packet is sent on.
func (m *Machine) netemTime(now int64, size int) int64 {
	delay := m.netem.delay(&m.p)
	if m.p.Rate > 0 {
		if len(m.flight.heap) > 0 && m.last > now {
			m.waited(m.last - now)
			delay = max(0, delay-(m.last-now))
			now = m.last
		}
		air := int64(m.p.AirTime(size))
		m.c.AirTime += time.Duration(air)
		delay += air
		m.idle = now + delay
	}
	at := now + max(0, delay)
	m.last = max(m.last, at)
	return at
}
