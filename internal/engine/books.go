package engine

import "github.com/mqlab/mqlab/internal/ledger"

// StreamBook is what the sending side knows of one stream at the end: its measured sequence numbers are First … End-1, and
// those from Sent on never left.
type StreamBook struct {
	Stream uint32 `json:"stream"`
	First  uint64 `json:"first"`
	Sent   uint64 `json:"sent"`
	End    uint64 `json:"end"`
}

// Offered is how many messages were due in the measure window.
func (b StreamBook) Offered() uint64 { return b.End - b.First }

// Unsent is how many of them never left.
func (b StreamBook) Unsent() uint64 { return b.End - max(b.First, b.Sent) }

// CloseBooks ends the drain: what arrives from now on is late. It emits the last windows and, in windows of phase "close", what was
// left over, and returns the streams' books. Closed before the end of the measure window, it ends that window: later
// messages were never offered.
func (c *Core) CloseBooks(now int64) []StreamBook {
	c.followed = min(c.followed, now-sampleEvery)
	c.followAll(now)
	c.rotate(now)
	c.closed = true
	c.end = max(min(c.end, now), c.measure)
	var books []StreamBook
	var left ledger.Counts
	for cl := range c.all() {
		if cl.watch != nil {
			c.caughtUp(cl)
		}
		if cl.pub == nil {
			continue
		}
		book, offered := cl.pub.close(c.start, c.measure, c.end)
		books = append(books, book)
		left.Offered += offered
		left.Unsent += book.Unsent()
		left.Unconfirmed += cl.pub.unconfirmed(c.measure)
	}
	c.pubs.cut(now, c.Emit)
	c.subs.cut(now, c.Emit)
	c.pubs.window().Phase, c.subs.window().Phase = "close", "close"
	c.pubs.window().Counts.Add(&left)
	return books
}

// Flush emits the windows of phase "close", late arrivals included. It is the last thing to be asked of a Core.
func (c *Core) Flush(now int64) {
	c.pubs.cut(now, c.Emit)
	c.subs.cut(now, c.Emit)
}

// close walks the rest of the schedule: offered are the measured messages that were never even handed over.
func (p *publisher) close(start, measure, limit int64) (book StreamBook, offered uint64) {
	first, end := p.first, p.seq
	count := func(due int64) {
		if due < measure {
			first = end + 1
		}
		end++
	}
	for ; p.backlog > 0; p.backlog-- {
		count(p.back.due)
		p.back.step(start)
	}
	for p.began && !p.Closed && p.hand.more && p.hand.due < limit {
		if p.hand.due >= measure {
			offered++
		}
		count(p.hand.due)
		p.hand.step(start)
	}
	p.done = true
	return StreamBook{Stream: p.Stream, First: first, Sent: p.seq, End: max(first, end)}, offered
}
