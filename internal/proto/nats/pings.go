package nats

// cause says why a PING was sent, and so what its PONG means.
type cause uint8

const (
	toConnect cause = iota
	toSubscribe
	toBarrier
	toKeepAlive
)

type ping struct {
	token uint64
	cause cause
}

// pings are the unanswered PINGs, oldest first. A server answers in order.
type pings struct {
	queue []ping
	first uint32 // index of the oldest
}

func (p *pings) push(g ping) {
	if len(p.queue) == cap(p.queue) && int(p.first) > len(p.queue)/2 {
		p.queue = p.queue[:copy(p.queue, p.queue[p.first:])]
		p.first = 0
	}
	p.queue = append(p.queue, g)
}

func (p *pings) empty() bool { return int(p.first) == len(p.queue) }

// oldest must not be asked when there is none.
func (p *pings) oldest() ping { return p.queue[p.first] }

func (p *pings) pop() {
	p.first++
	if p.empty() {
		p.reset()
	}
}

// reset forgets all; an idle connection shall be small.
func (p *pings) reset() {
	p.first = 0
	p.queue = p.queue[:0]
	if cap(p.queue) > 4 {
		p.queue = nil
	}
}
