package ledger

import (
	"slices"
	"sort"
)

// maxHoles is how many holes one Tracker keeps open. It bounds its memory to 16 bytes times this.
const maxHoles = 1 << 16

// maxSeq keeps next from wrapping around.
const maxSeq = 1 << 63

// Outcome says what a received sequence number means for its stream.
type Outcome uint8

// What Record can find.
const (
	New       Outcome = iota // first receipt, higher than everything before
	Reordered                // first receipt, but a higher one came before
	Duplicate                // received before
	Overflow                 // not recorded: too many holes, or an impossible number; the counts are no longer exact
)

var outcomes = [...]string{"new", "reordered", "duplicate", "overflow"}

// String returns the outcome in one word.
func (o Outcome) String() string {
	if int(o) < len(outcomes) {
		return outcomes[o]
	}
	return "unknown"
}

// Tracker follows the sequence numbers, from 0, of one stream at one subscriber. It is exact: what it has not seen below
// the highest number is a list of holes. The zero value is ready.
type Tracker struct {
	next  uint64 // 1 + highest seen
	holes []hole // ascending, never touching each other, never empty, all below next
}

// hole is a range of sequence numbers [from, to) that were not received.
type hole struct{ from, to uint64 }

// Record notes the receipt of seq and says what it means. The distance of a Reordered one is the highest number seen minus
// seq; of every other outcome it is 0.
func (t *Tracker) Record(seq uint64) (o Outcome, distance uint64) {
	if seq != t.next {
		return t.recordOther(seq)
	}
	t.next = seq + 1
	return New, 0
}

// RecordRun is Record of the n numbers from Next on. It tells whether they are New; if they are not, nothing is noted.
func (t *Tracker) RecordRun(n uint64) bool {
	if n > maxSeq-t.next {
		return false
	}
	t.next += n
	return true
}

func (t *Tracker) recordOther(seq uint64) (Outcome, uint64) {
	if seq > t.next {
		if seq >= maxSeq || len(t.holes) >= maxHoles {
			return Overflow, 0
		}
		t.holes = append(t.holes, hole{t.next, seq})
		t.next = seq + 1
		return New, 0
	}
	i := t.search(seq)
	if i == len(t.holes) || seq < t.holes[i].from {
		return Duplicate, 0
	}
	h := &t.holes[i]
	switch {
	case h.to-h.from == 1:
		t.holes = slices.Delete(t.holes, i, i+1)
	case seq == h.from:
		h.from++
	case seq == h.to-1:
		h.to--
	case len(t.holes) >= maxHoles:
		return Overflow, 0
	default:
		upper := hole{seq + 1, h.to}
		h.to = seq
		t.holes = slices.Insert(t.holes, i+1, upper)
	}
	return Reordered, t.next - 1 - seq
}

// search returns the index of the first hole that ends above seq.
func (t *Tracker) search(seq uint64) int {
	return sort.Search(len(t.holes), func(i int) bool { return t.holes[i].to > seq })
}

// Missing returns how many numbers in [from, to) were never received.
func (t *Tracker) Missing(from, to uint64) uint64 {
	if from >= to {
		return 0
	}
	var n uint64
	for i := t.search(from); i < len(t.holes) && t.holes[i].from < to; i++ {
		n += min(t.holes[i].to, to) - max(t.holes[i].from, from)
	}
	if to > t.next {
		n += to - max(from, t.next)
	}
	return n
}

// Received reports whether seq was received.
func (t *Tracker) Received(seq uint64) bool {
	if seq >= t.next {
		return false
	}
	i := t.search(seq)
	return i == len(t.holes) || seq < t.holes[i].from
}

// Next returns 1 + the highest number received, 0 if there is none.
func (t *Tracker) Next() uint64 { return t.next }
