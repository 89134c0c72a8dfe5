package scrape

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mqlab/mqlab/internal/ledger"
)

// counters are cumulative over the measure window of a trial.
var counters = []struct {
	name, help string
	of         func(*trial) uint64
}{
	{"mqlab_messages_offered_total", "Messages that were due in the measure window.", func(t *trial) uint64 { return t.counts.Offered }},
	{"mqlab_messages_sent_total", "Offered messages that left.", func(t *trial) uint64 { return t.counts.Sent }},
	{"mqlab_messages_acked_total", "Sent messages that the broker confirmed.", func(t *trial) uint64 { return t.counts.Acked }},
	{"mqlab_messages_refused_total", "Sent messages that the broker answered with an error.", func(t *trial) uint64 { return t.counts.Refused }},
	{"mqlab_messages_delivered_total", "Distinct deliveries of offered messages.", func(t *trial) uint64 { return t.counts.Delivered }},
	{"mqlab_messages_duplicate_total", "Receipts beyond the first.", func(t *trial) uint64 { return t.counts.Duplicates }},
	{"mqlab_messages_reordered_total", "First receipts after a later message of the same stream.", func(t *trial) uint64 { return t.counts.Reordered }},
	{"mqlab_messages_corrupt_total", "Messages that arrived damaged.", func(t *trial) uint64 { return t.counts.Corrupt }},
	{"mqlab_bytes_sent_total", "Bytes sent, warm-up included.", func(t *trial) uint64 { return t.in.BytesOut }},
	{"mqlab_bytes_received_total", "Bytes received, warm-up included.", func(t *trial) uint64 { return t.in.BytesIn }},
}

// histograms are in seconds.
var histograms = []struct {
	metric ledger.Metric
	help   string
}{
	{ledger.Response, "Time from the moment a message was due until it was received."},
	{ledger.Service, "Time from the moment a message was sent until it was received."},
	{ledger.Ack, "Time from sending until the broker confirmed the message."},
	{ledger.Lateness, "How late the generator handed a message to its connection."},
	{ledger.Connect, "Time from dialling until the connection was ready."},
}

// bounds are the upper ends of the buckets in nanoseconds, and as they are written in seconds.
var bounds = []struct {
	ns      int64
	seconds string
}{
	{10e3, "1e-05"},
	{20e3, "2e-05"},
	{50e3, "5e-05"},
	{100e3, "0.0001"},
	{200e3, "0.0002"},
	{500e3, "0.0005"},
	{1e6, "0.001"},
	{2e6, "0.002"},
	{5e6, "0.005"},
	{10e6, "0.01"},
	{20e6, "0.02"},
	{50e6, "0.05"},
	{100e6, "0.1"},
	{200e6, "0.2"},
	{500e6, "0.5"},
	{1e9, "1"},
	{2e9, "2"},
	{5e9, "5"},
	{10e9, "10"},
}

// WriteTo writes all figures.
func (m *Metrics) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, m.text())
	return int64(n), err
}

func (m *Metrics) text() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := new(strings.Builder)
	run := labels("run", m.run, "scenario", m.scenario)
	head(b, "mqlab_trials_planned", "gauge", "Trials in the plan of the run.")
	sample(b, "mqlab_trials_planned", run, strconv.Itoa(m.planned))
	head(b, "mqlab_trials_begun_total", "counter", "Trials begun, repeated ones included.")
	sample(b, "mqlab_trials_begun_total", run, strconv.Itoa(m.begun))
	head(b, "mqlab_trial_running", "gauge", "1 while the trial goes on.")
	for _, t := range m.trials {
		running := "0"
		if t.running {
			running = "1"
		}
		sample(b, "mqlab_trial_running", m.labels(t), running)
	}
	head(b, "mqlab_delivered_per_second", "gauge", "Distinct deliveries per second in the last window.")
	for _, t := range m.trials {
		sample(b, "mqlab_delivered_per_second", m.labels(t), float(t.delivered))
	}
	for _, c := range counters {
		head(b, c.name, "counter", c.help)
		for _, t := range m.trials {
			sample(b, c.name, m.labels(t), strconv.FormatUint(c.of(t), 10))
		}
	}
	for _, h := range histograms {
		name := "mqlab_" + h.metric.String() + "_seconds"
		head(b, name, "histogram", h.help)
		for _, t := range m.trials {
			m.histogram(b, name, t, h.metric)
		}
	}
	return b.String()
}

// histogram writes cumulative buckets. A value counts to a bucket if the whole slot that it was recorded in lies below the bound,
// so that one within 0.1 % of it may be counted to the next.
func (m *Metrics) histogram(b *strings.Builder, name string, t *trial, metric ledger.Metric) {
	h := t.hists[metric]
	if h == nil {
		return
	}
	for _, bound := range bounds {
		sample(b, name+"_bucket", m.labels(t, "le", bound.seconds), strconv.FormatInt(h.CountAtMost(bound.ns), 10))
	}
	sample(b, name+"_bucket", m.labels(t, "le", "+Inf"), strconv.FormatInt(h.Count(), 10))
	sample(b, name+"_sum", m.labels(t), float(h.Sum()/1e9))
	sample(b, name+"_count", m.labels(t), strconv.FormatInt(h.Count(), 10))
}

// labels are those of a trial's series.
func (m *Metrics) labels(t *trial, more ...string) string {
	return labels(append([]string{"run", m.run, "trial", strconv.Itoa(t.ID), "subject", t.Subject.Name}, more...)...)
}

// escape makes text fit for a label's value.
var escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace

func labels(pairs ...string) string {
	parts := make([]string, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		parts = append(parts, pairs[i]+`="`+escape(pairs[i+1])+`"`)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func head(b *strings.Builder, name, kind, help string) {
	fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func sample(b *strings.Builder, name, labels, value string) {
	b.WriteString(name + labels + " " + value + "\n")
}

func float(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
