package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/summary"
)

// CSV writes one row per trial. Columns are named as in JSON, nested names joined by _; what is unknown is empty.
func CSV(w io.Writer, s *summary.Summary) error {
	c := csv.NewWriter(w)
	for i := range s.Trials {
		r := csvRow(s, &s.Trials[i])
		if i == 0 {
			_ = c.Write(r.names)
		}
		_ = c.Write(r.values) // the writer keeps its error
	}
	if len(s.Trials) == 0 {
		_ = c.Write(csvRow(s, new(summary.Trial)).names)
	}
	c.Flush()
	return c.Error()
}

// csvFields are the names and values of one row.
type csvFields struct{ names, values []string }

func (r *csvFields) add(name string, value any) {
	r.names = append(r.names, name)
	r.values = append(r.values, csvValue(value))
}

// csvValue writes numbers as JSON does; nil pointers are empty.
func csvValue(v any) string {
	switch v := v.(type) {
	case *uint64:
		if v != nil {
			return strconv.FormatUint(*v, 10)
		}
	case *int64:
		if v != nil {
			return strconv.FormatInt(*v, 10)
		}
	case *bool:
		if v != nil {
			return strconv.FormatBool(*v)
		}
	case *float64:
		if v != nil {
			return strconv.FormatFloat(*v, 'g', -1, 64)
		}
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case time.Time:
		if !v.IsZero() {
			return v.Format(time.RFC3339Nano)
		}
	default:
		return fmt.Sprint(v)
	}
	return ""
}

func csvRow(s *summary.Summary, t *summary.Trial) *csvFields {
	r := new(csvFields)
	r.add("run_id", s.Run.ID)
	r.add("scenario", s.Run.Scenario)
	r.add("seed", s.Run.Seed)
	r.add("id", t.ID)
	r.add("cell", t.Cell)
	r.add("point", t.Point)
	r.add("repetition", t.Repetition)
	r.add("started", t.Started)
	r.add("subject", t.Subject.Name)
	r.add("broker", t.Subject.Broker)
	r.add("broker_version", t.Subject.Version)
	r.add("runtime", t.Subject.Runtime)
	r.add("variant", t.Subject.Variant)
	r.add("publish_protocol", t.Subject.Publish.Protocol)
	r.add("publish_client", t.Subject.Publish.Client)
	r.add("subscribe_protocol", t.Subject.Subscribe.Protocol)
	r.add("subscribe_client", t.Subject.Subscribe.Client)
	r.add("guarantee", t.Guarantee)
	r.add("durability", t.Durability)
	r.params(&t.Params)
	r.add("state", t.State)
	r.add("validity", t.Validity)
	r.add("reasons", reasonCodes(t.Reasons))
	r.add("measured_ns", t.Measured)
	for _, f := range summary.CountFields {
		r.add(f.Name, *f.Of(&t.Counts))
	}
	r.add("offered_per_s", t.Rates.Offered)
	r.add("expected_per_s", t.Rates.Expected)
	r.add("sent_per_s", t.Rates.Sent)
	r.add("delivered_per_s", t.Rates.Delivered)
	r.add("achieved_ratio", t.Rates.Achieved)
	l := &t.Latency
	r.quantiles("response", l.Response)
	r.quantiles("service", l.Service)
	r.quantiles("ack", l.Ack)
	r.quantiles("kernel", l.Kernel)
	r.quantiles("client", l.Client)
	r.quantiles("blocked", l.Blocked)
	r.quantiles("first_leg", l.FirstLeg)
	r.generator(&t.Generator)
	r.placement(t.Placement)
	r.broker(&t.Broker)
	r.connections(t)
	r.causes(t)
	return r
}

// causes are what held a trial back, and the strongest cause of its slow messages.
func (r *csvFields) causes(t *summary.Trial) {
	var limiter, used any = "", ""
	if b := t.Bottleneck; b != nil {
		limiter, used = b.Kind, b.Used
	}
	r.add("bottleneck_kind", limiter)
	r.add("bottleneck_used_ratio", used)
	var cause, share any = "", ""
	if len(t.Findings) > 0 {
		cause = t.Findings[0].Cause
		if s := t.Findings[0].Share; s > 0 {
			share = s
		}
	}
	r.add("findings_cause", cause)
	r.add("findings_share", share)
}

func (r *csvFields) params(p *plan.Params) {
	r.add("pattern", p.Pattern)
	r.add("publishers", p.Publishers)
	r.add("subscribers", p.Subscribers)
	r.add("rate_per_s", p.RatePerS)
	r.add("pacing", p.Pacing)
	r.add("payload_bytes", p.PayloadBytes)
	r.add("payload_form", p.PayloadForm)
	r.add("qos", p.QoS)
	r.add("window", p.Window)
	var set []string
	for _, a := range p.Set {
		set = append(set, a.Key+"="+a.Value)
	}
	r.add("set", strings.Join(set, ";"))
}

// reasonCodes joins the codes of warnings and what invalidates.
func reasonCodes(reasons []summary.Reason) string {
	var codes []string
	for _, x := range reasons {
		codes = append(codes, x.Code)
	}
	return strings.Join(codes, ";")
}

func (r *csvFields) quantiles(name string, q *summary.Quantiles) {
	if q == nil {
		q = new(summary.Quantiles)
		r.add(name+"_count", "")
		r.add(name+"_expected", "")
	} else {
		r.add(name+"_count", q.Count)
		r.add(name+"_expected", q.Expected)
	}
	r.add(name+"_min_ns", q.Min)
	r.add(name+"_mean_ns", q.Mean)
	for _, p := range summary.Percentiles {
		r.add(name+"_"+p.Name+"_ns", *p.Of(q))
	}
	r.add(name+"_max_ns", q.Max)
	r.add(name+"_stddev_ns", q.StdDev)
	r.add(name+"_lost_from_quantile", q.LostFrom)
	r.add(name+"_highest_known_ns", q.HighestKnown)
}

func (r *csvFields) placement(p *run.Placement) {
	if p == nil {
		p = new(run.Placement)
	}
	r.add("placement_broker_cores", p.BrokerCores)
	r.add("placement_generator_cores", p.GeneratorCores)
	r.add("placement_shared", p.Shared)
}

func (r *csvFields) generator(g *summary.Generator) {
	r.add("generator_processes", positive(g.Processes))
	r.quantiles("lateness", g.Lateness)
	r.add("generator_cpu_seconds", g.CPUSeconds)
	r.add("generator_spin_seconds", g.SpinSeconds)
	r.add("generator_cores", g.Cores)
	r.add("generator_cpu_ns_per_message", g.CPUPerMessage)
	r.add("generator_rss_bytes", g.RSSBytes)
	r.add("generator_gc_pause_total_ns", g.GCPauseTotal)
	r.add("generator_gc_pause_max_ns", g.GCPauseMax)
	r.add("generator_skipped_sends", g.SkippedSends)
	r.add("generator_throttled_ratio", g.Throttled)
}

func (r *csvFields) broker(b *summary.Broker) {
	r.add("broker_cpu_seconds", b.CPUSeconds)
	r.add("broker_cpu_percent_mean", b.CPUPercentMean)
	r.add("broker_cpu_percent_max", b.CPUPercentMax)
	r.add("broker_cpu_ns_per_delivery", b.CPUPerDelivery)
	r.add("broker_pss_bytes_mean", b.PSSBytesMean)
	r.add("broker_pss_bytes_max", b.PSSBytesMax)
	r.add("broker_rss_bytes_max", b.RSSBytesMax)
	r.add("broker_busiest_thread_ratio", b.ThreadBusy)
	r.add("broker_busiest_thread_waited_ratio", b.ThreadWaited)
}

func (r *csvFields) connections(t *summary.Trial) {
	c := t.Connections
	known := c != nil
	if !known {
		c = new(summary.Connections)
	}
	for _, f := range []struct {
		name  string
		value uint64
	}{
		{"attempted", c.Attempted}, {"established", c.Established}, {"failed", c.Failed}, {"lost", c.Lost}, {"reconnected", c.Reconnected},
	} {
		if known {
			r.add("connections_"+f.name, f.value)
		} else {
			r.add("connections_"+f.name, "")
		}
	}
	r.quantiles("connect", c.Connect)
	r.quantiles("connect_tcp", c.TCP)
	r.quantiles("connect_tls", c.TLS)
	r.quantiles("connect_protocol", c.Protocol)
	r.quantiles("outage", c.Outage)
	r.add("connect_per_s", c.PerSecond)
	r.add("broker_bytes_per_connection", t.Broker.BytesPerConnection)
	r.churn(t.Churn)
	var imbalance *float64
	if t.Sharing != nil {
		imbalance = t.Sharing.Imbalance
	}
	r.add("imbalance_ratio", imbalance)
	var up, down, again *uint64
	if t.Wire != nil {
		up, down, again = t.Wire.BytesUp, t.Wire.BytesDown, t.Wire.Retransmitted
	}
	r.add("wire_bytes_up", up)
	r.add("wire_bytes_down", down)
	r.add("wire_retransmitted_segments", again)
	r.link(t.Link)
}

// link has what was between clients and brokers; everything is empty on the host's own network.
func (r *csvFields) link(l *summary.Link) {
	if l == nil {
		l = new(summary.Link)
	}
	r.add("link_profile", l.Profile)
	r.add("link_backend", l.Backend)
	r.add("link_congestion_control", l.Facts.CongestionControl)
	for _, w := range []struct {
		name string
		way  *summary.LinkWay
	}{{"link_up_", l.Up}, {"link_down_", l.Down}} {
		if w.way == nil {
			w.way = new(summary.LinkWay)
		}
		r.add(w.name+"offered_bits_per_s", w.way.Offered)
		r.add(w.name+"carried_bits_per_s", w.way.Carried)
		r.add(w.name+"utilisation_ratio", w.way.Utilisation)
		r.add(w.name+"lost_ratio", w.way.Lost)
		r.add(w.name+"queue_dropped_ratio", w.way.Dropped)
		r.add(w.name+"standing_queue_ns", w.way.StandingQueue)
	}
}

func (r *csvFields) churn(c *summary.Churn) {
	var due, made, failed *uint64
	if c == nil {
		c = new(summary.Churn)
	} else {
		due, made, failed = &c.Due, &c.Made, &c.Failed
	}
	r.add("churn_due", due)
	r.add("churn_made", made)
	r.add("churn_failed", failed)
	r.add("churn_visits_per_s", c.PerSecond)
	r.quantiles("churn_visit", c.Visit)
	r.add("churn_memory_kept_bytes", c.Kept)
}
