package summary

import "github.com/mqlab/mqlab/internal/stat"

// Cost is what a cell's messages took, by the medians of its valid repetitions.
type Cost struct {
	DeliveriesPerBrokerCPU  *float64 `json:"deliveries_per_broker_cpu_second,omitempty"`
	MessagesPerGeneratorCPU *float64 `json:"messages_per_generator_cpu_second,omitempty"` // sent and received, without deliberate spinning
	BytesPerConnection      *float64 `json:"broker_bytes_per_connection,omitempty"`
	BrokerBytes             *float64 `json:"broker_pss_bytes,omitempty"` // at most
}

// CostOf is nil where nothing is known.
func CostOf(trials []*Trial) *Cost {
	inverse := func(ns *float64) *float64 {
		if ns == nil || *ns <= 0 {
			return nil
		}
		return new(1e9 / *ns)
	}
	c := Cost{
		DeliveriesPerBrokerCPU:  medianOf(trials, func(t *Trial) *float64 { return inverse(t.Broker.CPUPerDelivery) }),
		MessagesPerGeneratorCPU: medianOf(trials, func(t *Trial) *float64 { return inverse(t.Generator.CPUPerMessage) }),
		BytesPerConnection:      medianOf(trials, func(t *Trial) *float64 { return toFloat(t.Broker.BytesPerConnection) }),
		BrokerBytes:             medianOf(trials, func(t *Trial) *float64 { return toFloat(t.Broker.PSSBytesMax) }),
	}
	if c == (Cost{}) {
		return nil
	}
	return &c
}

// medianOf is the median of those values that are known, nil if none is.
func medianOf(trials []*Trial, of func(*Trial) *float64) *float64 {
	var values []float64
	for _, t := range trials {
		if v := of(t); v != nil {
			values = append(values, *v)
		}
	}
	if len(values) == 0 {
		return nil
	}
	return new(stat.Median(values))
}

// CommonBottleneck is the verdict that most trials share, the first of them; nil if none has one.
func CommonBottleneck(trials []*Trial) (b *Bottleneck) {
	seen := map[Limiter]int{}
	for _, t := range trials {
		if t.Bottleneck != nil {
			seen[t.Bottleneck.Kind]++
		}
	}
	for _, t := range trials {
		if x := t.Bottleneck; x != nil && (b == nil || seen[x.Kind] > seen[b.Kind]) {
			b = x
		}
	}
	return b
}
