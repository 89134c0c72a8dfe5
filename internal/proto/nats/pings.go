package nats

import (
	"fmt"
	"math"
	"time"
)

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

// maxUnanswered is how many keep-alive PINGs may be under way before the peer counts as gone.
const maxUnanswered = 2

// keepAlive decides when to send a PING. Whatever the peer sends is a sign of life: a PONG may have to queue behind many
// messages.
type keepAlive struct {
	next       int64 // when something is due
	unanswered uint8
	silent     uint8 // intervals that passed without a byte from the peer
	heard      bool
}

func (k *keepAlive) start(now int64, every time.Duration) {
	*k = keepAlive{next: math.MaxInt64}
	if every > 0 {
		k.next = now + int64(every)
	}
}

// tick reports whether a PING is due now.
func (k *keepAlive) tick(now int64, every time.Duration) (send bool, err error) {
	if now < k.next {
		return false, nil
	}
	k.next = now + int64(every)
	k.silent++
	if k.heard {
		k.heard, k.silent = false, 0
	}
	if k.unanswered < maxUnanswered {
		k.unanswered++
		return true, nil
	}
	if k.silent >= maxUnanswered {
		return false, fmt.Errorf("nats: no answer to PING and nothing else received for %v", maxUnanswered*every)
	}
	return false, nil
}
