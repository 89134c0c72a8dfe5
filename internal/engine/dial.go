package engine

import (
	"net"
	"time"
)

// Dialled is a connection and how long its parts took.
type Dialled struct {
	Conn net.Conn
	TCP  time.Duration
	TLS  time.Duration // 0 = none
}

// Dialer makes connections in the background.
type Dialer interface {
	// Dial connects no sooner than at. It calls began when the attempt starts and done when it has ended, both from a
	// goroutine of its own.
	Dial(at int64, began func(now int64), done func(Dialled, error))
}

// ReadPace limits how fast a connection reads: a subscriber that is slow on purpose.
type ReadPace struct {
	PerSecond float64
	from      int64
	taken     float64
}

// burstSeconds is how much unused allowance is kept.
const burstSeconds = 0.05

// Allow returns how many bytes may be read now.
func (p *ReadPace) Allow(now int64) int {
	if p.from == 0 {
		p.from = now
	}
	allowed := float64(now-p.from) / 1e9 * p.PerSecond
	if spare := allowed - p.taken - burstSeconds*p.PerSecond; spare > 0 {
		p.taken += spare
	}
	return max(int(allowed-p.taken), 0)
}

// Took says that n bytes were read.
func (p *ReadPace) Took(n int) { p.taken += float64(n) }

// Next returns when reading is worth while again: when a fiftieth of a second's bytes may be read.
func (p *ReadPace) Next(now int64) int64 {
	if p.Allow(now) > 0 && float64(now-p.from)/1e9*p.PerSecond-p.taken >= p.PerSecond/50 {
		return now
	}
	return p.from + int64((p.taken/p.PerSecond+1.0/50)*1e9) + 1
}
