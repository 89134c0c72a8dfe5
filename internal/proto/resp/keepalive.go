package resp

import (
	"fmt"
	"math"
	"time"
)

// maxUnanswered is how many keep-alive PINGs may be under way before the peer counts as gone.
const maxUnanswered = 2

// keepAlive decides when to send a PING. Whatever the peer sends is a sign of life: the answer may have to queue behind
// many messages.
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
		return false, fmt.Errorf("redis: no answer to PING and nothing else received for %v", maxUnanswered*every)
	}
	return false, nil
}
