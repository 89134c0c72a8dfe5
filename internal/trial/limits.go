package trial

import (
	"fmt"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/cgroup"
	"github.com/mqlab/mqlab/internal/monitor"
	"github.com/mqlab/mqlab/internal/run"
)

// killed notes that the broker was killed for memory: a result of the trial, not a failure of the lab.
func (j *job) killed(e *broker.MemoryError) {
	kill := &run.MemoryKill{LimitBytes: e.Limit, Heap: e.Heap}
	if c := j.conns; c != nil {
		kill.Connections = new(c.Established - c.Reconnected)
		j.record.Connections = connections(*c)
		j.record.Failure = fmt.Sprintf("killed for memory at %d connections", *kill.Connections)
	}
	j.record.Checks.KilledForMemory = kill
}

// throttling begins to count how often the broker uses up its CPU, and how often this program does where it is held to a quota. The
// function it returns ends that.
func (j *job) throttling() func() {
	before, known := j.broker.Usage()
	own, held := cgroup.Own()
	var ours cgroup.Usage
	if held {
		var err error
		ours, err = own.Throttling()
		held = err == nil
	}
	return func() {
		if after, still := j.broker.Usage(); known && still {
			j.record.Broker.Throttling = &run.Throttling{
				Periods: after.Periods - before.Periods, Throttled: after.Throttled - before.Throttled,
				Time: int64(after.ThrottledTime - before.ThrottledTime),
			}
		}
		if !held {
			return
		}
		if after, err := own.Throttling(); err == nil {
			j.record.Generator.Throttling = &run.Throttling{
				Periods: after.Periods - ours.Periods, Throttled: after.Throttled - ours.Throttled,
				Time: int64(after.ThrottledTime - ours.ThrottledTime),
			}
		}
	}
}

// quota is how often the broker used up its CPU quota so far; nil = it has none, or that is not known.
func (j *job) quota() *monitor.Quota {
	u, known := j.broker.Usage()
	if !known || u.Periods == 0 {
		return nil
	}
	return &monitor.Quota{Periods: u.Periods, Throttled: u.Throttled, ThrottledSeconds: u.ThrottledTime.Seconds()}
}

// readMemory notes what the broker's machine says of its memory, before it is gone.
func (j *job) readMemory() {
	u, known := j.broker.Usage()
	if !known {
		return
	}
	j.record.Checks.MemoryKills = u.MemoryKills
	if u.MemoryPeak > 0 {
		j.record.Broker.MemoryPeak = new(uint64(u.MemoryPeak))
	}
}
