package capacity

import (
	"cmp"
	"slices"

	"github.com/mqlab/mqlab/internal/search"
	"github.com/mqlab/mqlab/internal/stat"
	"github.com/mqlab/mqlab/internal/summary"
)

// Value is what was seen at one value that was tried: medians over its probes that could be measured, nil where none of them knows.
type Value struct {
	Value              float64
	Probes, Held       int      // Probes are those that could be measured
	Unmeasured         int      // those that could not
	Offered, Delivered *float64 // deliveries per second
	P50, P99           *float64 // of the response time, ns; nil also where it is among messages that did not come
	Lost               *uint64  // sum over those that were not stopped
	Thread             *float64 // how busy the broker's busiest thread was

	trials, spoilt []*summary.Trial // measured, and not
}

// Values are what was seen, ascending.
func (r *Result) Values() (values []Value) {
	for i := range r.Probes {
		p := &r.Probes[i]
		n := slices.IndexFunc(values, func(v Value) bool { return v.Value == p.Value })
		if n < 0 {
			n = len(values)
			values = append(values, Value{Value: p.Value})
		}
		v := &values[n]
		if p.Outcome == search.Unmeasured {
			v.Unmeasured++
			v.spoilt = append(v.spoilt, p.trial)
			continue
		}
		if p.Outcome == search.Held {
			v.Held++
		}
		v.Probes++
		v.trials = append(v.trials, p.trial)
	}
	for i := range values {
		values[i].fill()
	}
	slices.SortFunc(values, func(a, b Value) int { return cmp.Compare(a.Value, b.Value) })
	return values
}

func (v *Value) fill() {
	v.Offered = v.median(func(t *summary.Trial) *float64 { return t.Rates.Expected })
	v.Delivered = v.median(func(t *summary.Trial) *float64 { return t.Rates.Delivered })
	v.P50 = v.median(func(t *summary.Trial) *float64 { return response(t, 0) })
	v.P99 = v.median(func(t *summary.Trial) *float64 { return response(t, 3) })
	v.Thread = v.median(func(t *summary.Trial) *float64 { return t.Broker.ThreadBusy })
	for _, t := range v.trials {
		if n := t.Counts.Lost; n != nil {
			sum := *n
			if v.Lost != nil {
				sum += *v.Lost
			}
			v.Lost = &sum
		}
	}
}

// median is that of all measured probes: where most of them do not know, it is not known.
func (v *Value) median(of func(*summary.Trial) *float64) *float64 {
	var known []float64
	for _, t := range v.trials {
		if x := of(t); x != nil {
			known = append(known, *x)
		}
	}
	if len(known) == 0 || 2*len(known) <= len(v.trials) {
		return nil
	}
	return new(stat.Median(known))
}

// response is one of summary.Percentiles of the response time.
func response(t *summary.Trial, i int) *float64 {
	q := t.Latency.Response
	if q == nil {
		return nil
	}
	if v := *summary.Percentiles[i].Of(q); v != nil {
		return new(float64(*v))
	}
	return nil
}

// Bottleneck is the kind that most of the measured probes show, or of the others where there are no such; "–" if none shows one.
func (v *Value) Bottleneck() string {
	trials := v.trials
	if len(trials) == 0 {
		trials = v.spoilt
	}
	if b := summary.CommonBottleneck(trials); b != nil {
		return string(b.Kind)
	}
	return "–"
}

// Cost is what messages took at the value that is sustained; nil if it is not known.
func (r *Result) Cost() *summary.Cost {
	if r.Sustainable == nil {
		return nil
	}
	var held []*summary.Trial
	for i := range r.Probes {
		if p := &r.Probes[i]; p.Value == *r.Sustainable && p.Outcome == search.Held {
			held = append(held, p.trial)
		}
	}
	return summary.CostOf(held)
}
