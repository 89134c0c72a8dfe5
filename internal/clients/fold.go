package clients

import (
	"fmt"
	"slices"
	"time"

	"github.com/mqlab/mqlab/internal/agent"
	"github.com/mqlab/mqlab/internal/ktrace"
	"github.com/mqlab/mqlab/internal/stat"
)

// batch is messages that were sent in one go: the numbers [first, first+len(sent)).
type batch struct {
	round  int
	first  uint32
	sent   []int64 // when the writing of each began; absent in a drain
	number int     // of messages
	thawed int64   // of a drain: when the client went on
}

// taken is what one client was sent and recorded.
type taken struct {
	lone, drains []batch
	messages     int
	counted      int       // messages of drains whose usage is known
	cpu          []float64 // per message of each drain whose usage is known
	samples      *agent.Samples
	done         *agent.Done
	single       agent.Usage // used while single messages came
	draining     agent.Usage
	end          agent.Usage // all that was used, and memory and threads at the end
	elapsed      int64       // of the single messages, ns

	paced      *batch
	pacedEvery time.Duration
	pacedLate  int
	bursts     []batch
	traced     *batch
	left       []int64 // when each of traced left the broker; 0 = not known
	events     []ktrace.Event
	eventsLost uint64
	untraced   string // why there are none
	calls      *uint64
	callsDrain *float64 // per message

	allocated   *agent.Done // of a process that counts them; nil = none did
	allocatedBy int         // messages
}

// received are the callbacks by the number of their message; an error if one came twice, or of a message that was not sent.
func (k *taken) received() (map[uint32]agent.Record, error) {
	records := make(map[uint32]agent.Record, len(k.samples.Records))
	for _, r := range k.samples.Records {
		if r.Kind != agent.Received {
			continue
		}
		if _, again := records[r.Seq]; again {
			return nil, fmt.Errorf("message %d came twice", r.Seq)
		}
		if int(r.Seq) >= k.messages {
			return nil, fmt.Errorf("message %d came, of %d", r.Seq, k.messages)
		}
		records[r.Seq] = r
	}
	return records, nil
}

// fold makes a cell of what a client recorded. floor is what the floor of C recorded for the same messages; nil = there is none.
func fold(c *Cell, k, floor *taken) {
	records, err := k.received()
	switch {
	case err != nil:
		c.Invalid = err.Error()
		return
	case k.samples.Dropped > 0:
		c.Invalid = fmt.Sprintf("there was no room for %d samples", k.samples.Dropped)
		return
	}
	c.Messages, c.Received = k.messages, len(records)
	if c.Received < c.Messages {
		c.Invalid = fmt.Sprintf("%d of %d messages did not come", c.Messages-c.Received, c.Messages)
		return
	}
	if err := k.causal(records); err != nil {
		c.Invalid = err.Error()
		return
	}
	c.foldDrains(k, records)
	c.foldLone(k, records, floor)
	c.foldUsage(k)
	c.foldModes(k, records)
}

// causal: no callback begins before its message was written.
func (k *taken) causal(records map[uint32]agent.Record) error {
	timed := append(slices.Clone(k.lone), k.bursts...)
	for _, b := range []*batch{k.paced, k.traced} {
		if b != nil {
			timed = append(timed, *b)
		}
	}
	for _, b := range timed {
		for i, at := range b.sent {
			if n := b.first + uint32(i); int64(records[n].A) < at {
				return fmt.Errorf("the callback of message %d began before it was written", n)
			}
		}
	}
	return nil
}

// foldDrains: from the moment the client went on to its last callback.
func (c *Cell) foldDrains(k *taken, records map[uint32]agent.Record) {
	for _, b := range k.drains {
		last := uint64(0)
		for n := b.first; n < b.first+uint32(b.number); n++ {
			last = max(last, records[n].B)
		}
		if b.number > 0 {
			c.Drain = append(c.Drain, float64(int64(last)-b.thawed)/float64(b.number))
		}
	}
}

func (c *Cell) foldLone(k *taken, records map[uint32]agent.Record, floor *taken) {
	var latencies, inside []float64
	var floored map[uint32]agent.Record
	if floor != nil {
		floored, _ = floor.received()
	}
	for r, b := range k.lone {
		var excess []float64
		before := len(latencies)
		for i, at := range b.sent {
			n := b.first + uint32(i)
			latency := float64(int64(records[n].A) - at)
			latencies = append(latencies, latency)
			inside = append(inside, float64(records[n].B-records[n].A))
			if f, ok := floored[n]; ok {
				excess = append(excess, latency-float64(int64(f.A)-floor.lone[r].sent[i]))
			}
		}
		if round := sorted(latencies[before:]); len(round) > 0 {
			c.Jitter = append(c.Jitter, quantile(round, 0.9)-quantile(round, 0.5))
		}
		if len(excess) > 0 {
			c.Excess = append(c.Excess, stat.Median(excess))
		}
	}
	if len(latencies) == 0 {
		return
	}
	c.Lone = lone(latencies)
	c.InCallback = quantile(sorted(inside), 0.5)
}

func (c *Cell) foldUsage(k *taken) {
	drained, single := k.counted, 0
	for _, b := range k.lone {
		single += b.number
	}
	c.CPURounds = k.cpu
	if drained > 0 {
		c.CPU = float64(k.draining.CPU) / float64(drained)
		c.Faults = float64(k.draining.MinorFaults) / float64(drained)
		c.Calls = float64(k.draining.ReadWrites) / float64(drained)
	}
	if single > 0 && k.elapsed > 0 {
		c.WaitRatio = float64(k.single.Waited) / float64(k.elapsed)
		c.Switches = float64(k.single.Voluntary) / float64(single)
		c.Involuntary = float64(k.single.Involuntary) / float64(single)
	}
	c.Resident, c.Threads = k.end.ResidentKiB*1024, k.end.ThreadNumber
	if k.done != nil {
		c.QueueDrops = k.done.QueueDrops
	}
	if d, n := k.done, k.messages; d != nil && n > 0 {
		if k.allocated != nil {
			d, n = k.allocated, k.allocatedBy
		}
		if d.Allocations != nil {
			c.Allocations = new(float64(*d.Allocations) / float64(n))
		}
		if d.AllocatedBytes != nil {
			c.Allocated = new(float64(*d.AllocatedBytes) / float64(n))
		}
	}
	for _, r := range k.samples.Records {
		if r.Kind == agent.Pause {
			c.Pauses++
			c.PauseMax = max(c.PauseMax, int64(r.B-r.A))
		}
	}
}
