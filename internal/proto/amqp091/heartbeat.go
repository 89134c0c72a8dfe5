package amqp091

import (
	"fmt"
	"math"
	"time"
)

// heartbeat keeps a connection alive and notices when the peer is gone (§4.2.7). Every frame counts as a sign of life.
// The connection is looked at twice per interval.
type heartbeat struct {
	next   int64  // when something is due
	every  uint16 // seconds; 0 = none
	silent uint8  // half intervals that passed without a byte from the peer
	heard  bool
	wrote  bool
}

// missed is after how many silent intervals the peer counts as gone.
const missed = 2

func (h *heartbeat) start(now int64, every uint16) {
	*h = heartbeat{next: math.MaxInt64, every: every}
	if every > 0 {
		h.next = now + h.half()
	}
}

func (h *heartbeat) half() int64 { return int64(h.every) * int64(time.Second) / 2 }

// tick appends a heartbeat if one is due.
func (h *heartbeat) tick(now int64, out []byte) (int64, []byte, error) {
	if h.every == 0 || now < h.next {
		return h.next, out, nil
	}
	h.next = now + h.half()
	h.silent++
	if h.heard {
		h.silent = 0
	}
	if h.silent >= 2*missed {
		return h.next, out, fmt.Errorf("amqp091: nothing received for %d heartbeats of %d s", missed, h.every)
	}
	if !h.wrote {
		out = appendHeartbeat(out)
	}
	h.heard, h.wrote = false, false
	return h.next, out, nil
}

// seconds rounds up, so that a short time does not become "never".
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }
