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
func measure(ctx context.Context, t plan.Trial, url string, begin func(zero int64), quiet quietness) (*outcome, error) {
	var sum window
	var file bytes.Buffer
	queue, err := run.NewSampleQueue(&file)
	if err != nil {
		return nil, err
	}
	samples := &sampling{queue: queue}
	sink := worker.Sink{Window: sum.add, Samples: samples.sampler}
	last := &ending{params: &t.Params, samples: samples, quiet: quiet}
	if quiet != nil {
		sink.Team = last
	}
	w, err := worker.NewLocal(worker.Whole(uint32(t.ID), t, url), worker.Credentials{}, netns.Host, sink)
	if err != nil {
		return nil, errors.Join(err, queue.Close())
	}
	out := &outcome{}
	result, err := drive(ctx, w, t.Params.Phases, out, begin)
	err = errors.Join(err, w.Close(), queue.Close())
	switch {
	case err != nil:
		return nil, err
	case queue.Dropped() > 0:
		return nil, fmt.Errorf("%d samples were dropped", queue.Dropped())
	case quiet != nil && !last.reached.Load():
		return nil, fmt.Errorf("messages were still on their way when the drain of %v ended", t.Params.Phases.Drain)
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

func drive(ctx context.Context, w *worker.Local, ph plan.Phases, out *outcome, begin func(int64)) (*worker.Result, error) {
	began := clock.Now()
	if err := w.Prepare(ctx); err != nil {
		return nil, err
	}
	out.connectingTook = time.Duration(clock.Now() - began)
	out.begin = clock.Now() + int64(lead)
	begin(out.begin + int64(ph.WarmUp))
	if err := w.Begin(ctx, out.begin); err != nil {
		return nil, err
	}
	return w.Measure(ctx)
}

// quietness tells, of how many messages were sent and how many arrived, of any kind, that nothing more will come: no time is
// in it, so that it holds however long a thread is kept from running.
type quietness func(sent, arrived uint64) bool

// ending ends a drain in which not everything arrives. It is a worker.Team of one.
type ending struct {
	params  *plan.Params
	samples *sampling
	quiet   quietness
	reached atomic.Bool
}

// Drained implements worker.Team.
func (e *ending) Drained(own engine.Progress) bool {
	if own.Waiting > 0 || e.params.QoS > 0 && own.Answered < own.Sent {
		return false // more may be sent; else the number of those sent is final
	}
	if !e.quiet(e.samples.sent.Load(), e.samples.arrived.Load()) {
		return false
	}
	e.reached.Store(true)
	return true
}

// Closed implements worker.Team.
func (*ending) Closed(context.Context) {}

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

// sampling writes samples to a queue, and counts what was sent and what arrived.
type sampling struct {
	queue   *run.SampleQueue
	sent    atomic.Uint64
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
	case engine.SampleSent:
		s.all.sent.Add(1)
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

// quiet tells that everything that was sent has come to the broker, nothing is on its way through it, and everything that it
// sent has arrived.
func (l *lab) quiet(sent, arrived uint64) (yes bool) {
	l.server.Do(func(b *faulty.Broker, now int64) { yes = b.Published() >= sent && b.Idle(now) && b.Sent() <= arrived })
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
	var quiet quietness
	if len(faults.Faults) > 0 { // otherwise everything arrives, and the drain ends by itself
		quiet = l.quiet
	}
	out, err := measure(ctx, t, l.url, l.setZero, quiet)
	truth := l.truth()
	return out, truth, errors.Join(err, l.stop())
}
