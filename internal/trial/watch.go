package trial

import (
	"context"
	"sync"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/monitor"
)

// monitorEach is how often resources are sampled.
const monitorEach = time.Second

// watching samples the broker, the generator and the host over the measure window.
type watching struct {
	job    *job
	ctx    context.Context
	cancel context.CancelFunc
	done   sync.WaitGroup
}

func (j *job) startMonitor(ctx context.Context) *watching {
	w := &watching{job: j}
	w.ctx, w.cancel = context.WithCancel(ctx)
	return w
}

// begin samples from the monotonic time measure on, for as long as the measure window is planned to be: the first and the last
// sample stand at its two ends.
func (w *watching) begin(measure int64) {
	m := monitor.New(
		monitor.Target{Role: monitor.Broker, Roots: w.job.roots},
		monitor.Target{Role: monitor.Generator, PIDs: w.job.generators, Alone: true},
	)
	w.done.Go(func() {
		if clock.Pause(w.ctx, time.Duration(measure-clock.Now())) != nil {
			return
		}
		end := measure + int64(w.job.trial.Params.Phases.Measure)
		ctx, cancel := context.WithTimeout(w.ctx, time.Duration(end-clock.Now()))
		defer cancel()
		throttled := w.job.throttling()
		m.Run(ctx, monitorEach, func(s monitor.Sample) {
			if s.Role == monitor.Broker {
				s.Quota = w.job.quota()
			}
			_ = w.job.out.Monitor(s) // the writer keeps its first error for Finish
		})
		throttled()
	})
}

// brokerMemory is the PSS of the broker's processes now; nil = not known.
func (j *job) brokerMemory() (bytes *uint64) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	monitor.New(monitor.Target{Role: monitor.Broker, Roots: j.roots}).Run(ctx, monitorEach, func(s monitor.Sample) {
		if s.Role == monitor.Broker && s.PSSBytes > 0 {
			bytes = new(s.PSSBytes)
		}
	})
	return bytes
}

// stop ends sampling; it may be called more than once.
func (w *watching) stop() {
	w.cancel()
	w.done.Wait()
}
