package zenoh

import (
	"fmt"
	"math"
	"time"
)

// LeaseParts is how often within a lease a sign of life is sent: Zenoh's default.
const LeaseParts = 4

// alive decides when to send a KeepAlive, and when the peer counts as gone: when nothing came from it for the lease that
// it announced.
type alive struct {
	next  int64 // when something is due
	since int64 // when the peer was known to live
	heard bool
	sent  bool          // something since the last time
	lease time.Duration // of the peer
}

// wait has nothing to do until start.
func (a *alive) wait() { *a = alive{next: math.MaxInt64} }

func (a *alive) start(now int64, every, lease time.Duration) {
	*a = alive{next: now + int64(every), since: now, lease: lease}
}

// tick reports whether a KeepAlive is due now.
func (a *alive) tick(now int64, every time.Duration) (send bool, err error) {
	if now < a.next {
		return false, nil
	}
	a.next = now + int64(every)
	if a.heard {
		a.heard, a.since = false, now
	}
	if now-a.since > int64(a.lease) {
		return false, fmt.Errorf("zenoh: nothing received from the peer within its lease of %v", a.lease)
	}
	send, a.sent = !a.sent, false
	return send, nil
}

// appendKeepAlive appends a batch of its own.
func appendKeepAlive(out []byte) []byte { return append(out, 1, 0, idKeepAlive) }
