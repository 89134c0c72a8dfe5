package selftest

import (
	"context"
	"fmt"
	"time"

	"github.com/mqlab/mqlab/internal/faulty"
	"github.com/mqlab/mqlab/internal/plan"
)

// How much later than they should messages may be seen: the way through both processes' sockets and schedulers.
const (
	medianLate = 1 * time.Millisecond
	tailLate   = 10 * time.Millisecond
)

// span returns the reading of a time that must be between at and at+late; it is never allowed to be less.
func (t *tester) span(name string, at, late, measured time.Duration) reading {
	most := at + late + t.Slack
	return reading{
		name: name, expected: fmt.Sprintf("%s-%s ms", millis(at), millis(most)),
		measured: millis(measured), ok: at <= measured && measured <= most, late: measured > most,
	}
}

// amount returns the reading of a number of slow messages of the stall, which must be from least to most.
func (t *tester) amount(name string, least, most, measured int) reading {
	most += int(t.Slack.Seconds() * stallRate)
	return reading{
		name: name, expected: fmt.Sprintf("%d-%d", least, most),
		measured: fmt.Sprint(measured), ok: least <= measured && measured <= most, late: measured > most,
	}
}

// millis writes d in milliseconds with one decimal, rounded down, so that what is just below a bound is not shown as on it.
func millis(d time.Duration) string {
	tenths := d / (100 * time.Microsecond)
	if tenths%10 == 0 || tenths >= 1000 {
		return fmt.Sprint(int64(tenths / 10))
	}
	return fmt.Sprintf("%d.%d", tenths/10, tenths%10)
}

func number[T ~uint64 | ~int](name string, expected, measured T) reading {
	return reading{name: name, expected: fmt.Sprint(expected), measured: fmt.Sprint(measured), ok: expected == measured}
}

const (
	delayRate    = 200
	delaySeconds = 1
)

func steady(p *plan.Params) { p.RatePerS, p.Phases.Measure = delayRate, delaySeconds*time.Second }

// constantDelay measures a broker that keeps every message for 20 ms.
func constantDelay(ctx context.Context, t *tester, c column) ([]reading, error) {
	const delay = 20 * time.Millisecond
	return t.delays(ctx, c, "delay of 20 ms", faulty.Delay{Min: delay, Max: delay})
}

// drawnDelay measures a broker that keeps each message for a time drawn uniformly from 5 to 25 ms. What is expected are not
// the quantiles of that distribution but those of the times that were drawn.
func drawnDelay(ctx context.Context, t *tester, c column) ([]reading, error) {
	return t.delays(ctx, c, "delay of 5-25 ms", faulty.Delay{Min: 5 * time.Millisecond, Max: 25 * time.Millisecond, Overtake: true})
}

func (t *tester) delays(ctx context.Context, c column, name string, d faulty.Delay) ([]reading, error) {
	out, truth, err := measureFaulty(ctx, t.trial(c, steady), faulty.Plan{Seed: 1, Delay: d})
	if err != nil {
		return nil, err
	}
	if err := out.agree(&truth.Total); err != nil {
		return nil, err
	}
	if len(truth.Delays) != delayRate*delaySeconds {
		return nil, fmt.Errorf("%s: %d messages instead of %d", name, len(truth.Delays), delayRate*delaySeconds)
	}
	var readings []reading
	for _, q := range []struct {
		name string
		rank int // nearest rank
		at   float64
		late time.Duration
	}{
		{"p50", delayRate * delaySeconds * 50 / 100, 0.50, medianLate},
		{"p99", delayRate * delaySeconds * 99 / 100, 0.99, tailLate},
	} {
		got, ok := out.response(q.at)
		r := t.span(name+": "+q.name, time.Duration(truth.Delays[q.rank-1]), q.late, time.Duration(got))
		r.ok, r.late = r.ok && ok, r.late && ok
		readings = append(readings, r)
	}
	return readings, nil
}

const (
	stallRate = 100
	stallFor  = 2 * time.Second
	charged   = 50 * time.Millisecond // a response longer than this is the stall's doing
)

// stall measures a broker that stands still for 2 s at 100 msg/s. Every message due more than 50 ms before its end has a
// response above 50 ms: 195, give or take three at the edges. Of a window of ten, no more than ten were under way.
func stall(ctx context.Context, t *tester, c column) ([]reading, error) {
	const window = 10
	trial := t.trial(c, func(p *plan.Params) {
		p.RatePerS, p.Phases.Measure = stallRate, 3*time.Second
		if c.protocol != plan.NATS {
			p.QoS, p.Window = 1, window
		}
	})
	out, truth, err := measureFaulty(ctx, trial, faulty.Plan{Stalls: []faulty.Stall{{At: 500 * time.Millisecond, For: stallFor}}})
	if err != nil {
		return nil, err
	}
	if err := out.agree(&truth.Total); err != nil {
		return nil, err
	}
	slow := out.recount.Above(int64(charged))
	readings := []reading{
		number("stall of 2 s: delivered", 300, out.Counts.Delivered),
		t.amount("stall of 2 s: over 50 ms", 192, 198, slow),
		t.span("stall of 2 s: longest", stallFor-10*time.Millisecond, 10*time.Millisecond+tailLate, time.Duration(out.recount.Longest())),
	}
	if trial.Params.QoS > 0 {
		service := out.recount.ServiceAbove(int64(charged))
		readings = append(readings, t.amount("  by time since sending", 0, window, service))
	}
	return readings, nil
}

// slowReading measures a broker that reads more slowly than messages come: none may be left out, and the last waits for
// all the others.
func slowReading(ctx context.Context, t *tester, c column) ([]reading, error) {
	const (
		rate, size = 400, 16 << 10
		seconds    = 1500 * time.Millisecond
		messages   = 600
		speed      = 3_000_000 // bytes per second
	)
	trial := t.trial(c, func(p *plan.Params) {
		p.RatePerS, p.Phases.Measure, p.PayloadBytes = rate, seconds, size
	})
	out, truth, err := measureFaulty(ctx, trial, faulty.Plan{ReadBytesPerS: speed})
	if err != nil {
		return nil, err
	}
	if err := out.agree(&truth.Total); err != nil {
		return nil, err
	}
	const (
		payloads = time.Duration(messages*size) * time.Second / speed // how long reading takes, headers not counted
		headers  = payloads * 5 / 100                                 // at most
	)
	return []reading{
		number("slow reader: offered", messages, out.Counts.Offered),
		number("slow reader: delivered", messages, out.Counts.Delivered),
		t.span("slow reader: longest", payloads-seconds-50*time.Millisecond, 50*time.Millisecond+headers+tailLate,
			time.Duration(out.recount.Longest())),
	}, nil
}
