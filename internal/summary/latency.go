package summary

import (
	"math"

	"github.com/mqlab/mqlab/internal/hist"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/run"
)

// Latency are the parts of a message's way; see ledger.Metric.
type Latency struct {
	Response *Quantiles `json:"response,omitempty"`  // over the deliveries expected
	Service  *Quantiles `json:"service,omitempty"`   // over the deliveries expected of messages that were sent
	Ack      *Quantiles `json:"ack,omitempty"`       // over the messages sent with a guarantee
	Kernel   *Quantiles `json:"kernel,omitempty"`    // over those with an exact kernel timestamp: see coverage
	Client   *Quantiles `json:"client,omitempty"`    // likewise
	Blocked  *Quantiles `json:"blocked,omitempty"`   // over those that had to wait
	FirstLeg *Quantiles `json:"first_leg,omitempty"` // of a bridge: over the deliveries expected
}

// Quantiles describe a distribution of times in nanoseconds.
//
// Percentiles are over Expected messages. Where some of those did not arrive there is no mean, maximum or standard
// deviation, and no percentile beyond LostFrom. Percentiles that TooFew names do not exist for want of messages: the
// percentile q needs 10/(1-q) of them.
type Quantiles struct {
	Count    uint64   `json:"count"`              // times recorded
	Expected uint64   `json:"expected"`           // times there should have been
	Coverage *float64 `json:"coverage,omitempty"` // part of the deliveries that have this time; only where not all can
	Min      *int64   `json:"min_ns,omitempty"`
	Mean     *int64   `json:"mean_ns,omitempty"`
	P50      *int64   `json:"p50_ns,omitempty"`
	P90      *int64   `json:"p90_ns,omitempty"`
	P95      *int64   `json:"p95_ns,omitempty"`
	P99      *int64   `json:"p99_ns,omitempty"`
	P999     *int64   `json:"p999_ns,omitempty"`
	Max      *int64   `json:"max_ns,omitempty"`
	StdDev   *int64   `json:"stddev_ns,omitempty"`
	// LostFrom is the quantile from which on all is lost, HighestKnown the largest time that is known.
	LostFrom     *float64 `json:"lost_from_quantile,omitempty"`
	HighestKnown *int64   `json:"highest_known_ns,omitempty"`
	TooFew       []string `json:"too_few_for,omitempty"`
	of           *hist.Hist
}

// Percentile is one of the quantiles that are reported.
type Percentile struct {
	Name  string // in JSON
	Words string // for people
	Q     float64
	Need  uint64 // messages it takes: 10/(1-Q)
	Of    func(*Quantiles) **int64
}

// Percentiles are those of Quantiles, ascending.
var Percentiles = []Percentile{
	{"p50", "p50", 0.5, 20, func(q *Quantiles) **int64 { return &q.P50 }},
	{"p90", "p90", 0.9, 100, func(q *Quantiles) **int64 { return &q.P90 }},
	{"p95", "p95", 0.95, 200, func(q *Quantiles) **int64 { return &q.P95 }},
	{"p99", "p99", 0.99, 1000, func(q *Quantiles) **int64 { return &q.P99 }},
	{"p999", "p99.9", 0.999, 10000, func(q *Quantiles) **int64 { return &q.P999 }},
}

// quantilesOf describes h, of which expected values should have been recorded. It is nil if nothing was expected. Values
// beyond the range of the histogram count as not arrived: all that is known is that they are later than any other.
func quantilesOf(h *hist.Hist, expected uint64) *Quantiles {
	if expected == 0 {
		return nil
	}
	if h == nil {
		h = new(hist.Hist)
	}
	q := &Quantiles{Count: uint64(h.Count()), Expected: expected, of: h}
	for _, p := range Percentiles {
		if expected < p.Need {
			q.TooFew = append(q.TooFew, p.Name)
		} else if v, ok := h.QuantileOf(p.Q, int64(expected)); ok && v <= hist.MaxValue {
			*p.Of(q) = &v
		}
	}
	inRange := q.Count - uint64(h.Overflow())
	if inRange > 0 {
		q.Min = new(h.Min())
	}
	if inRange < expected {
		q.LostFrom = new(float64(inRange) / float64(expected))
		if v, ok := h.QuantileOf(*q.LostFrom, int64(expected)); ok && inRange > 0 {
			q.HighestKnown = &v
		}
		return q
	}
	q.Max = new(h.Max())
	q.Mean = new(int64(math.Round(h.Mean())))
	q.StdDev = new(int64(math.Round(h.StdDev())))
	return q
}

// recorded describes h over what was recorded, for times that not every message has.
func recorded(h *hist.Hist) *Quantiles {
	if h == nil {
		return nil
	}
	return quantilesOf(h, uint64(h.Count()))
}

// covering is recorded with the part of the deliveries that it covers.
func covering(h *hist.Hist, delivered uint64) *Quantiles {
	q := recorded(h)
	if q != nil && delivered > 0 {
		q.Coverage = new(float64(q.Count) / float64(delivered))
	}
	return q
}

// due is how many values a distribution of a trial should have: of what was recorded, where not every message has one.
func due(m ledger.Metric, h *hist.Hist, c *ledger.Counts) uint64 {
	switch {
	case m == ledger.Response, m == ledger.FirstLeg && h != nil:
		return c.Expected
	case m == ledger.Service:
		return c.Expected - min(c.Expected, c.UndeliveredUnsent)
	case m == ledger.Ack:
		return c.Acked + c.Unconfirmed + c.Refused
	case h == nil:
		return 0
	}
	return uint64(h.Count())
}

// Distribution returns the times of a trial by one metric, and how many there should be: the rest was lost. The histogram is nil
// if none was recorded.
func Distribution(rec *run.Trial, m ledger.Metric) (h *hist.Hist, expected uint64) {
	f := fold(rec)
	c := f.due()
	if m == ledger.Ack && !f.guaranteed() {
		return nil, 0
	}
	return f.hists[m], due(m, f.hists[m], &c)
}

func latencyOf(hists *[ledger.NumMetrics]*hist.Hist, c *ledger.Counts, guaranteed bool) Latency {
	l := Latency{
		Response: quantilesOf(hists[ledger.Response], due(ledger.Response, nil, c)),
		Service:  quantilesOf(hists[ledger.Service], due(ledger.Service, nil, c)),
		Kernel:   covering(hists[ledger.Kernel], c.Delivered),
		Client:   covering(hists[ledger.Client], c.Delivered),
		Blocked:  recorded(hists[ledger.Blocked]),
	}
	if h := hists[ledger.FirstLeg]; h != nil {
		l.FirstLeg = quantilesOf(h, due(ledger.FirstLeg, h, c))
	}
	if guaranteed {
		l.Ack = quantilesOf(hists[ledger.Ack], due(ledger.Ack, nil, c))
	}
	return l
}
