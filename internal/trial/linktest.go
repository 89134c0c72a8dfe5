package trial

import (
	"context"
	"fmt"
	"sync"

	"github.com/mqlab/mqlab/internal/link/emulate"
	"github.com/mqlab/mqlab/internal/link/linktest"
	"github.com/mqlab/mqlab/internal/run"
)

// LinkTests are the tests of a run's links that were passed. The zero value is ready.
type LinkTests struct {
	mu   sync.Mutex
	done map[emulate.Key]*run.LinkTest
}

// testLink returns what a test of the link says; the link of the trial itself is another one, whose chances are not used up. A test that
// was not passed, as on a host that was busy at the time, is made again before the next trial. A backend that counts no packets is
// not tested, nil.
func (l *Lab) testLink(ctx context.Context, o emulate.Options) (*run.LinkTest, error) {
	kept := l.Links
	if kept == nil {
		kept = new(LinkTests)
	}
	kept.mu.Lock()
	defer kept.mu.Unlock()
	key := o.Key()
	if t, ok := kept.done[key]; ok {
		return t, nil
	}
	if l.Say != nil {
		l.Say(fmt.Sprintf("testing link %s: does it do what it is told?", o.Profile.Name))
	}
	t, err := probeLink(ctx, o, l.LinkTest)
	if err != nil {
		return nil, err
	}
	if kept.done == nil {
		kept.done = map[emulate.Key]*run.LinkTest{}
	}
	if t == nil || t.Pass {
		kept.done[key] = t
	}
	return t, nil
}

// probeLink tests a link of its own.
func probeLink(ctx context.Context, o emulate.Options, how linktest.Options) (t *run.LinkTest, err error) {
	n, choice, err := emulate.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() {
		if broken := n.Close(); broken != nil {
			err = broken // it is the cause of what the test ran into
		}
	}()
	if choice.Backend == emulate.Toxiproxy {
		return nil, nil
	}
	r, err := linktest.Run(ctx, n, o.Profile, how)
	if err != nil {
		return nil, fmt.Errorf("test of link %s: %w", o.Profile.Name, err)
	}
	t = &run.LinkTest{
		Backend: r.Backend, Probes: r.Probes, Took: r.Took, Untested: r.Untested, Late: r.Late, Overrun: r.Overrun, Pass: r.Pass, Why: r.Why,
	}
	for _, c := range r.Checks {
		t.Checks = append(t.Checks, run.LinkCheck{
			Direction: c.Direction, What: c.What, Configured: c.Configured, Achieved: c.Achieved, Low: c.Interval.Low, High: c.Interval.High,
			Tolerance: c.Tolerance, Samples: c.Samples, Pass: c.Pass,
		})
	}
	return t, nil
}
