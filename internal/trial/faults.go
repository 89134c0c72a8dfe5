package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/plan"
)

// step is one thing done to the broker at a monotonic time.
type step struct {
	at   int64
	kind string
	do   func(ctx context.Context) (said string, err error)
	undo bool // it is done even when the rest is given up
}

// startFaults does what the plan asks to be done to the broker, in the background. The function it returns ends that, undoes what
// is still in force, and tells what could not be done.
func (j *job) startFaults(ctx context.Context) func() error {
	var steps []step
	for _, f := range j.trial.Params.Faults {
		steps = append(steps, j.stepsOf(ctx, f)...)
	}
	for _, o := range j.trial.Outages {
		if o.OfBroker() {
			steps = append(steps, j.stepsOf(ctx, plan.Fault{At: o.At, Kind: o.Kind, For: o.For})...)
			continue
		}
		steps = append(steps, j.told(o)...)
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- j.runSteps(ctx, steps) }()
	return func() error {
		cancel()
		return <-done
	}
}

// stepsOf are what a fault consists of. trial ends with the trial.
func (j *job) stepsOf(trial context.Context, f plan.Fault) []step {
	at := j.measure + int64(f.At)
	end := at + int64(f.For)
	if f.Kind == plan.FaultPause {
		return []step{
			{at: at, kind: "pause", do: silent(j.broker.Pause)},
			{at: end, kind: "resume", do: silent(j.broker.Resume), undo: true},
		}
	}
	kind, atOnce := "stop", false
	if f.Kind == plan.FaultKill {
		kind, atOnce = "kill", true
	}
	down := func(ctx context.Context) (string, error) { return "", j.broker.Down(ctx, atOnce) }
	up := func(ctx context.Context) (string, error) {
		began := clock.Now()
		if err := j.broker.Up(ctx); err != nil {
			return "", err
		}
		j.watchBroker(trial, j.broker)
		return fmt.Sprintf("it answers after %v", time.Duration(clock.Now()-began).Round(time.Millisecond)), nil
	}
	return []step{{at: at, kind: kind, do: down}, {at: end, kind: "start", do: up}}
}

// told are the beginning and the end of an outage of connections: a worker or the link does it, the timeline tells of it.
func (j *job) told(o plan.Outage) []step {
	text := o.Kind
	if o.Side != "" {
		text += " of " + o.Side
	}
	at := j.measure + int64(o.At)
	byLink := j.trial.ByLink(&o)
	if byLink {
		j.record.Link.Outages = append(j.record.Link.Outages, link.Outage{At: o.At, For: o.For, Kind: link.Blackhole})
	}
	change := func(down bool, text string) func(context.Context) (string, error) {
		return func(context.Context) (string, error) {
			if byLink {
				return text, j.network.Down(down)
			}
			return text, nil
		}
	}
	return []step{
		{at: at, kind: "outage", do: change(true, fmt.Sprintf("%s for %v", text, o.For.Round(time.Millisecond)))},
		{at: at + int64(o.For), kind: "mended", do: change(false, text)},
	}
}

func silent(f func() error) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return "", f() }
}

// runSteps goes on with undoing (resume) when ctx has ended. A broker that is down then stays so: it is stopped next.
func (j *job) runSteps(ctx context.Context, steps []step) error {
	var errs []error
	var last string // that was done
	for _, s := range steps {
		over := clock.Pause(ctx, time.Duration(s.at-clock.Now())) != nil
		if over && (!s.undo || last != "pause") {
			continue
		}
		began := clock.Now() // its return may come late: the broker feels it from here on
		said, err := s.do(ctx)
		if err != nil {
			errs = append(errs, fmt.Errorf("fault %s: %w", s.kind, err))
			continue
		}
		last = s.kind
		j.add(engine.Event{At: began, Kind: s.kind, Text: said})
	}
	return errors.Join(errs...)
}
