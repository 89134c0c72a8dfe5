package engine

import (
	"errors"

	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/stamp"
)

// deliver books a received message.
func (c *Core) deliver(cl *client, payload []byte, now, kernel int64) {
	s, sub := &c.st, cl.sub
	err := stamp.Decode(payload, s)
	if err != nil || sub == nil || sub.FirstLeg || s.Run != c.Run || s.Stream-sub.FirstStream >= uint32(len(sub.Trackers)) {
		c.other(cl, now, kernel, err)
		return
	}
	if !c.Payload.same(payload) && !c.Payload.intact(payload, s) {
		c.corrupt(cl, now, kernel)
		return
	}
	w, stream := c.subs.window(), s.Stream-sub.FirstStream
	measured := s.Due >= c.measure && s.Due < c.end
	if c.closed {
		if measured && !sub.Trackers[stream].Received(s.Seq) {
			w.Counts.Late++
		}
		return
	}
	if c.Sample != nil {
		c.sample(cl, SampleReceived, now, kernel)
	}
	outcome, distance := sub.Trackers[stream].Record(s.Seq)
	if outcome == ledger.New && kernel == 0 && cl.watch == nil && c.burst.takes(s) {
		return
	}
	w.InWindow.Received++
	if outcome == ledger.New || outcome == ledger.Reordered {
		w.InWindow.Delivered++
		if cl.watch != nil {
			c.after(cl, stream, now)
		}
		if measured {
			sub.delivered++
		}
	}
	if measured {
		c.book(w, sub, outcome, distance, now, kernel)
	}
}

// other books what is none of the messages that are measured here, or so damaged that nobody knows; err is what its stamp is.
func (c *Core) other(cl *client, now, kernel int64, err error) {
	if err != nil {
		c.st = stamp.Stamp{} // unknown
	}
	switch {
	case cl.sub != nil && cl.sub.FirstLeg:
		c.passed(cl, now, err)
	case err != nil && cl.sub != nil && !errors.Is(err, stamp.ErrNone):
		c.corrupt(cl, now, kernel)
	default:
		c.subs.window().Counts.Foreign++
		c.sample(cl, SampleForeign, now, kernel)
	}
}

// passed notes when a message came to the near end of a bridge; err says that it is none of ours, or damaged.
func (c *Core) passed(cl *client, now int64, err error) {
	s := &c.st
	stream := s.Stream - cl.sub.FirstStream
	if err != nil || c.closed || s.Run != c.Run || stream >= uint32(len(cl.sub.Trackers)) {
		return
	}
	outcome, _ := cl.sub.Trackers[stream].Record(s.Seq)
	first := outcome == ledger.New || outcome == ledger.Reordered
	if first && s.Due >= c.measure && s.Due < c.end && now >= s.Sent {
		c.subs.record(ledger.FirstLeg, now-s.Due)
	}
}

// book counts a measured message and its latencies.
func (c *Core) book(w *ledger.Window, sub *SubscribeSpec, outcome ledger.Outcome, distance uint64, now, kernel int64) {
	s := &c.st
	w.Counts.Received++
	switch outcome {
	case ledger.Duplicate:
		w.Counts.Duplicates++
		return
	case ledger.Overflow:
		w.Counts.Overflow++
		return
	case ledger.Reordered:
		w.Counts.Reordered++
		w.Counts.MaxReorder = max(w.Counts.MaxReorder, distance)
	}
	w.Counts.Delivered++
	c.progress.Delivered++
	if now >= c.end {
		w.Counts.Drained++
	}
	if now < s.Sent {
		w.Counts.ClockSkew++
		return
	}
	if b := &c.burst; b.n == 0 || s.Due != b.due || s.Sent != b.sent {
		c.recordBurst(now)
		*b = burst{due: s.Due, sent: s.Sent, sub: sub}
	}
	c.burst.n++
	if kernel > 0 && kernel >= s.Sent && kernel <= now {
		c.subs.record(ledger.Kernel, kernel-s.Sent)
		c.subs.record(ledger.Client, now-kernel)
	}
}

// burst are messages of one read that were due and sent together, and so have the same latencies.
type burst struct {
	due, sent, n int64
	more         uint64 // how many of them are new, and not counted yet
	sub          *SubscribeSpec
}

// takes counts a new message if it belongs to the burst: so much is the same for all that nothing else need be looked at.
func (b *burst) takes(s *stamp.Stamp) bool {
	if b.n == 0 || s.Due != b.due || s.Sent != b.sent {
		return false
	}
	b.n++
	b.more++
	return true
}

// deliverRun books those at the start of in behind the message there, which was booked last, that are of its burst and follow
// it in order, and returns how many bytes they are. All of them are new, sent and due with it, so that counting them is
// enough. The last in a read is not for here: its time of arrival is known.
func (c *Core) deliverRun(cl *client, in []byte, like *alike) int {
	b, s, size := &c.burst, &c.st, like.size
	if b.n == 0 || s.Run != c.Run || s.Due != b.due || s.Sent != b.sent || len(in) < 3*size || cl.watch != nil || c.Sample != nil {
		return 0
	}
	at := s.Stream - cl.sub.FirstStream
	if at >= uint32(len(cl.sub.Trackers)) || cl.sub.Trackers[at].Next() != s.Seq+1 {
		return 0
	}
	if !like.stamped(&c.Payload) || !c.Payload.same(in[len(like.head):size-len(like.trailer)]) {
		return 0
	}
	n := stamp.Run(in[:size], len(like.head), in[size:len(in)-1])
	if n == 0 || !cl.sub.Trackers[at].RecordRun(uint64(n)) {
		return 0
	}
	b.n += int64(n)
	b.more += uint64(n)
	return n * size
}

// recordBurst books what was read at now and has not been booked.
func (c *Core) recordBurst(now int64) {
	b := &c.burst
	if b.n == 0 {
		return
	}
	c.subs.recordN(ledger.Response, now-b.due, b.n)
	c.subs.recordN(ledger.Service, now-b.sent, b.n)
	w := c.subs.window()
	w.InWindow.Received += b.more
	w.InWindow.Delivered += b.more
	w.Counts.Received += b.more
	w.Counts.Delivered += b.more
	b.sub.delivered += b.more
	c.progress.Delivered += b.more
	if now >= c.end {
		w.Counts.Drained += b.more
	}
	*b = burst{}
}

func (c *Core) corrupt(cl *client, now, kernel int64) {
	c.subs.window().Counts.Corrupt++
	c.sample(cl, SampleCorrupt, now, kernel)
}

func (c *Core) sample(cl *client, kind SampleKind, now, kernel int64) {
	if c.Sample == nil {
		return
	}
	s := &c.st
	c.Sample(&Sample{
		Kind: kind, Stream: s.Stream, Client: cl.number, Seq: s.Seq, Due: s.Due, Sent: s.Sent, Received: now, Kernel: kernel,
	})
}
