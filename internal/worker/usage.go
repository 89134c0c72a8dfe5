package worker

import (
	"context"
	"runtime/metrics"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
)

// Usage is what this process used over a span of time.
type Usage struct {
	CPU     time.Duration // 0 and HasCPU false where the system does not tell
	HasCPU  bool
	GCPause time.Duration // stop-the-world pauses for garbage collection, in total; resolution is that of the runtime's buckets
	GCMax   time.Duration // the longest, rounded up to its bucket
	pauses  []uint64
}

const gcPauses = "/sched/pauses/total/gc:seconds"

func usage() Usage {
	sample := []metrics.Sample{{Name: gcPauses}}
	metrics.Read(sample)
	u := Usage{}
	if h := pauses(sample[0]); h != nil {
		u.pauses = append(u.pauses, h.Counts...)
	}
	u.CPU, u.HasCPU = cpuTime()
	return u
}

func pauses(s metrics.Sample) *metrics.Float64Histogram {
	if s.Value.Kind() != metrics.KindFloat64Histogram {
		return nil
	}
	return s.Value.Float64Histogram()
}

// Used is what this process uses between two monotonic times. It returns at the second, or when ctx is done.
func Used(ctx context.Context, from, to int64) Usage {
	_ = clock.Pause(ctx, time.Duration(from-clock.Now()))
	before := usage()
	_ = clock.Pause(ctx, time.Duration(to-clock.Now()))
	return usage().since(before)
}

// Add adds what another process used over the same span.
func (u *Usage) Add(o Usage) {
	u.CPU += o.CPU
	u.HasCPU = u.HasCPU && o.HasCPU
	u.GCPause += o.GCPause
	u.GCMax = max(u.GCMax, o.GCMax)
}

// since returns what was used between before and u.
func (u Usage) since(before Usage) Usage {
	d := Usage{CPU: u.CPU - before.CPU, HasCPU: u.HasCPU && before.HasCPU}
	sample := []metrics.Sample{{Name: gcPauses}}
	metrics.Read(sample)
	h := pauses(sample[0])
	if h == nil || len(u.pauses) != len(before.pauses) {
		return d
	}
	for i, n := range u.pauses {
		if n -= before.pauses[i]; n > 0 {
			upper := time.Duration(h.Buckets[min(i+1, len(h.Buckets)-2)] * 1e9)
			d.GCPause += time.Duration(n) * upper
			d.GCMax = max(d.GCMax, upper)
		}
	}
	return d
}
