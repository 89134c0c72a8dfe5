// Package worker carries out a share of a trial: it connects, waits for the start, generates load, and tells what became of every
// message. Who does it (this process, a child, another machine) is behind one small interface.
package worker

import (
	"context"
	"io"
	"time"

	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/monitor"
	"github.com/mqlab/mqlab/internal/plan"
)

// Worker carries out one share. Its methods are called once each, in this order; Close, which frees everything, at any time.
type Worker interface {
	// Prepare connects everything and returns once every connection is ready and every subscription confirmed.
	Prepare(ctx context.Context) error
	// Begin tells the schedule, which starts at the given monotonic time. Every worker of a trial must have begun before any
	// measures: a message must not come to one that does not know the schedule.
	Begin(ctx context.Context, start int64) error
	// Measure follows the schedule and returns after the drain and the goodbye. When ctx is done it stops early and returns
	// what was measured so far, together with the cause.
	Measure(ctx context.Context) (*Result, error)
	io.Closer
}

// Team is what a worker asks of those with which it carries out a trial.
type Team interface {
	// Drained is told how far this worker is, and tells whether all that was offered has been sent, answered and delivered,
	// by all workers together. It does not block.
	Drained(own engine.Progress) bool
	// Closed tells that the books of this worker are closed, and returns when those of all are, or ctx is done.
	Closed(ctx context.Context)
}

// Share is a part of a trial, as one worker gets it. It has a JSON form, without secrets, for workers elsewhere.
type Share struct {
	Run   uint32     `json:"run"`
	Trial plan.Trial `json:"trial"`
	URL   string     `json:"url"`
	// SubscribeURL is where subscribers connect; empty = where publishers do.
	SubscribeURL string `json:"subscribe_url,omitempty"`
	// Others are further brokers, not joined to the first: pair n belongs to the (n modulo their number)-th of all.
	Others      []Address `json:"others,omitempty"`
	Publishers  Span      `json:"publishers"`
	Subscribers Span      `json:"subscribers"`
	// Of is how many processes of this host share the trial; 0 = this one alone. Event loops, and how fast and how many at
	// once connections are made, are dealt out among them.
	Of int `json:"of,omitempty"`
	// Nth tells which of them this one is, from 0.
	Nth int `json:"nth,omitempty"`
	// Cores is how many cores these processes have to themselves; 0 = they share all with the broker.
	Cores int `json:"cores,omitempty"`
}

// Address is where one broker is.
type Address struct {
	URL          string `json:"url"`
	SubscribeURL string `json:"subscribe_url,omitempty"` // as that of a Share
}

// Span is a range of numbers [From, To).
type Span = plan.Span

// Whole returns the share that is the whole trial.
func Whole(run uint32, t plan.Trial, url string) Share {
	return Share{
		Run: run, Trial: t, URL: url,
		Publishers: Span{From: 0, To: t.Params.Publishers}, Subscribers: Span{From: 0, To: t.Params.Subscribers},
	}
}

// Sink takes what a worker reports while it runs. Its functions must not block and may be called from several goroutines.
type Sink struct {
	Window func(*ledger.Window)
	Event  func(engine.Event)
	// Samples returns a Sampler for one more thread of the worker; nil = samples are not wanted.
	Samples func() Sampler
	Team    Team // nil = the worker carries out the trial alone
	// Leaving is called twice when all is booked: right before and right after connections are asked for their totals, and before they
	// say goodbye; nil = nobody waits for it.
	Leaving func()
}

// Sampler keeps a fact about each message. It must not block. Flush is called once per window.
type Sampler interface {
	Record(*engine.Sample)
	Flush()
}

// Result is what a worker knows at the end.
type Result struct {
	Books       []engine.StreamBook
	Receipts    []Receipt
	Members     []uint64 // deliveries to each member of a shared subscription
	Connections engine.Connections
	Recovery    engine.Recovery // from outages
	TLS         *Handshakes     // nil = nothing was encrypted
	Stages      *Stages         // nil = they were not followed
	Measured    time.Duration   // how long the measure window really was
	Spun        time.Duration   // deliberate spinning within it
	Used        Usage           // by this process within it
	Ended       int64           // when the drain ended
	TCP         *Wire           // nil = the kernel could not be asked
	Facts       Facts
	Visits      *Visits // nil = none were wanted of this worker
}

// Stages are how far messages came on their way to the broker's TCP: at the end of the trial, and at that of the measure window (nil =
// it did not come).
type Stages struct {
	Final engine.Stages
	AtEnd *engine.Stages
}

// Wire is what the kernel counted on the connections of each side.
type Wire struct{ Publishers, Subscribers monitor.TCPTotals }

// Facts are how the worker did its work.
type Facts struct {
	Engine           string // loop, goroutine
	Loops            int
	Quantum          string
	Send             string // io_uring, write; of event loops
	SendWhy          string // why not io_uring
	Writes           string // message, batch
	KernelTimestamps bool
	Why              string   // why this engine was chosen
	Settings         []string // of the protocol, where the scenario does not say; key=value
}

// Receipt is what one subscriber received of one stream.
type Receipt struct {
	Subscriber int
	Stream     uint32
	Seen       *ledger.Tracker
}

// Settle compares what was offered with what was received, over all workers' results, and counts the deliveries that were
// expected, lost, and impossible because the message never left. Exactly: by sequence number.
func Settle(pattern string, results ...*Result) ledger.Counts {
	books := map[uint32]engine.StreamBook{}
	for _, r := range results {
		for _, b := range r.Books {
			books[b.Stream] = b
		}
	}
	var counts ledger.Counts
	shared := map[uint32][]*ledger.Tracker{}
	for _, r := range results {
		for _, receipt := range r.Receipts {
			if pattern == plan.PatternShared {
				shared[receipt.Stream] = append(shared[receipt.Stream], receipt.Seen)
				continue
			}
			b := books[receipt.Stream]
			settle(&counts, b, receipt.Seen.Missing(b.First, max(b.First, b.Sent)))
		}
	}
	for stream, seen := range shared {
		b := books[stream]
		settle(&counts, b, missingAll(seen, b.First, b.Sent))
	}
	return counts
}

func settle(c *ledger.Counts, b engine.StreamBook, lost uint64) {
	c.Expected += b.Offered()
	c.UndeliveredUnsent += b.Unsent()
	c.Lost += lost
}

// missingAll counts the numbers in [from, to) that none of seen received.
func missingAll(seen []*ledger.Tracker, from, to uint64) (n uint64) {
next:
	for seq := from; seq < to; seq++ {
		for _, t := range seen {
			if t.Received(seq) {
				continue next
			}
		}
		n++
	}
	return n
}
