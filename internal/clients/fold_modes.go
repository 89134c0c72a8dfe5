package clients

import "github.com/mqlab/mqlab/internal/agent"

// lone are the quantiles of latencies; nil if there are none.
func lone(latencies []float64) *Lone {
	if len(latencies) == 0 {
		return nil
	}
	s := sorted(latencies)
	l := &Lone{Count: len(s), Min: s[0], P50: quantile(s, 0.5), P90: quantile(s, 0.9)}
	if len(s) >= 1000 {
		l.P99 = quantile(s, 0.99)
	}
	return l
}

// latencies are the times from the begin of each write to the callback.
func (b *batch) latencies(records map[uint32]agent.Record) (list []float64) {
	for i, at := range b.sent {
		list = append(list, float64(int64(records[b.first+uint32(i)].A)-at))
	}
	return list
}

// foldModes folds what is not ranked.
func (c *Cell) foldModes(k *taken, records map[uint32]agent.Record) {
	if b := k.paced; b != nil && b.number > 0 {
		c.Paced = &Paced{Interval: int64(k.pacedEvery), Late: k.pacedLate, Latency: *lone(b.latencies(records))}
	}
	var queued []float64
	for _, b := range k.bursts {
		if b.number == 0 {
			continue
		}
		last := uint64(0)
		for n := b.first; n < b.first+uint32(b.number); n++ {
			last = max(last, records[n].B)
		}
		if c.Burst == nil {
			c.Burst = &Burst{}
		}
		c.Burst.PerSecond = append(c.Burst.PerSecond, float64(b.number)/float64(int64(last)-b.sent[0])*1e9)
		queued = append(queued, b.latencies(records)...)
	}
	if c.Burst != nil {
		c.Burst.Queueing = *lone(queued)
	}
	if b := k.traced; b != nil && b.number > 0 {
		c.Breakdown = k.breakdown(records)
		if k.calls != nil {
			c.Syscalls = new(float64(*k.calls) / float64(b.number))
		}
		c.SyscallsDrain = k.callsDrain
	}
}
