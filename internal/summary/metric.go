package summary

import (
	"math"

	"github.com/mqlab/mqlab/internal/run"
)

// Metric is a figure of a trial by which subjects are compared.
type Metric struct {
	Name   string
	Words  string // in a sentence: "faster at response p50"
	Unit   Unit
	Higher bool // more is better
	Of     func(*Trial) *float64

	// connections is from how many connections of a trial on subjects are compared by it; 0 = always.
	connections int

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
		if v < 0 { // something was freed
			return "-" + Bytes(uint64(0.5-v))
		}
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
	Imbalance    = "imbalance_ratio"

	ConnectPer       = "connect_per_s"
	ConnectP50       = "connect_p50"
	ConnectP99       = "connect_p99"
	ConnectTCP       = "connect_tcp_p50"
	ConnectTLS       = "connect_tls_p50"
	HandshakeUp      = "handshake_bytes_up"
	HandshakeDown    = "handshake_bytes_down"
	HandshakeResumed = "handshakes_resumed_ratio"
	ConnectProtocol  = "connect_protocol_p50"
	MemoryConnection = "bytes_per_connection"
	OutageP50        = "outage_p50"
	OutageMax        = "outage_max"

	VisitsPer  = "visits_per_s"
	VisitP50   = "visit_p50"
	VisitP99   = "visit_p99"
	MemoryKept = "memory_kept"

	NoticeMax        = "notice_max"
	ReconnectMax     = "reconnect_max"
	FirstMessageMax  = "first_message_max"
	DrainMax         = "drain_max"
	KeptRatio        = "kept_ratio"
	BusiestSecond    = "busiest_second"
	BytesPerMessage  = "link_bytes_per_message"
	Retransmitted    = "retransmitted_ratio"
	BytesPerMinute   = "bytes_per_device_minute"
	BytesPerMonth    = "bytes_per_device_month"
	CPUPerMinute     = "cpu_per_device_minute"
	WakeupsPerMinute = "wakeups_per_device_minute"
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
	{Name: Imbalance, Words: "imbalance", Unit: Part, Of: func(t *Trial) *float64 {
		if t.Sharing == nil {
			return nil
		}
		return t.Sharing.Imbalance
	}},
	{Name: ConnectPer, Words: "connections opened per second", Unit: PerSecond, Higher: true, connections: enoughConnections, Of: func(t *Trial) *float64 {
		if t.Connections == nil {
			return nil
		}
		return t.Connections.PerSecond
	}},
	percentile(ConnectP50, "connect p50", 0, connectTime).from(enoughConnections),
	percentile(ConnectP99, "connect p99", 3, connectTime).from(enoughConnections),
	percentile(ConnectTCP, "connect TCP p50", 0, connectTCP).from(enoughConnections),
	percentile(ConnectTLS, "connect TLS p50", 0, connectTLS).from(enoughConnections),
	{Name: HandshakeUp, Words: "bytes up of a TLS handshake", Unit: Size, Of: ofHandshake(func(s *run.TLS) uint64 { return s.BytesUp })},
	{Name: HandshakeDown, Words: "bytes down of a TLS handshake", Unit: Size, Of: ofHandshake(func(s *run.TLS) uint64 { return s.BytesDown })},
	{Name: HandshakeResumed, Words: "TLS handshakes that resumed", Unit: Part, Higher: true, Of: ofHandshake(func(s *run.TLS) uint64 { return s.Resumed })},
	percentile(ConnectProtocol, "connect protocol p50", 0, connectProtocol).from(enoughConnections),
	{Name: MemoryConnection, Words: "memory per connection", Unit: Size, Of: func(t *Trial) *float64 { return toFloat(t.Broker.BytesPerConnection) }},
	{Name: VisitsPer, Words: "visits per second", Unit: PerSecond, Higher: true, Of: ofChurn(func(c *Churn) *float64 { return c.PerSecond })},
	percentile(VisitP50, "visit p50", 0, visits),
	percentile(VisitP99, "visit p99", 3, visits),
	{Name: MemoryKept, Words: "memory kept after churn", Unit: Size, Of: ofChurn(func(c *Churn) *float64 { return toFloat(c.Kept) })},
	percentile(OutageP50, "outage p50", 0, outage),
	longest(OutageMax, "outage max", outage),
	longest(NoticeMax, "time to notice an outage", recovering(func(r *Recovery) *Quantiles { return r.Notice })),
	longest(ReconnectMax, "time to reconnect", recovering(func(r *Recovery) *Quantiles { return r.Reconnect })),
	longest(FirstMessageMax, "time to the first message", recovering(func(r *Recovery) *Quantiles { return r.FirstMessage })),
	longest(DrainMax, "time to drain a backlog", recovering(func(r *Recovery) *Quantiles { return r.Drain })),
	{Name: KeptRatio, Words: "messages kept for who is away", Unit: Part, Higher: true, Of: func(t *Trial) *float64 { return t.Recovery.Kept() }},
	{Name: BusiestSecond, Words: "returns in the busiest second", Unit: Part, Of: func(t *Trial) *float64 {
		if t.Recovery == nil {
			return nil
		}
		return t.Recovery.BusiestSecond
	}},
	{Name: BytesPerMessage, Words: "bytes on the link per message", Unit: Size, Of: bytesPerMessage},
	{Name: Retransmitted, Words: "segments sent again", Unit: Part, Of: retransmitted},
	{Name: BytesPerMinute, Words: "bytes per device and minute", Unit: Size, Of: ofEnergy(func(e *Energy) *float64 { return new(e.BytesUp + e.BytesDown) })},
	{Name: BytesPerMonth, Words: "bytes per device and month", Unit: Size, Of: ofEnergy(func(e *Energy) *float64 { return &e.Month })},
	{Name: CPUPerMinute, Words: "client CPU per device and minute", Unit: Nanoseconds, Of: ofEnergy(func(e *Energy) *float64 { return e.CPU })},
	{Name: WakeupsPerMinute, Words: "wake-ups per device and minute", Unit: Messages, Of: ofEnergy(func(e *Energy) *float64 { return e.Wakeups })},
}

// ofHandshake is a figure of all TLS handshakes of a trial for each of them; nil where there was none.
func ofHandshake(total func(*run.TLS) uint64) func(*Trial) *float64 {
	return func(t *Trial) *float64 {
		s := t.Client.TLS
		if s == nil || s.Handshakes == 0 {
			return nil
		}
		return new(float64(total(s)) / float64(s.Handshakes))
	}
}

// longest is the metric of the largest of some times.
func longest(name, words string, of func(*Trial) *Quantiles) Metric {
	return Metric{Name: name, Words: words, Unit: Nanoseconds, times: of, percentile: "max", Of: func(t *Trial) *float64 {
		if q := of(t); q != nil {
			return toFloat(q.Max)
		}
		return nil
	}}
}

// recovering are times of a trial with outages.
func recovering(of func(*Recovery) *Quantiles) func(*Trial) *Quantiles {
	return func(t *Trial) *Quantiles {
		if t.Recovery == nil {
			return nil
		}
		return of(t.Recovery)
	}
}

// from makes a metric one that few connections are not compared by.
func (m Metric) from(connections int) Metric {
	m.connections = connections
	return m
}

func ofChurn(of func(*Churn) *float64) func(*Trial) *float64 {
	return func(t *Trial) *float64 {
		if t.Churn == nil {
			return nil
		}
		return of(t.Churn)
	}
}

var (
	connectTime     = connecting(func(c *Connections) *Quantiles { return c.Connect })
	connectTCP      = connecting(func(c *Connections) *Quantiles { return c.TCP })
	connectTLS      = connecting(func(c *Connections) *Quantiles { return c.TLS })
	connectProtocol = connecting(func(c *Connections) *Quantiles { return c.Protocol })
	outage          = connecting(func(c *Connections) *Quantiles { return c.Outage })
)

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
