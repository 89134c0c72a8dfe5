// Package selftest proves on the spot that the lab measures right: it measures a broker with known faults, and a foreign broker
// behind a relay with known faults, through each engine and protocol, and prints what should come out beside what did.
// An independent oracle recounts every trial from its samples. Last, it measures the floor of this host: what no
// measurement here can be better than.
package selftest

import (
	"context"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/plan"
)

// Options are what Run can be told.
type Options struct {
	// Guard ends the foreign broker if this program cannot; nil = the checks that need a foreign broker are left out, and
	// a line says so.
	Guard *guard.Guard
	// Slack is added to every upper bound of a time, for a machine that is known to be busy.
	Slack time.Duration
}

// column is one way through the lab: the checks are done for each.
type column struct{ engine, protocol string }

func (c column) String() string { return c.engine + " " + c.protocol }

func columns() []column {
	all := []column{{plan.EngineGoroutine, plan.MQTT5}, {plan.EngineGoroutine, plan.NATS}}
	if runtime.GOOS == "linux" {
		all = append([]column{{plan.EngineLoop, plan.MQTT5}, {plan.EngineLoop, plan.NATS}}, all...)
	}
	return all
}

// reading is one line of one column.
type reading struct {
	name, expected, measured string
	ok                       bool
	late                     bool // not ok, but only because a time is above its upper bound
}

// check measures something through one column. No readings mean that it does not apply there. A check that gives readings
// gives the same ones, by name, for every column.
type check func(ctx context.Context, t *tester, c column) ([]reading, error)

// stage is a set of checks that may run at the same time; in a quiet stage one trial runs at a time.
type stage struct {
	quiet  bool
	checks []check
}

func stages(o Options) []stage {
	s := []stage{
		{quiet: true, checks: []check{constantDelay, drawnDelay}},
		{checks: []check{stall, slowReading}},
		{checks: []check{messageFaults, lateSubscription, noAcks}},
	}
	if o.Guard != nil {
		s = append(s, stage{checks: []check{foreignBroker}})
	}
	return s
}

// A busy host makes times longer now and then; a lab that measures wrong does so each time. Therefore a check is tried
// again if nothing but an upper bound was missed, and the table says so.
const (
	maxTries = 3
	tryUntil = 25 * time.Second // since the start of the self-test, so that it ends in time
)

// tester is a self-test under way.
type tester struct {
	Options
	columns []column
	trials  atomic.Int32
	again   time.Time // until when checks may be tried again
	out     table
}

// Run carries out the self-test and writes its table to w. ok tells whether everything came out as expected; err, that
// it could not be carried out or written.
func Run(ctx context.Context, w io.Writer, o Options) (ok bool, err error) {
	t := &tester{Options: o, columns: columns(), again: time.Now().Add(tryUntil), out: table{w: w}}
	t.out.header(t.columns)
	for _, s := range stages(o) {
		t.run(ctx, s)
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
	}
	if o.Guard == nil {
		t.out.note("left out: a foreign broker behind a relay")
	}
	if err := t.floor(ctx); err != nil {
		return false, err
	}
	t.out.verdict()
	return t.out.failed == 0, t.out.err
}

// run carries out a stage and prints the lines of each check as soon as they are complete.
func (t *tester) run(ctx context.Context, s stage) {
	results := make([][]result, len(s.checks))
	var wg sync.WaitGroup
	for i, check := range s.checks {
		results[i] = make([]result, len(t.columns))
		for j, c := range t.columns {
			r := &results[i][j]
			if s.quiet {
				*r = t.try(ctx, check, c)
				continue
			}
			wg.Go(func() { *r = t.try(ctx, check, c) })
		}
	}
	wg.Wait()
	for _, r := range results {
		t.out.lines(t.columns, r)
	}
}

func (t *tester) try(ctx context.Context, check check, c column) (r result) {
	for r.tries < maxTries && (r.tries == 0 || r.onlyLate() && time.Now().Before(t.again)) {
		r.readings, r.err = check(ctx, t, c)
		r.tries++
	}
	return r
}

// trial returns a trial with an id of its own.
func (t *tester) trial(c column, tune func(p *plan.Params)) plan.Trial {
	return trialOf(int(t.trials.Add(1)), c.engine, c.protocol, tune)
}

// result is what a check says of one column.
type result struct {
	readings []reading
	err      error
	tries    int
}

// onlyLate tells that the check failed, for no other reason than times above their upper bounds.
func (r *result) onlyLate() bool {
	late := false
	for _, reading := range r.readings {
		if !reading.ok && !reading.late {
			return false
		}
		late = late || reading.late
	}
	return late && r.err == nil
}
