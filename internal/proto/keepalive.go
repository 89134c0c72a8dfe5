package proto

import (
	"fmt"
	"math"
	"time"
)

// maxUnanswered is how many keep-alive PINGs may be under way before the peer counts as gone.
const maxUnanswered = 2

// KeepAlive decides when to send a PING, in protocols that have one. Whatever the peer sends is a sign of life: the answer may
// have to queue behind many messages.
type KeepAlive struct {
	next       int64 // when something is due
	unanswered uint8
	silent     uint8 // intervals that passed without a byte from the peer
	heard      bool
}

// Start begins at now; no PING is ever due if every is 0.
func (k *KeepAlive) Start(now int64, every time.Duration) {
	*k = KeepAlive{next: math.MaxInt64}
	if every > 0 {
		k.next = now + int64(every)
	}
}

// Heard notes that bytes came.
func (k *KeepAlive) Heard() { k.heard = true }

// Answered notes the answer to a PING.
func (k *KeepAlive) Answered() { k.unanswered-- }

// Tick reports whether a PING is to be sent at now, and when to call it next. The error, which has no name of a protocol, says that
// the peer is gone.
func (k *KeepAlive) Tick(now int64, every time.Duration) (next int64, send bool, err error) {
	if now < k.next {
		return k.next, false, nil
	}
	k.next = now + int64(every)
	k.silent++
	if k.heard {
		k.heard, k.silent = false, 0
	}
	switch {
	case k.unanswered < maxUnanswered:
		k.unanswered++
		send = true
	case k.silent >= maxUnanswered:
		err = fmt.Errorf("no answer to PING and nothing else received for %v", maxUnanswered*every)
	}
	return k.next, send, err
}
