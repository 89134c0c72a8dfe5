package summary

import (
	"math"
	"slices"

	"github.com/mqlab/mqlab/internal/hist"
)

// pool takes a percentile over the messages of all valid repetitions at once, where each of them has too few messages and all together have
// enough, and returns why there is no ranking by it; "" if that gives none.
func (s *Standing) pool(trials []*Trial, m *Metric) (why string) {
	at := slices.IndexFunc(Percentiles, func(p Percentile) bool { return p.Name == m.percentile })
	if m.times == nil || at < 0 {
		return ""
	}
	p := &Percentiles[at]
	all, expected, repetitions := hist.New(), uint64(0), 0
	for _, t := range trials {
		if t.Validity == Invalid {
			continue
		}
		q := m.times(t)
		if q == nil || q.of == nil || !slices.Contains(q.TooFew, p.Name) {
			return ""
		}
		all.Merge(q.of)
		expected += q.Expected
		repetitions++
	}
	if expected < p.Need {
		return ""
	}
	v, ok := all.QuantileOf(p.Q, int64(expected))
	if !ok || v > hist.MaxValue {
		s.Lost, s.Pooled = true, expected
		return whyLost
	}
	s.Median, s.Pooled, s.Repetitions = new(float64(v)), expected, repetitions
	s.Excluded = slices.DeleteFunc(s.Excluded, func(x Excluded) bool { return x.Why == whyFew })
	if low, high, ok := orderInterval(all, p.Q, expected); ok {
		s.CILow, s.CIHigh = &low, &high
	}
	return whyPooled
}

// orderInterval is the 95 % interval of a quantile by order statistics: how many of n independent messages are below it is binomial, here
// by its normal approximation (David and Nagaraja, Order Statistics, 7.1). ok is false where its end falls among lost messages, or
// beyond the slowest.
func orderInterval(h *hist.Hist, q float64, n uint64) (low, high float64, ok bool) {
	const z = 1.96
	spread := z * math.Sqrt(q*(1-q)/float64(n))
	if q-spread <= 0 || q+spread >= 1 {
		return 0, 0, false
	}
	from, okLow := h.QuantileOf(q-spread, int64(n))
	until, okHigh := h.QuantileOf(q+spread, int64(n))
	return float64(from), float64(until), okLow && okHigh && until <= hist.MaxValue
}
