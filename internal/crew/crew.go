// Package crew carries out a trial with several processes on this host, where the limit of open files allows one too few
// connections. Each is this program run again and has a part of the trial; the result is that of one process.
package crew

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/netns"
	"github.com/mqlab/mqlab/internal/worker"
)

// Crew is a worker.Worker of several processes.
type Crew struct {
	whole     worker.Share
	processes []*process
	start     int64         // of the schedule
	stopTime  time.Duration // how long processes may take to give up and to tell what they have

	mu      sync.Mutex
	done    map[int]engine.Progress // of each process that was told to measure, in the drain
	drained bool
}

var _ worker.Worker = (*Crew)(nil)

const (
	usualStopTime = 10 * time.Second
	slack         = 30 * time.Second // that a step may take beyond its time by the scenario
)

// errSilent is why processes are told to stop where one has not answered in time.
var errSilent = errors.New("not all generator processes have answered in time")

// Start starts n processes, or fewer if there is not so much to do, and deals out the share, which is a whole trial.
func Start(whole worker.Share, n int, cred worker.Credentials, where netns.Place, g *guard.Guard, to worker.Sink) (*Crew, error) {
	c := &Crew{whole: whole, stopTime: usualStopTime, done: map[int]engine.Progress{}}
	parts := whole.Trial.Parts(n)
	for i, part := range parts {
		share := whole
		share.Publishers, share.Subscribers, share.Of = part.Publishers, part.Subscribers, len(parts)
		share.Nth = i
		p, err := start(where, g, i, len(parts), order{share, cred, to.Samples != nil}, sink{to, c.progress})
		if p != nil {
			c.processes = append(c.processes, p)
		}
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	if _, err := c.all(context.Background(), stepMade, slack); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// PIDs are the processes.
func (c *Crew) PIDs() (pids []int) {
	for _, p := range c.processes {
		pids = append(pids, p.cmd.Process.Pid)
	}
	return pids
}

// Prepare implements worker.Worker.
func (c *Crew) Prepare(ctx context.Context) error {
	c.tell(command{Do: doPrepare})
	_, err := c.all(ctx, doPrepare, worker.ReadyTime(&c.whole.Trial.Params, c.whole.Trial.Connections())+slack)
	return err
}

// Begin implements worker.Worker.
func (c *Crew) Begin(ctx context.Context, start int64) error {
	c.start = start
	c.tell(command{Do: doBegin, Start: start})
	_, err := c.all(ctx, doBegin, slack)
	return err
}

// Measure implements worker.Worker.
func (c *Crew) Measure(ctx context.Context) (*worker.Result, error) {
	c.tell(command{Do: doMeasure})
	used := make(chan worker.Usage, 1)
	ph := &c.whole.Trial.Params.Phases
	go func() {
		measure := c.start + int64(ph.WarmUp)
		used <- worker.Used(ctx, measure, measure+int64(ph.Measure))
	}()
	go func() {
		for _, p := range c.processes {
			if _, err := p.await(stepClosed, nil); err != nil {
				return
			}
		}
		c.tell(command{Do: doFinish})
	}()
	end := c.start + int64(ph.WarmUp+ph.Measure+ph.Drain)
	answers, err := c.all(ctx, doMeasure, time.Duration(end-clock.Now())+slack)
	var results []*worker.Result
	for _, a := range answers {
		if a.Result == nil {
			return nil, err // without one part nothing can be settled
		}
		results = append(results, a.Result)
	}
	r := worker.Merge(results)
	r.Used.Add(<-used) // the lab's own process works for them
	return r, err
}

// progress takes how far a process is; when all that was offered is delivered it tells everybody.
func (c *Crew) progress(n int, p engine.Progress) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done[n] = p
	if c.drained || len(c.done) < len(c.processes) {
		return
	}
	var sum engine.Progress
	for _, p := range c.done {
		sum.Add(p)
	}
	if c.drained = worker.Drained(sum, &c.whole.Trial.Params); c.drained {
		c.tell(command{Do: doDrained})
	}
}

func (c *Crew) tell(what command) {
	for _, p := range c.processes {
		_ = p.send(what) // a command can always be written as JSON
	}
}

// all returns what every process answers to a step. When ctx ends, one fails or one has not answered within limit, the rest are told to
// stop; the error is then the cause. A process that does not answer even then is ended, and named.
func (c *Crew) all(ctx context.Context, step string, limit time.Duration) ([]answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errSilent)
	defer cancel()
	answers, errs := make([]answer, len(c.processes)), make([]error, len(c.processes))
	late := make(chan struct{})
	var stopped sync.Once
	var cause error
	stop := func(err error) {
		stopped.Do(func() {
			cause = err
			c.tell(command{Do: doStop})
			time.AfterFunc(c.stopTime, func() { close(late) })
		})
	}
	end := context.AfterFunc(ctx, func() { stop(context.Cause(ctx)) })
	var waiting sync.WaitGroup
	for i, p := range c.processes {
		waiting.Go(func() {
			if answers[i], errs[i] = p.await(step, late); errs[i] != nil {
				stop(errs[i])
			}
		})
	}
	waiting.Wait()
	end()
	stopped.Do(func() {}) // nothing is stopped any more
	if i := slices.IndexFunc(errs, func(err error) bool { return errors.Is(err, errHung) }); i >= 0 && errors.Is(cause, errSilent) {
		cause = errs[i]
	}
	return answers, cause
}

// Connections returns the counts that the processes told last.
func (c *Crew) Connections() (sum engine.Connections) {
	for _, p := range c.processes {
		sum.Add(p.connections())
	}
	return sum
}

// Close implements worker.Worker. It returns when no process is left.
func (c *Crew) Close() error {
	errs := make([]error, len(c.processes))
	var closing sync.WaitGroup
	for i, p := range c.processes {
		closing.Go(func() { errs[i] = p.close() })
	}
	closing.Wait()
	return errors.Join(errs...)
}
