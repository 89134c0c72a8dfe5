package selftest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/faulty"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/netns"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/mqtt"
	"github.com/mqlab/mqlab/internal/proto/nats"
	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/selftest/oracle"
	"github.com/mqlab/mqlab/internal/worker"
)

// outcome is a trial as the lab's own accounts have it, and as the oracle recounts it.
type outcome struct {
	ledger.Window  // the sum of all windows, completed by what was settled at the end
	recount        oracle.Count
	begin          int64 // when the schedule started
	connectingTook time.Duration
}

// measure carries out a trial against the broker at url. begin is told, before the schedule starts, when the measure
// window will; quiet, if not nil, tells that nothing more will come, which ends the drain.
func measure(ctx context.Context, t plan.Trial, url string, begin func(zero int64), quiet func(arrived uint64) bool) (*outcome, error) {
	var sum window
	var file bytes.Buffer
	queue, err := run.NewSampleQueue(&file)
	if err != nil {
		return nil, err
	}
	samples := &sampling{queue: queue}
	share := worker.Whole(uint32(t.ID), t, url)
	w, err := worker.NewLocal(share, worker.Credentials{}, netns.Host, worker.Sink{Window: sum.add, Samples: samples.sampler})
	if err != nil {
		return nil, errors.Join(err, queue.Close())
	}
	out := &outcome{}
	result, err := drive(ctx, w, t.Params.Phases, out, samples, begin, quiet)
	err = errors.Join(err, w.Close(), queue.Close())
	switch {
	case err != nil:
		return nil, err
	case queue.Dropped() > 0:
		return nil, fmt.Errorf("%d samples were dropped", queue.Dropped())
	}
	settled := worker.Settle(t.Params.Pattern, result)
	out.Window = sum.total
	out.Counts.Add(&settled)
	records, err := oracle.Read(&file)
	if err != nil {
		return nil, err
	}
	from := out.begin + int64(t.Params.Phases.WarmUp)
	to := from + int64(t.Params.Phases.Measure)
	out.recount = oracle.Recount(records, oracle.Window{From: from, To: to, Fan: uint64(t.Params.Fan())})
	return out, nil
}

// lead is how long before its start the schedule is given to the worker.
const lead = 5 * time.Millisecond

func drive(ctx context.Context, w *worker.Local, ph plan.Phases, out *outcome, samples *sampling,
	begin func(int64), quiet func(uint64) bool,
) (*worker.Result, error) {
	began := clock.Now()
	if err := w.Prepare(ctx); err != nil {
		return nil, err
	}
	out.connectingTook = time.Duration(clock.Now() - began)
	out.begin = clock.Now() + int64(lead)
	zero := out.begin + int64(ph.WarmUp)
	begin(zero)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if quiet != nil {
		last := uint64(0)
		go watch(ctx, cancel, zero+int64(ph.Measure), func() bool {
			before := last
			last = samples.arrived.Load()
			return last == before && w.Waiting() == 0 && quiet(last)
		})
	}
	if err := w.Begin(ctx, out.begin); err != nil {
		return nil, err
	}
	result, err := w.Measure(ctx)
	if errors.Is(err, errQuiet) {
		err = nil
	}
	return result, err
}

// errQuiet ends a drain in which nothing more will come.
var errQuiet = errors.New("nothing more is on its way")

const (
	watchEvery = 10 * time.Millisecond
	watchTimes = 10 // in a row
)

// watch cancels ctx when it has been quiet for some time after end.
func watch(ctx context.Context, cancel context.CancelCauseFunc, end int64, quiet func() bool) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for times := 0; times < watchTimes; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		times++
		if clock.Now() < end || !quiet() {
			times = 0
		}
	}
	cancel(errQuiet)
}

// window adds up windows, which come from several goroutines.
type window struct {
	mu    sync.Mutex
	total ledger.Window
}

func (w *window) add(o *ledger.Window) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.total.Merge(o)
}

// sampling writes samples to a queue and counts arrivals.
type sampling struct {
	queue   *run.SampleQueue
	arrived atomic.Uint64 // messages of any kind at any subscriber
}

func (s *sampling) sampler() worker.Sampler { return &sampler{s, s.queue.Producer()} }

type sampler struct {
	all *sampling
	*run.SampleProducer
}

// Record implements worker.Sampler.
func (s *sampler) Record(e *engine.Sample) {
	switch e.Kind {
	case engine.SampleReceived, engine.SampleCorrupt, engine.SampleForeign:
		s.all.arrived.Add(1)
	}
	s.SampleProducer.Record(&run.Sample{
		Kind: run.SampleKind(e.Kind), Stream: e.Stream, Sub: e.Client, Seq: e.Seq,
		Due: e.Due, Sent: e.Sent, Received: e.Received, Kernel: e.Kernel,
	})
}

// lab is the broker with known faults for one trial.
type lab struct {
	server *faulty.Server
	url    string
	stop   func() error
}

func startFaulty(protocol string, faults faulty.Plan, acks bool) (*lab, error) {
	cfg := faulty.Config{Plan: faults, Match: mqtt.Match[[]byte, []byte]}
	mqttConfig := &mqtt.ServerConfig{HoldAcks: !acks}
	session := func() proto.Server { return mqtt.NewServer(mqttConfig) }
	scheme := "mqtt://"
	if protocol == plan.NATS {
		cfg.Match = nats.Match[[]byte, []byte]
		natsConfig := &nats.ServerConfig{Name: "faulty"}
		session = func() proto.Server { return nats.NewServer(natsConfig) }
		scheme = "nats://"
	}
	l := &lab{server: faulty.NewServer(cfg, session)}
	addr, stop, err := l.server.Listen()
	l.url, l.stop = scheme+addr, stop
	return l, err
}

func (l *lab) setZero(zero int64) {
	l.server.Do(func(b *faulty.Broker, _ int64) { b.SetZero(zero) })
}

// quiet tells that everything that the broker sent has arrived, and nothing more is on its way through it.
func (l *lab) quiet(arrived uint64) (yes bool) {
	l.server.Do(func(b *faulty.Broker, now int64) { yes = b.Idle(now) && b.Sent() <= arrived })
	return yes
}

// truth returns what the broker did.
func (l *lab) truth() (t faulty.Truth) {
	l.server.Do(func(b *faulty.Broker, _ int64) { t = b.Truth() })
	return t
}

// measureFaulty carries out a trial against a broker with faults and returns what really happened, too.
func measureFaulty(ctx context.Context, t plan.Trial, faults faulty.Plan) (*outcome, faulty.Truth, error) {
	l, err := startFaulty(t.Subject.Protocol, faults, true)
	if err != nil {
		return nil, faulty.Truth{}, err
	}
	var quiet func(uint64) bool
	if len(faults.Faults) > 0 { // otherwise everything arrives, and the drain ends by itself
		quiet = l.quiet
	}
	out, err := measure(ctx, t, l.url, l.setZero, quiet)
	truth := l.truth()
	return out, truth, errors.Join(err, l.stop())
}
