// Package jitter measures the round trips of a publishing client through a broker, and looks at the client meanwhile, so that the cause of
// its jitter can be named. The client is an agent: the library as it is, on a schedule. What it publishes is sent back by an echo of ours.
package jitter

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/mqlab/mqlab/internal/agent"
	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/diagnose"
	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/inspect"
	"github.com/mqlab/mqlab/internal/netns"
)

// Options say what is measured.
type Options struct {
	Client    *agent.Built
	Job       agent.Job   // Count, IntervalNS, PayloadBytes, loop, …; host, port and topics are set here
	Broker    string      // its URL: mqtt://host:port
	BrokerPID int         // of a broker on this host, to look at it, too; 0 = it cannot be
	EchoFrom  netns.Place // where the echo connects from; nil = this host
	Echo      bool        // TCP_NODELAY of the echo
	OneWay    bool        // messages are not sent back: the client only publishes, and we note when they come
	KeepAlive time.Duration
	Disturb   func(ctx context.Context, pid int) // runs while measuring; nil = nothing does
}

// Result is what was measured. Durations are ns.
type Result struct {
	Client   string          `json:"client"`
	Library  string          `json:"library"`
	Version  string          `json:"version,omitempty"`
	Sent     int             `json:"sent"`
	Answered int             `json:"answered"`
	Control  Control         `json:"control"`
	Input    *diagnose.Input `json:"-"`
	Process  *inspect.Report `json:"-"`
}

// Control is what the probe beside the client saw.
type Control struct {
	Probes int   `json:"probes"`
	Slow   int   `json:"slow"`
	Max    int64 `json:"max_ns"`
}

// patience is how much longer than the schedule a measurement may take.
const patience = 15 * time.Second

// Run measures.
func Run(ctx context.Context, g *guard.Guard, o Options) (*Result, error) {
	u, err := url.Parse(o.Broker)
	if err != nil || u.Port() == "" {
		return nil, fmt.Errorf("%q is no mqtt://host:port", o.Broker)
	}
	e, err := startEcho(ctx, o.EchoFrom, u.Host, o.Echo, o.OneWay, clock.Now())
	if err != nil {
		return nil, err
	}
	defer e.close()
	job := o.Job
	job.Host, job.Topic, job.Publish, job.ClientID = u.Hostname(), answers, requests, fmt.Sprintf("mqlab-jitter-%d", clock.Now()%1e9)
	if _, err := fmt.Sscan(u.Port(), &job.Port); err != nil {
		return nil, err
	}
	if job.KeepAlive = int(o.KeepAlive / time.Second); job.KeepAlive == 0 {
		job.KeepAlive = 60
	}
	messages := job.Count + job.Burst
	if job.Mix == 1 {
		messages += job.Count
	}
	job.Capacity = 2*messages + 20_000 // pauses of the runtime, too
	p, err := agent.Start(ctx, g, o.Client, job)
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.Kill() }()
	if err := p.Ready(ctx); err != nil {
		return nil, err
	}
	w := watch(ctx, p.PID, uint16(job.Port), o.BrokerPID)
	if err := p.Go(clock.Now() + int64(startIn)); err != nil {
		return nil, errors.Join(err, w.end())
	}
	disturbed, calm := context.WithCancel(ctx)
	defer calm()
	if o.Disturb != nil {
		go o.Disturb(disturbed, p.PID)
	}
	bounded, cancel := context.WithTimeout(ctx, time.Duration(int64(job.Count)*job.IntervalNS)+patience)
	defer cancel()
	expected := 2 * messages
	if o.OneWay {
		expected = messages
	}
	wait(bounded, time.Duration(int64(job.Count)*job.IntervalNS)+startIn) // a client that stands still meanwhile has not settled
	p.Settle(bounded, uint64(expected))
	calm()
	if err := w.end(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	_, samples, err := p.End(ctx)
	if err != nil {
		return nil, err
	}
	r := &Result{Client: o.Client.Name, Library: p.Library, Version: p.Version, Process: w.process}
	e.close()
	r.fold(&o, samples, w, e)
	return r, nil
}

const betweenLooks = 5 * time.Millisecond

// startIn is when a client begins after GO.
const startIn = 200 * time.Millisecond

// wait returns after d, or when ctx is done.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// watcher looks at the client and at the host while they work.
type watcher struct {
	stop    chan struct{}
	calm    context.CancelFunc // ends the control probe
	wg      sync.WaitGroup
	process *inspect.Report
	broker  *inspect.Report
	control *control
	looked  [2]error // at the client, at the broker
	probed  error
}

func watch(ctx context.Context, pid int, port uint16, broker int) *watcher {
	probing, calm := context.WithCancel(ctx)
	w := &watcher{stop: make(chan struct{}), calm: calm}
	w.wg.Go(func() {
		w.process, w.looked[0] = inspect.Process(ctx, inspect.Options{PID: pid, Port: port, For: 24 * time.Hour, Every: betweenLooks, Until: w.stop})
	})
	if broker != 0 {
		w.wg.Go(func() {
			w.broker, w.looked[1] = inspect.Process(ctx, inspect.Options{PID: broker, For: 24 * time.Hour, Every: betweenLooks, Until: w.stop, Broker: true})
		})
	}
	w.wg.Go(func() { w.control, w.probed = runControl(probing) })
	return w
}

// end ends both. That the system does not let us look at a process is no error: the evidence is only missing.
func (w *watcher) end() error {
	close(w.stop)
	w.calm()
	w.wg.Wait()
	for i, err := range w.looked {
		if errors.Is(err, inspect.ErrRights) || errors.Is(err, inspect.ErrUnsupported) {
			w.looked[i] = nil
		}
	}
	return errors.Join(w.looked[0], w.looked[1], w.probed)
}
