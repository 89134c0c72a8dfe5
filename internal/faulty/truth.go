package faulty

import (
	"math"
	"slices"
)

// Account is what a Broker did to counted deliveries, and what an honest subscriber must have seen of them.
type Account struct {
	Routed    uint64 // deliveries that the published messages should cause
	Lost      uint64 // not forwarded, as planned
	Dropped   uint64 // not forwarded: too many were waiting, the subscriber was gone or refuses their size
	Deferred  uint64 // kept back for others to overtake
	Forwarded uint64 // sent to a subscriber, repetitions and damaged ones included
	Corrupted uint64 // … with one bit wrong
	Foreign   uint64 // messages of another run, sent besides

	Distinct   uint64 // different messages that were sent undamaged at least once
	Duplicates uint64 // undamaged ones that had been sent undamaged before
	Reordered  uint64 // distinct ones that were sent after a later message of their stream
	MaxReorder uint64 // largest distance, in sequence numbers, of a reordered one
}

// Missing is how many deliveries were never sent undamaged.
func (a *Account) Missing() uint64 { return a.Routed - a.Distinct }

func (a *Account) add(o *Account) {
	a.Routed += o.Routed
	a.Lost += o.Lost
	a.Dropped += o.Dropped
	a.Deferred += o.Deferred
	a.Forwarded += o.Forwarded
	a.Corrupted += o.Corrupted
	a.Foreign += o.Foreign
	a.Distinct += o.Distinct
	a.Duplicates += o.Duplicates
	a.Reordered += o.Reordered
	a.MaxReorder = max(a.MaxReorder, o.MaxReorder)
}

// account keeps an Account by the simplest means there are: every number that was sent is remembered.
type account struct {
	Account
	sent    map[uint64]bool
	highest uint64
}

func (a *account) forwarded(d *delivery) {
	seq := d.stamp.Seq
	switch {
	case d.foreign:
		a.Foreign++
		return
	case d.damaged:
		a.Forwarded++
		a.Corrupted++
		return
	}
	a.Forwarded++
	if a.sent[seq] {
		a.Duplicates++
		return
	}
	if a.sent == nil {
		a.sent = map[uint64]bool{}
	}
	a.sent[seq] = true
	a.Distinct++
	if a.Distinct > 1 && seq < a.highest {
		a.Reordered++
		a.MaxReorder = max(a.MaxReorder, a.highest-seq)
	}
	a.highest = max(a.highest, seq)
}

// Truth is what a Broker really did, as far as it concerns messages due in the measure window.
type Truth struct {
	Total   Account
	Streams map[uint32]Account // over all subscribers
	// Delays are those of the routed deliveries, in ascending order: from the arrival of the message until the delivery
	// was due to be forwarded, in ns. Stalls and deferrals are not in it.
	Delays []int64
	// Confirmed is when the last subscription was confirmed; FirstPublished when the first message arrived, of any phase.
	// math.MaxInt64 = none did.
	Confirmed, FirstPublished int64

	published uint64 // of any phase
}

func (t *Truth) came(now int64) {
	if t.published == 0 {
		t.FirstPublished = now
	}
	t.published++
}

// Truth returns what was done so far.
func (b *Broker) Truth() Truth {
	t := b.truth
	t.Streams = map[uint32]Account{}
	for key, l := range b.lanes {
		sum := t.Streams[key.stream]
		sum.add(&l.account.Account)
		t.Streams[key.stream] = sum
		t.Total.add(&l.account.Account)
	}
	t.Delays = slices.Sorted(slices.Values(t.Delays))
	if t.published == 0 {
		t.FirstPublished = math.MaxInt64
	}
	return t
}

// Idle tells that nothing is on its way through the broker.
func (b *Broker) Idle(now int64) bool {
	if _, stalled := b.stalled(now); stalled || len(b.waiting) > 0 || len(b.held) > 0 {
		return false
	}
	return !slices.ContainsFunc(b.order, func(c *conn) bool { return len(c.queue) > 0 || len(c.kept) > 0 })
}

// Published is how many messages of any kind have come, of any phase.
func (b *Broker) Published() uint64 { return b.truth.published }

// Sent is how many messages of any kind, counted or not, were sent to subscribers.
func (b *Broker) Sent() uint64 { return b.sent }
