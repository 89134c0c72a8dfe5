package trial

import (
	"context"
	"fmt"
	"time"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/link/emulate"
	"github.com/mqlab/mqlab/internal/netns"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run"
)

// mostIntervals is how many readings of a link a trial has at most.
const mostIntervals = 600

// network is the link of a trial. The zero value is this host's own network.
type network struct {
	emulate.Network          // nil = there is none
	start           reading  // when measuring began
	end             *reading // nil = not yet
	intervals       []run.LinkInterval
	sight           *sight // of its packets; nil = it does not show them
	partings        []parting
	stack           *run.LinkAgreement // what the stack of devices says; nil = it has none of its own
	done            chan struct{}      // closed when the last reading was taken; nil = there is no watch
}

// reading is what the counters said at a time.
type reading struct {
	at       int64 // monotonic
	up, down link.Counters
}

// options say how the link of a trial is made.
func options(t *plan.Trial) emulate.Options {
	l := &t.Params.Link
	return emulate.Options{
		Config:  link.Config{Profile: l.Profile, Seed: t.Seed, CongestionControl: l.CongestionControl},
		Backend: l.Backend, Outside: Outside(&t.Subject), Toxiproxy: l.Toxiproxy,
	}
}

// Outside reports whether a broker is no process of the lab, so that backend tun is out of the question.
func Outside(s *plan.Subject) bool {
	for ; s != nil; s = s.Bridge {
		if s.Runtime == broker.External || s.Runtime == broker.Docker {
			return true
		}
	}
	return false
}

// openLink makes the network of the trial, if it has one.
func (j *job) openLink(ctx context.Context) error {
	if !j.trial.Params.Link.Emulated() {
		return nil
	}
	o := options(&j.trial)
	test, err := j.testLink(ctx, o)
	if err != nil {
		return err
	}
	n, choice, err := emulate.Open(ctx, o)
	if err != nil {
		return err
	}
	j.network.Network = n
	if nat, can := n.(interface{ Forget(after time.Duration) }); can && j.trial.Params.Link.Forget > 0 {
		nat.Forget(j.trial.Params.Link.Forget)
	}
	j.network.look()
	j.record.Link = &run.Link{Backend: choice.Backend, Why: choice.Why, SelfTest: test}
	return nil
}

// devices is where clients live.
func (j *job) devices() netns.Place {
	if j.network.Network == nil {
		return j.Place
	}
	return j.network.Device()
}

// home is where brokers live.
func (j *job) home() netns.Place {
	if j.network.Network == nil {
		return j.Place
	}
	return j.network.Broker()
}

func (n *network) read() reading {
	up, down := n.Counters()
	return reading{clock.Now(), up, down}
}

// watch reads the counters over the measure window, which starts at the monotonic time measure.
func (n *network) watch(ctx context.Context, measure int64, length time.Duration) {
	if n.Network == nil {
		return
	}
	n.done = make(chan struct{})
	every := max(time.Second, length/mostIntervals)
	go func() {
		defer close(n.done)
		if clock.Pause(ctx, time.Duration(measure-clock.Now())) != nil {
			return
		}
		n.start = n.read()
		last := n.start
		for end := measure + int64(length); last.at < end && ctx.Err() == nil; {
			_ = clock.Pause(ctx, time.Duration(min(last.at+int64(every), end)-clock.Now()))
			next := n.read()
			if next.up.Offered.Packets < last.up.Offered.Packets || next.down.Offered.Packets < last.down.Offered.Packets {
				return // the link has broken and tells nothing more; its Close says why
			}
			n.intervals = append(n.intervals, run.LinkInterval{
				T: next.at - measure, Up: flow(next.up, last.up), Down: flow(next.down, last.down),
			})
			last = next
		}
		n.end = &last
	}()
}

func flow(now, before link.Counters) run.LinkFlow {
	d := now.Since(before)
	f := run.LinkFlow{
		Offered: d.Offered.Bytes, Carried: d.Carried.Bytes, Lost: d.Lost.Bytes, Dropped: d.QueueDropped.Bytes, Outage: d.Outage.Bytes,
		InFlight: now.InFlight.Bytes,
	}
	if accepted := d.Offered.Packets - d.QueueDropped.Packets - d.Outage.Packets; accepted > 0 && d.Waited > 0 {
		f.Wait = d.Waited / time.Duration(accepted)
	}
	return f
}

// closeLink writes down what the link did, and ends it.
func (j *job) closeLink() error {
	n := &j.network
	if n.Network == nil {
		return nil
	}
	if n.done != nil {
		<-n.done
	}
	r, last := j.record.Link, n.read()
	r.Facts, r.Intervals = n.Facts(), n.intervals
	if last.up.Offered.Packets+last.down.Offered.Packets > 0 { // else it does not count
		r.Up, r.Down = &run.LinkWay{Total: last.up}, &run.LinkWay{Total: last.down}
		if n.end != nil {
			r.Up.Measured, r.Down.Measured = n.end.up.Since(n.start.up), n.end.down.Since(n.start.down)
		}
	}
	j.noteSight()
	j.record.Client.CongestionControl = r.Facts.CongestionControl
	if err := n.Close(); err != nil {
		return fmt.Errorf("close the link: %w", err)
	}
	return nil
}
