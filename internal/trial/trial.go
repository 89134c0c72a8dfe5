// Package trial carries out one trial of a plan: it starts the broker, lets a worker generate the load, watches both, and writes
// down what happened. It decides nothing about the result.
package trial

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/cores"
	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/link/linktest"
	"github.com/mqlab/mqlab/internal/netns"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/queue"
	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/worker"
)

// Lab is what trials are carried out with.
type Lab struct {
	Place netns.Place
	Guard *guard.Guard
	RunID string // of the run folder; tells the messages of its trials from all others
	// Watch sees every finished window, for the live line; it must not block.
	Watch func(*ledger.Window)
	// Enough sees every finished window, too, and says why the trial need not go on, "" if it must: then its end is not waited for.
	// nil = every trial goes on to its end.
	Enough func(*ledger.Window) string
	// Say, if set, takes a line about what takes its time besides trials.
	Say func(string)
	// LinkTest is how links are tested before the first trial that has one.
	LinkTest linktest.Options
	// Links keeps what tests of links said, so that each is passed once; nil = each trial tests its own.
	Links *LinkTests
}

// ErrInterrupted is the cause of a context that the user cancelled.
var ErrInterrupted = errors.New("interrupted")

// Run carries out t, writes it to out and returns its record. The error tells what went wrong with the lab itself; a
// trial that could not be measured is a record in state failed.
func (l *Lab) Run(ctx context.Context, t plan.Trial, out *run.TrialWriter) (*run.TrialRecord, error) {
	j := &job{Lab: l, trial: t, out: out, record: newRecord(t)}
	if err := j.do(ctx); err != nil {
		j.fail(err)
	}
	return j.record, errors.Join(j.windows.Close(), out.Finish(j.record))
}

// job is a trial under way.
type job struct {
	*Lab
	trial      plan.Trial
	out        *run.TrialWriter
	record     *run.TrialRecord
	windows    *queue.Queue[*ledger.Window] // from the threads of engines to the run folder
	broker     *broker.Instance
	second     *broker.Instance   // behind a bridge; nil = there is none
	others     []*broker.Instance // side by side with the first
	network    network
	generators []int // processes
	placement  cores.Placement
	giveUp     context.CancelCauseFunc // ends the trial
	conns      *engine.Connections     // at the end of the load; nil = there was none yet

	mu      sync.Mutex
	measure int64          // monotonic start of the measure window, 0 = not known yet
	events  []engine.Event // before measure was known
	readyIn int64          // how long connecting took
	written int            // events in the run folder
	totals  map[string]*ledger.Counts
}

func newRecord(t plan.Trial) *run.TrialRecord {
	return &run.TrialRecord{
		State: run.Finished, Trial: t, Started: time.Now().UTC(),
		Broker: run.Broker{Name: t.Subject.Broker, Runtime: t.Subject.Runtime, Variant: t.Subject.Variant},
		Client: run.Client{
			Protocol: t.Subject.Protocol, Name: "mqlab", NoDelay: t.Params.NoDelay, Window: t.Params.Window,
			CongestionControl: congestionControl(), Guarantee: t.Guarantee(), Durability: t.Durability(),
		},
	}
}

// fail notes why the trial could not be measured, or not to its end.
func (j *job) fail(err error) {
	var enough *enoughError
	switch {
	case errors.Is(err, ErrInterrupted):
		j.record.Checks.Interrupted = true
		return
	case errors.As(err, &enough):
		j.record.Checks.Stopped = enough.why
		return
	}
	j.record.State, j.record.Failure = run.Failed, err.Error()
	var memory *broker.MemoryError
	if errors.As(err, &memory) {
		j.killed(memory)
		return
	}
	var exit *exitError
	if errors.As(err, &exit) {
		j.record.Checks.BrokerExited = exit.Error()
	}
}

// stopTime bounds the end of a broker.
const stopTime = 15 * time.Second

func (j *job) do(ctx context.Context) (err error) {
	j.totals = map[string]*ledger.Counts{}
	j.windows = queue.New(j.take)
	defer func() {
		if j.broker == nil {
			return
		}
		j.readMemory()
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
		defer cancel()
		if e := j.stopBrokers(stop); e != nil && err == nil && j.record.Checks.BrokerExited == "" {
			j.record.Broker.Stderr = e.Error()
		}
	}()
	release, err := j.place()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	if err := j.openLink(ctx); err != nil {
		return interrupted(ctx, err)
	}
	defer func() { err = errors.Join(err, j.closeLink()) }()
	if err := j.start(ctx); err != nil {
		return interrupted(ctx, err)
	}
	j.describeBroker()
	if err := j.out.Begin(*j.record); err != nil {
		return err
	}
	ctx, j.giveUp = context.WithCancelCause(ctx)
	defer j.giveUp(nil)
	for _, b := range j.brokers() {
		j.watchBroker(ctx, b)
	}
	err = j.drive(ctx)
	if err != nil {
		_ = clock.Pause(ctx, exitNotice) // was it the end of the broker that the load felt first?
	}
	return interrupted(ctx, err)
}

// exitNotice is within how much time the end of a process is known after its connections broke.
const exitNotice = 300 * time.Millisecond

// interrupted prefers the user's interruption, or the broker's end, to whatever it led to.
func interrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// watchBroker ends the trial when the broker ends by itself.
func (j *job) watchBroker(ctx context.Context, b *broker.Instance) {
	exited := b.Exited()
	go func() {
		select {
		case err, ok := <-exited:
			if ok {
				j.note("broker_exit", err.Error())
				j.giveUp(&exitError{err})
			}
		case <-ctx.Done():
		}
	}()
}

// exitError is the end of a broker that nobody asked for.
type exitError struct{ error }

// Unwrap returns what the broker's end was.
func (e *exitError) Unwrap() error { return e.error }

func (j *job) drive(ctx context.Context) (err error) {
	login, err := broker.Credentials(j.trial.Subject.Auth)
	if err != nil {
		return err
	}
	sink := worker.Sink{Window: j.windows.Add, Event: j.connectionEvent, Leaving: j.leaving}
	if j.trial.Params.Samples {
		queue, err := j.out.Samples()
		if err != nil {
			return err
		}
		sink.Samples = func() worker.Sampler { return sampler{queue.Producer()} }
	}
	w, err := j.generator(j.share(), worker.Credentials(login), sink)
	if err != nil {
		return err
	}
	defer func() {
		j.conns = new(w.Connections())
		err = errors.Join(err, w.Close())
	}()
	j.describePlacement()
	monitoring := j.startMonitor(ctx)
	defer monitoring.stop()

	j.record.Broker.PSSIdle = j.brokerMemory()
	began := clock.Now()
	if err := w.Prepare(ctx); err != nil {
		return err
	}
	j.readyIn = clock.Now() - began
	j.record.Broker.PSSConnected = j.brokerMemory()
	j.record.Checks.SubscribersReady = true
	if err := clock.Pause(ctx, j.trial.Params.Phases.Settle); err != nil {
		return err
	}
	start := clock.Now() + int64(lead)*int64(max(j.trial.Params.Generators, 1))
	j.begin(start + int64(j.trial.Params.Phases.WarmUp))
	j.network.window(j.measure, j.measure+int64(j.trial.Params.Phases.Measure))
	if err := w.Begin(ctx, start); err != nil {
		return err
	}
	monitoring.begin(j.measure)
	watching, stopWatch := context.WithCancel(ctx)
	defer stopWatch()
	j.network.watch(watching, j.measure, j.trial.Params.Phases.Measure)
	stopFaults := j.startFaults(ctx)
	result, err := w.Measure(ctx)
	err = errors.Join(err, stopFaults())
	monitoring.stop()
	if j.trial.Params.Connect.ChurnPerS > 0 {
		j.record.Broker.PSSAfter = j.brokerMemory()
	}
	j.settle(result)
	return err
}

// share is the whole trial, as workers are told it.
func (j *job) share() worker.Share {
	share := worker.Whole(runNumber(j.RunID, j.trial.ID), j.trial, j.broker.URL)
	share.SubscribeURL = j.last().SubscribeURL
	share.Cores = len(j.placement.Generator)
	if file := j.broker.CAFile(); file != "" {
		share.Trial.Subject.TLS = plan.TLS{CAFile: file, ServerName: broker.SecureName}
	}
	for _, b := range j.others {
		share.Others = append(share.Others, worker.Address{URL: b.URL, SubscribeURL: b.SubscribeURL})
	}
	return share
}

// lead is how long before its start the schedule is given to each process of the generator.
const lead = 5 * time.Millisecond

// runNumber is the run id in the stamps of a trial: no other trial of any run is likely to have it.
func runNumber(runID string, trial int) uint32 {
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "%s/%d", runID, trial) // never fails
	return h.Sum32()
}

// sampler writes a worker's samples to the run folder.
type sampler struct{ *run.SampleProducer }

func (s sampler) Record(e *engine.Sample) {
	s.SampleProducer.Record(&run.Sample{
		Kind: run.SampleKind(e.Kind), Stream: e.Stream, Sub: e.Client, Seq: e.Seq,
		Due: e.Due, Sent: e.Sent, Received: e.Received, Kernel: e.Kernel,
	})
}
