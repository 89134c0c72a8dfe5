package trial

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/mqlab/mqlab/internal/link/emulate"
	"github.com/mqlab/mqlab/internal/link/linktest"
	"github.com/mqlab/mqlab/internal/run"
)

// linkTests are the results of the links that a run has tested: a link is tested once.
type linkTests struct {
	mu   sync.Mutex
	done map[emulate.Key]*run.LinkTest
}

// test returns what a test of the link says; the link of the trial itself is another one, whose chances are not used up. A backend that
// counts no packets is not tested, nil.
func (l *linkTests) test(ctx context.Context, o emulate.Options, lab *Lab) (*run.LinkTest, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := o.Key()
	if t, ok := l.done[key]; ok {
		return t, nil
	}
	if lab.Say != nil {
		lab.Say(fmt.Sprintf("testing link %s: does it do what it is told?", o.Profile.Name))
	}
	t, err := testLink(ctx, o, lab.LinkTest)
	if err != nil {
		return nil, err
	}
	if l.done == nil {
		l.done = map[emulate.Key]*run.LinkTest{}
	}
	l.done[key] = t
	return t, nil
}

func testLink(ctx context.Context, o emulate.Options, how linktest.Options) (t *run.LinkTest, err error) {
	n, choice, err := emulate.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
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
