package amqp10

import (
	"fmt"
	"math"
	"time"
)

// idle keeps a connection alive and notices when the peer is gone (§2.4.5). Every byte counts as a sign of life.
type idle struct {
	sendAt, lookAt       int64  // when something is due
	sendEvery, lookEvery uint32 // ms; 0 = never
	silent               uint8  // looks that found nothing received
	heard, wrote         bool
}

// missed is after how many idle times of ours, without a byte, the peer counts as gone: what one announces shall be half
// of what one tolerates.
const missed = 2

// start begins with idle times in milliseconds, as announced by us and by the peer; 0 = none. An empty frame is due when
// nothing was sent for a third of the peer's time, hence at the latest after two thirds.
func (h *idle) start(now int64, ours, theirs uint32) {
	*h = idle{sendAt: math.MaxInt64, lookAt: math.MaxInt64, lookEvery: (ours + 1) / 2, sendEvery: (theirs + 2) / 3}
	if ours > 0 {
		h.lookAt = now + millis(h.lookEvery)
	}
	if theirs > 0 {
		h.sendAt = now + millis(h.sendEvery)
	}
}

func millis(ms uint32) int64 { return int64(ms) * int64(time.Millisecond) }

// tick appends an empty frame if one is due.
func (h *idle) tick(now int64, out []byte) (int64, []byte, error) {
	if now >= h.lookAt {
		h.lookAt = now + millis(h.lookEvery)
		h.silent++
		if h.heard {
			h.silent = 0
		}
		h.heard = false
	}
	if now >= h.sendAt {
		h.sendAt = now + millis(h.sendEvery)
		if !h.wrote {
			out = appendEmptyFrame(out)
		}
		h.wrote = false
	}
	var err error
	if h.silent >= 2*missed {
		quiet := time.Duration(millis(h.lookEvery)) * 2 * missed
		err = fmt.Errorf("amqp10: nothing received for %v, twice the idle-time-out", quiet)
	}
	return min(h.sendAt, h.lookAt), out, err
}
