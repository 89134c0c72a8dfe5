package engine

import (
	"errors"
	"fmt"
	"time"
)

// ErrClosed is the end of a connection that the broker closed without a word.
var ErrClosed = errors.New("the broker closed the connection")

// explainer is a session that knows why its broker closes connections without a word.
type explainer interface{ Explain(err error) error }

// drop ends the connection and dials again where that makes sense.
func (c *Core) drop(cl *client, now int64, err error) {
	if c.stopping {
		cl.state = down
		return
	}
	if err == nil {
		err = ErrClosed
	}
	if s, ok := cl.session.(explainer); ok {
		err = s.Explain(err)
	}
	switch cl.state {
	case ready:
		cl.making().lost = now
		c.noticed(cl, now)
		c.progress.Ready--
		c.conns.Lost++
		note(&c.conns.Failures, err.Error(), 1)
		c.event(now, "lost", cl, err.Error())
	default:
		c.conns.Failed++
		note(&c.conns.Failures, err.Error(), 1)
		c.event(now, "failed", cl, err.Error())
		if !cl.was && permanent(err) {
			c.fail(err)
		}
	}
	if cl.state != down {
		c.follow(cl)
		c.hangup(cl)
	}
	if cl.pub != nil {
		cl.pub.cutFlow()
	}
	cl.state, cl.full = down, true
	cl.forgetPend()
	if cl.watch != nil {
		cl.watch.dark, cl.watch.rest = nil, nil
	}
	c.schedule(cl)
	if c.progress.Err == nil && (c.Reconnect || !cl.was) {
		c.wire.Dial(int(cl.id), now+int64(c.backOff(cl)))
	} else if c.progress.Err == nil {
		c.fail(fmt.Errorf("connection lost, and reconnecting is off: %w", err))
	}
}

// The pauses before attempts to connect again.
const (
	leastPause = 100 * time.Millisecond
	mostPause  = 5 * time.Second
)

// backOff is the pause before the next attempt: the fixed one, or else one with "decorrelated jitter", drawn between the least pause
// and three times the last one (https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/), so that clients that were
// lost together do not come back together.
func (c *Core) backOff(cl *client) time.Duration {
	if c.Pause > 0 {
		return c.Pause
	}
	a := cl.making()
	most := 3 * max(a.pause, leastPause)
	a.pause = min(mostPause, leastPause+time.Duration(c.rng.Int64N(int64(most-leastPause))))
	return a.pause
}

// permanent tells whether trying again cannot help, because the peer or the configuration says no.
func permanent(err error) bool {
	var p interface{ Temporary() bool }
	return !errors.As(err, &p) || !p.Temporary()
}

// Stopping tells that Goodbye was said: what is hung up is not broken.
func (c *Core) Stopping() bool { return c.stopping }
