package report

import (
	"io"
	"slices"
	"strings"

	"github.com/mqlab/mqlab/internal/capacity"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/summary"
)

// CSV writes one row per trial. Columns are named as in JSON, nested names joined by _; what is unknown is empty. Trials of searches
// have columns of their probe and of its search, too.
func CSV(w io.Writer, s *summary.Summary, found []capacity.Result) error {
	row := func(t *summary.Trial) *Row {
		r := trialRow(s, t)
		if len(found) > 0 {
			r.search(found, t.ID)
		}
		return r
	}
	return WriteRows(w, row(new(summary.Trial)), len(s.Trials), func(i int) *Row { return row(&s.Trials[i]) })
}

// search says what the search that a trial belongs to found, and what the trial was to it.
func (r *Row) search(found []capacity.Result, trial int) {
	var x capacity.Result
	var value *float64
	var outcome, settled, kind any = "", "", ""
	for i := range found {
		n := slices.IndexFunc(found[i].Probes, func(p capacity.Probe) bool { return p.Trial == trial })
		if n < 0 {
			continue
		}
		x = found[i]
		value, outcome, settled = &x.Probes[n].Value, x.Probes[n].Outcome, x.Settled
		if x.Bottleneck != nil {
			kind = x.Bottleneck.Kind
		}
	}
	r.Add("searches_vary", x.Vary)
	r.Add("searches_probes_value", value)
	r.Add("searches_probes_outcome", outcome)
	r.Add("searches_sustainable", x.Sustainable)
	r.Add("searches_sustainable_low", x.Low)
	r.Add("searches_sustainable_high", x.High)
	r.Add("searches_sustainable_delivered_per_s", x.Delivered)
	r.Add("searches_peak_delivered_per_s", x.Peak)
	r.Add("searches_peak_at", x.PeakAt)
	r.Add("searches_knee", x.Knee)
	r.Add("searches_end", x.End)
	r.Add("searches_settled", settled)
	r.Add("searches_ended_by_kind", kind)
}

func trialRow(s *summary.Summary, t *summary.Trial) *Row {
	r := new(Row)
	r.Add("run_id", s.Run.ID)
	r.Add("scenario", s.Run.Scenario)
	r.Add("seed", s.Run.Seed)
	r.Add("id", t.ID)
	r.Add("cell", t.Cell)
	r.Add("point", t.Point)
	r.Add("repetition", t.Repetition)
	r.Add("started", t.Started)
	r.Add("subject", t.Subject.Name)
	r.Add("broker", t.Subject.Broker)
	r.Add("broker_version", t.Subject.Version)
	r.Add("runtime", t.Subject.Runtime)
	r.Add("variant", t.Subject.Variant)
	r.Add("publish_protocol", t.Subject.Publish.Protocol)
	r.Add("publish_client", t.Subject.Publish.Client)
	r.Add("subscribe_protocol", t.Subject.Subscribe.Protocol)
	r.Add("subscribe_client", t.Subject.Subscribe.Client)
	r.Add("guarantee", t.Guarantee)
	r.Add("durability", t.Durability)
	r.params(&t.Params)
	r.Add("state", t.State)
	r.Add("validity", t.Validity)
	r.Add("reasons", reasonCodes(t.Reasons))
	r.Add("measured_ns", t.Measured)
	for _, f := range summary.CountFields {
		r.Add(f.Name, *f.Of(&t.Counts))
	}
	r.Add("offered_per_s", t.Rates.Offered)
	r.Add("expected_per_s", t.Rates.Expected)
	r.Add("sent_per_s", t.Rates.Sent)
	r.Add("delivered_per_s", t.Rates.Delivered)
	r.Add("achieved_ratio", t.Rates.Achieved)
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
func (r *Row) causes(t *summary.Trial) {
	var limiter, used any = "", ""
	if b := t.Bottleneck; b != nil {
		limiter, used = b.Kind, b.Used
	}
	r.Add("bottleneck_kind", limiter)
	r.Add("bottleneck_used_ratio", used)
	var cause, share any = "", ""
	if len(t.Findings) > 0 {
		cause = t.Findings[0].Cause
		if s := t.Findings[0].Share; s > 0 {
			share = s
		}
	}
	r.Add("findings_cause", cause)
	r.Add("findings_share", share)
}

func (r *Row) params(p *plan.Params) {
	r.Add("pattern", p.Pattern)
	r.Add("publishers", p.Publishers)
	r.Add("subscribers", p.Subscribers)
	r.Add("rate_per_s", p.RatePerS)
	r.Add("pacing", p.Pacing)
	r.Add("payload_bytes", p.PayloadBytes)
	r.Add("payload_form", p.PayloadForm)
	r.Add("qos", p.QoS)
	r.Add("window", p.Window)
	var set []string
	for _, a := range p.Set {
		set = append(set, a.Key+"="+a.Value)
	}
	r.Add("set", strings.Join(set, ";"))
}

// reasonCodes joins the codes of warnings and what invalidates.
func reasonCodes(reasons []summary.Reason) string {
	var codes []string
	for _, x := range reasons {
		codes = append(codes, x.Code)
	}
	return strings.Join(codes, ";")
}

func (r *Row) quantiles(name string, q *summary.Quantiles) {
	if q == nil {
		q = new(summary.Quantiles)
		r.Add(name+"_count", "")
		r.Add(name+"_expected", "")
	} else {
		r.Add(name+"_count", q.Count)
		r.Add(name+"_expected", q.Expected)
	}
	r.Add(name+"_min_ns", q.Min)
	r.Add(name+"_mean_ns", q.Mean)
	for _, p := range summary.Percentiles {
		r.Add(name+"_"+p.Name+"_ns", *p.Of(q))
	}
	r.Add(name+"_max_ns", q.Max)
	r.Add(name+"_stddev_ns", q.StdDev)
	r.Add(name+"_lost_from_quantile", q.LostFrom)
	r.Add(name+"_highest_known_ns", q.HighestKnown)
}

func (r *Row) placement(p *run.Placement) {
	if p == nil {
		p = new(run.Placement)
	}
	r.Add("placement_broker_cores", p.BrokerCores)
	r.Add("placement_generator_cores", p.GeneratorCores)
	r.Add("placement_shared", p.Shared)
}

func (r *Row) generator(g *summary.Generator) {
	r.Add("generator_processes", positive(g.Processes))
	r.quantiles("lateness", g.Lateness)
	r.Add("generator_cpu_seconds", g.CPUSeconds)
	r.Add("generator_spin_seconds", g.SpinSeconds)
	r.Add("generator_cores", g.Cores)
	r.Add("generator_cpu_ns_per_message", g.CPUPerMessage)
	r.Add("generator_rss_bytes", g.RSSBytes)
	r.Add("generator_gc_pause_total_ns", g.GCPauseTotal)
	r.Add("generator_gc_pause_max_ns", g.GCPauseMax)
	r.Add("generator_skipped_sends", g.SkippedSends)
	r.Add("generator_throttled_ratio", g.Throttled)
}

func (r *Row) broker(b *summary.Broker) {
	r.Add("broker_cpu_seconds", b.CPUSeconds)
	r.Add("broker_cpu_percent_mean", b.CPUPercentMean)
	r.Add("broker_cpu_percent_max", b.CPUPercentMax)
	r.Add("broker_cpu_ns_per_delivery", b.CPUPerDelivery)
	r.Add("broker_pss_bytes_mean", b.PSSBytesMean)
	r.Add("broker_pss_bytes_max", b.PSSBytesMax)
	r.Add("broker_rss_bytes_max", b.RSSBytesMax)
	r.Add("broker_busiest_thread_ratio", b.ThreadBusy)
	r.Add("broker_busiest_thread_waited_ratio", b.ThreadWaited)
}

func (r *Row) connections(t *summary.Trial) {
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
			r.Add("connections_"+f.name, f.value)
		} else {
			r.Add("connections_"+f.name, "")
		}
	}
	r.quantiles("connect", c.Connect)
	r.quantiles("connect_tcp", c.TCP)
	r.quantiles("connect_tls", c.TLS)
	r.quantiles("connect_protocol", c.Protocol)
	r.quantiles("outage", c.Outage)
	r.Add("connect_per_s", c.PerSecond)
	r.Add("broker_bytes_per_connection", t.Broker.BytesPerConnection)
	r.churn(t.Churn)
	var imbalance *float64
	if t.Sharing != nil {
		imbalance = t.Sharing.Imbalance
	}
	r.Add("imbalance_ratio", imbalance)
	var up, down, again *uint64
	if t.Wire != nil {
		up, down, again = t.Wire.BytesUp, t.Wire.BytesDown, t.Wire.Retransmitted
	}
	r.Add("wire_bytes_up", up)
	r.Add("wire_bytes_down", down)
	r.Add("wire_retransmitted_segments", again)
	r.link(t.Link)
}

// link has what was between clients and brokers; everything is empty on the host's own network.
func (r *Row) link(l *summary.Link) {
	if l == nil {
		l = new(summary.Link)
	}
	r.Add("link_profile", l.Profile)
	r.Add("link_backend", l.Backend)
	r.Add("link_congestion_control", l.Facts.CongestionControl)
	for _, w := range []struct {
		name string
		way  *summary.LinkWay
	}{{"link_up_", l.Up}, {"link_down_", l.Down}} {
		if w.way == nil {
			w.way = new(summary.LinkWay)
		}
		r.Add(w.name+"offered_bits_per_s", w.way.Offered)
		r.Add(w.name+"carried_bits_per_s", w.way.Carried)
		r.Add(w.name+"utilisation_ratio", w.way.Utilisation)
		r.Add(w.name+"lost_ratio", w.way.Lost)
		r.Add(w.name+"queue_dropped_ratio", w.way.Dropped)
		r.Add(w.name+"standing_queue_ns", w.way.StandingQueue)
	}
}

func (r *Row) churn(c *summary.Churn) {
	var due, made, failed *uint64
	if c == nil {
		c = new(summary.Churn)
	} else {
		due, made, failed = &c.Due, &c.Made, &c.Failed
	}
	r.Add("churn_due", due)
	r.Add("churn_made", made)
	r.Add("churn_failed", failed)
	r.Add("churn_visits_per_s", c.PerSecond)
	r.quantiles("churn_visit", c.Visit)
	r.Add("churn_memory_kept_bytes", c.Kept)
}
