// Package crew carries out a trial with several processes on this host, where the limit of open files allows one too few
// connections. Each is this program run again and has a part of the trial; the result is that of one process.
package crew

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/netns"
	"github.com/mqlab/mqlab/internal/worker"
)

// Crew is a worker.Worker of several processes.
type Crew struct {
	whole     worker.Share
	processes []*process
	start     int64 // of the schedule

	mu      sync.Mutex
	done    map[int]engine.Progress // of each process that was told to measure, in the drain
	drained bool
}

var _ worker.Worker = (*Crew)(nil)

// stopTime is how long processes may take to give up and to tell what they have.
const stopTime = 10 * time.Second

// Start starts n processes, or fewer if there is not so much to do, and deals out the share, which is a whole trial.
func Start(whole worker.Share, n int, cred worker.Credentials, where netns.Place, g *guard.Guard, to worker.Sink) (*Crew, error) {
	c := &Crew{whole: whole, done: map[int]engine.Progress{}}
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
	if _, err := c.all(context.Background(), stepMade); err != nil {
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
	_, err := c.all(ctx, doPrepare)
	return err
}

// Begin implements worker.Worker.
func (c *Crew) Begin(ctx context.Context, start int64) error {
	c.start = start
	c.tell(command{Do: doBegin, Start: start})
	_, err := c.all(ctx, doBegin)
	return err
}

// Measure implements worker.Worker.
func (c *Crew) Measure(ctx context.Context) (*worker.Result, error) {
	c.tell(command{Do: doMeasure})
	used := make(chan worker.Usage, 1)
	go func() {
		ph := &c.whole.Trial.Params.Phases
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
	answers, err := c.all(ctx, doMeasure)
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

// all returns what every process answers to a step. When ctx ends or one fails, the rest are told to stop; the error is
// then the cause. A process that does not answer is ended.
func (c *Crew) all(ctx context.Context, step string) ([]answer, error) {
	answers := make([]answer, len(c.processes))
	late := make(chan struct{})
	var stopped sync.Once
	var cause error
	stop := func(err error) {
		stopped.Do(func() {
			cause = err
			c.tell(command{Do: doStop})
			time.AfterFunc(stopTime, func() { close(late) })
		})
	}
	end := context.AfterFunc(ctx, func() { stop(context.Cause(ctx)) })
	var waiting sync.WaitGroup
	for i, p := range c.processes {
		waiting.Go(func() {
			var err error
			if answers[i], err = p.await(step, late); err != nil {
				stop(err)
			}
		})
	}
	waiting.Wait()
	end()
	stopped.Do(func() {}) // nothing is stopped any more
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
