// Package jitter measures the round trips of a publishing client through a broker, and looks at the client meanwhile, so that the cause of
// its jitter can be named. The client is an agent: the library as it is, on a schedule. What it publishes is sent back by an echo of ours.
package jitter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	Broker    string      // its URL: mqtt://host:port, or mqtts://
	CA        string      // the file of the authority that signed the broker's certificate; of mqtts
	BrokerPID int         // of a broker on this host, to look at it, too; 0 = it cannot be
	Topics    Topics      // zero = R1's
	Elsewhere bool        // the echo is on another machine, or the broker sends messages back itself
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
	Strays   Strays          `json:"strays"`
	Cut      bool            `json:"cut,omitempty"` // it was ended before its time
	Control  Control         `json:"control"`
	Input    *diagnose.Input `json:"-"` // its messages are in the order of their numbers
	Process  *inspect.Report `json:"-"`
}

// Strays are answers beyond one for each message, counted one by one.
type Strays struct {
	Duplicates int    `json:"duplicates"` // of a message that was answered before
	Reordered  int    `json:"reordered"`  // that came behind one of a later message
	Foreign    int    `json:"foreign"`    // of no message of ours
	Dropped    uint64 `json:"dropped"`    // records that the client had no room for
}

// Topics are where the client publishes and where answers come.
type Topics struct {
	Request string `json:"request"`
	Answer  string `json:"answer"`
}

// R1Topics are those of experiment R1.
var R1Topics = Topics{"test/latency", "test/echo"}

// Control is what the probe beside the client saw.
type Control struct {
	Probes int   `json:"probes"`
	Slow   int   `json:"slow"`
	P50    int64 `json:"p50_ns"`
	P99    int64 `json:"p99_ns"`
	Max    int64 `json:"max_ns"`
}

// patience is how much longer than the schedule a measurement may take, besides a tenth of it.
const patience = 15 * time.Second

// Run measures. If ctx ends before that is done, there is a result with what was measured so far, together with the error.
func Run(ctx context.Context, g *guard.Guard, o Options) (*Result, error) {
	o.Topics = cmp.Or(o.Topics, R1Topics)
	server, err := dialing(o.Broker, o.CA)
	if err != nil {
		return nil, err
	}
	e := &echo{came: map[uint32]int64{}}
	if !o.Elsewhere {
		if e, err = startEcho(ctx, o.EchoFrom, server, o.Topics, o.Echo, o.OneWay); err != nil {
			return nil, err
		}
		defer e.close()
	}
	p, err := agent.Start(ctx, g, o.Client, o.job(server))
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.Kill() }()
	if err := p.Ready(ctx); err != nil {
		return nil, err
	}
	w := watch(context.WithoutCancel(ctx), p.PID, server.port, o.BrokerPID)
	err = errors.Join(o.measure(ctx, p), w.end())
	var samples *agent.Samples
	switch {
	case ctx.Err() != nil:
		var aborted error
		if samples, aborted = p.Abort(); aborted != nil {
			return nil, context.Cause(ctx)
		}
		err = context.Cause(ctx)
	case err == nil:
		_, samples, err = p.End(ctx)
	}
	if samples == nil {
		return nil, err
	}
	r := &Result{Client: o.Client.Name, Library: p.Library, Version: p.Version, Process: w.process, Cut: err != nil}
	e.close()
	r.fold(&o, samples, w, e)
	return r, err
}

// job is what the client is asked to do.
func (o *Options) job(s *server) agent.Job {
	job := o.Job
	job.Host, job.Port, job.Topic, job.Publish = s.host, int(s.port), o.Topics.Answer, o.Topics.Request
	job.ClientID = fmt.Sprintf("mqlab-jitter-%d", clock.Now()%1e9)
	if s.tls != nil {
		job.TLSCA = o.CA
	}
	if job.KeepAlive = int(o.KeepAlive / time.Second); job.KeepAlive == 0 {
		job.KeepAlive = 60
	}
	job.LingerNS = min(max(5e8, (lingerTurns+int64(job.Burst))*job.IntervalNS), int64(longestLinger))
	job.Capacity = 2*o.messages() + 20_000 // pauses of the runtime, too
	return job
}

// A client that reads once an interval needs so many turns for what is on its way when it has published all.
const (
	lingerTurns   = 20
	longestLinger = time.Minute
)

// messages is how many the client will publish.
func (o *Options) messages() int { return o.Job.Count*(1+o.Job.Mix) + o.Job.Burst }

// measure lets the client publish, and waits until all has come back, or no more comes.
func (o *Options) measure(ctx context.Context, p *agent.Process) error {
	if err := p.Go(clock.Now() + int64(startIn)); err != nil {
		return err
	}
	disturbed, calm := context.WithCancel(ctx)
	defer calm()
	if o.Disturb != nil {
		go o.Disturb(disturbed, p.PID)
	}
	schedule := time.Duration(int64(o.Job.Count) * o.Job.IntervalNS)
	bounded, cancel := context.WithTimeout(ctx, schedule+schedule/10+patience)
	defer cancel()
	expected := 2 * o.messages()
	if o.OneWay {
		expected = o.messages()
	}
	_ = clock.Pause(bounded, schedule+startIn) // a client that stands still meanwhile has not settled
	quiet := max(time.Second, 3*time.Duration(o.Job.IntervalNS+o.Job.WorkNS))
	p.SettleAfter(bounded, uint64(expected), quiet)
	return nil
}

const betweenLooks = 5 * time.Millisecond

// startIn is when a client begins after GO.
const startIn = 200 * time.Millisecond

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
	if errors.Is(w.looked[1], inspect.ErrNoSocket) { // of a broker's several processes another has the connections
		w.looked[1] = nil
	}
	return errors.Join(w.looked[0], w.looked[1], w.probed)
}
