package summary

import "math"

// Metric is a figure of a trial by which subjects are compared.
type Metric struct {
	Name   string
	Words  string // in a sentence: "faster at response p50"
	Unit   Unit
	Higher bool // more is better
	Of     func(*Trial) *float64

	times      func(*Trial) *Quantiles // where the metric is a percentile: of this
	percentile string                  // and its name
}

// Unit says in what a Metric is measured.
type Unit string

// The units of metrics.
const (
	Nanoseconds Unit = "ns"
	PerSecond   Unit = "per_s"
	Part        Unit = "ratio"
	Size        Unit = "bytes"
	Messages    Unit = "messages"
)

// Format writes a figure of this unit.
func (u Unit) Format(v float64) string {
	switch u {
	case Nanoseconds:
		return Duration(int64(v + 0.5))
	case PerSecond:
		return Number(v)
	case Part:
		return Ratio(v)
	case Size:
		return Bytes(uint64(v + 0.5))
	case Messages:
		if v == math.Trunc(v) {
			return Count(uint64(v))
		}
	}
	return Number(v)
}

// Names of the metrics that reports pick out.
const (
	ResponseP50  = "response_p50"
	ResponseP99  = "response_p99"
	DeliveredPer = "delivered_per_s"
	LostRatio    = "lost_ratio"
	BrokerCPU    = "broker_cpu_per_delivery"
	BrokerPSS    = "broker_pss_max"
)

// Metrics are those that are compared, in the order of reports.
var Metrics = []Metric{
	percentile(ResponseP50, "response p50", 0, response),
	percentile("response_p90", "response p90", 1, response),
	percentile(ResponseP99, "response p99", 3, response),
	percentile("response_p999", "response p99.9", 4, response),
	percentile("service_p50", "service p50", 0, service),
	percentile("service_p99", "service p99", 3, service),
	percentile("ack_p50", "acknowledgement p50", 0, acknowledgement),
	percentile("ack_p99", "acknowledgement p99", 3, acknowledgement),
	{Name: DeliveredPer, Words: "deliveries per second", Unit: PerSecond, Higher: true, Of: func(t *Trial) *float64 { return t.Rates.Delivered }},
	{Name: LostRatio, Words: "lost deliveries", Unit: Part, Of: func(t *Trial) *float64 { return lostRatio(&t.Counts) }},
	{Name: BrokerCPU, Words: "broker CPU per delivery", Unit: Nanoseconds, Of: func(t *Trial) *float64 { return t.Broker.CPUPerDelivery }},
	{Name: BrokerPSS, Words: "broker memory", Unit: Size, Of: func(t *Trial) *float64 { return toFloat(t.Broker.PSSBytesMax) }},
}

func response(t *Trial) *Quantiles        { return t.Latency.Response }
func service(t *Trial) *Quantiles         { return t.Latency.Service }
func acknowledgement(t *Trial) *Quantiles { return t.Latency.Ack }

// percentile is the metric of one of Percentiles.
func percentile(name, words string, p int, of func(*Trial) *Quantiles) Metric {
	return Metric{Name: name, Words: words, Unit: Nanoseconds, times: of, percentile: Percentiles[p].Name, Of: func(t *Trial) *float64 {
		q := of(t)
		if q == nil {
			return nil
		}
		return toFloat(*Percentiles[p].Of(q))
	}}
}

func achieved(t *Trial) *float64 { return t.Rates.Achieved }

func lostRatio(c *Counts) *float64 {
	lost, expected := c.Lost, c.Expected
	if lost == nil || expected == nil || *expected == 0 {
		return nil
	}
	return new(float64(*lost) / float64(*expected))
}

func toFloat[T int64 | uint64](v *T) *float64 {
	if v == nil {
		return nil
	}
	return new(float64(*v))
}
