package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/summary"
)

// detail shows one trial at length: where its time went, who did the work, what happened.
func (d *document) detail(t *summary.Trial) {
	sec := d.section("Where the time went")
	times := &table{head: []string{"", "p50", "p90", "p95", "p99", "p99.9", "max", "of"}, left: 1}
	var connect summary.Connections
	if t.Connections != nil {
		connect = *t.Connections
	}
	var recovery summary.Recovery
	if t.Recovery != nil {
		recovery = *t.Recovery
	}
	for _, p := range []struct {
		name string
		q    *summary.Quantiles
	}{
		{"response", t.Latency.Response},
		{"service", t.Latency.Service},
		{"ack", t.Latency.Ack},
		{"kernel", t.Latency.Kernel},
		{"client", t.Latency.Client},
		{"blocked", t.Latency.Blocked},
		{"first leg", t.Latency.FirstLeg},
		{"lateness", t.Generator.Lateness},
		{"connect", connect.Connect},
		{"… TCP", connect.TCP},
		{"… TLS", connect.TLS},
		{"… protocol", connect.Protocol},
		{"outage", connect.Outage},
		{"notice", recovery.Notice},
		{"reconnect", recovery.Reconnect},
		{"first message", recovery.FirstMessage},
		{"drain", recovery.Drain},
	} {
		if p.q != nil {
			times.row(quantileRow(p.name, p.q)...)
		}
	}
	sec.add(times)
	sec.say(plain, "response: from due to received; service: from sent; lateness: the generator's own; blocked: waiting for a full socket or window. “of” is how many messages, or connections, the percentiles are over.")
	d.resources(t)
	d.stages(t)
	d.energy(t)
	d.timeline(t)
}

func quantileRow(name string, q *summary.Quantiles) []string {
	row := []string{name}
	for i := range summary.Percentiles {
		row = append(row, percentile(q, i))
	}
	largest := lostWord
	if q.Max != nil {
		largest = summary.Duration(*q.Max)
	}
	return append(row, largest, summary.Count(q.Expected))
}

// resources says in sentences what generator, broker and connections did.
func (d *document) resources(t *summary.Trial) {
	sec := d.section("Who did the work")
	g, b := &t.Generator, &t.Broker
	sec.facts("generator", fact("engine", t.Client.Engine), fact("processes", positive(g.Processes)), fact("CPU", seconds(g.CPUSeconds)), fact("spinning", seconds(g.SpinSeconds)),
		fact("per message", nanoseconds(g.CPUPerMessage)), fact("memory", size(g.RSSBytes)), fact("longest GC pause", duration(g.GCPauseMax)))
	sec.facts("broker", fact("CPU", seconds(b.CPUSeconds)), fact("mean load", percentOfCore(b.CPUPercentMean)), fact("peak load", percentOfCore(b.CPUPercentMax)),
		fact("per delivery", nanoseconds(b.CPUPerDelivery)), fact("memory", size(b.PSSBytesMax)), perConnection(b.BytesPerConnection))
	if p := t.Placement; p != nil && p.BrokerCores+p.GeneratorCores != "" {
		sec.facts("cores", fact("broker", p.BrokerCores), fact("generator", p.GeneratorCores), p.Why)
	}
	if t.Params.Profile.Limited() {
		sec.facts("machine", fact("CPU quota", limit(b, "cpu_millicores", func(n int64) string { return summary.Number(float64(n)/1000) + " cores" })),
			fact("memory limit", limit(b, "memory_bytes", func(n int64) string { return summary.Bytes(uint64(n)) })),
			fact("open files", limit(b, "open_files", func(n int64) string { return summary.Count(uint64(n)) })),
			fact("memory peak", size(b.MemoryPeakBytes)), fact("throttled", ratio(b.ThrottledRatio)))
	}
	if c := t.Connections; c != nil {
		sec.facts("connections", fact("attempted", summary.Count(c.Attempted)), fact("failed", summary.Count(c.Failed)),
			fact("lost", summary.Count(c.Lost)), fact("reconnected", summary.Count(c.Reconnected)),
			fact("opened", perSecond(c.PerSecond)))
	}
	if c := t.Churn; c != nil {
		sec.facts("churn", fact("due", summary.Count(c.Due)), fact("accepted", summary.Count(c.Made)), fact("failed", summary.Count(c.Failed)),
			fact("memory after", size(t.Broker.PSSBytesAfter)))
	}
	if s := t.Client.TLS; s != nil {
		sec.facts("TLS", s.Version, s.Cipher, fact("key exchange", s.Group), fact("handshakes", count(s.Handshakes)), fact("resumed", count(s.Resumed)),
			fact("bytes up each", each(s.BytesUp, s.Handshakes)), fact("bytes down each", each(s.BytesDown, s.Handshakes)))
	}
	if r := t.Recovery; r != nil {
		sec.facts("outages", summary.Count(r.Outages), fact("connections hit", summary.Count(r.Affected)), fact("lost", summary.Count(r.Noticed)),
			fact("back", summary.Count(r.Returned)), fact("sessions present", number(r.Resumed)), fact("in the busiest second", ratioOrNone(r.BusiestSecond)),
			fact("messages kept", summary.Count(r.Backlog)), fact("not kept", summary.Count(r.Missed)), fact("oldest dropped", summary.Count(r.Oldest)),
			fact("newest dropped", summary.Count(r.Newest)), fact("drain expected", duration(r.ExpectedDrain)))
	}
	if m := t.Sharing; m != nil {
		sec.facts("members", summary.Count(uint64(m.Members)), fact("idle", summary.Count(uint64(m.Idle))), fact("least", summary.Count(m.Least)),
			fact("mean", summary.Number(m.Mean)), fact("most", summary.Count(m.Most)), fact("imbalance", ratio(m.Imbalance)))
	}
	if w := t.Wire; w != nil {
		sec.facts("wire", fact("up", size(w.BytesUp)), fact("down", size(w.BytesDown)), fact("retransmitted segments", number(w.Retransmitted)))
	}
	sec.linkDetail(t.Link)
}

// count writes a number, "" for none.
func count(n uint64) string {
	if n == 0 {
		return ""
	}
	return summary.Count(n)
}

// each is the mean of a sum over n, "" if there are none.
func each(sum, n uint64) string {
	if n == 0 {
		return ""
	}
	return summary.Count((sum + n/2) / n)
}

// ratioOrNone writes a part of a whole, "" if it is not known.
func ratioOrNone(v *float64) string {
	if v == nil {
		return ""
	}
	return summary.Ratio(*v)
}

// limit is one in force, "" if the broker has none.
func limit(b *summary.Broker, key string, words func(int64) string) string {
	n, ok := b.Limits[key]
	if !ok {
		return ""
	}
	return words(n)
}

// timeline lists what happened and when.
func (d *document) timeline(t *summary.Trial) {
	if len(t.Events) == 0 {
		return
	}
	sec := d.section("What happened")
	events := &table{head: []string{"at", "event", ""}, left: 3}
	const most = 20
	for i, e := range t.Events {
		if i == most {
			events.row("…", summary.Count(uint64(len(t.Events)-most))+" more", "")
			break
		}
		events.row(time.Duration(e.T).Round(time.Millisecond).String(), e.Kind, e.Text)
	}
	sec.add(events)
}

func fact(name, value string) string {
	if value == "" {
		return ""
	}
	return name + " " + value
}

// facts says those that are known.
func (sec *section) facts(who string, facts ...string) {
	var known []string
	for _, f := range facts {
		if f != "" {
			known = append(known, f)
		}
	}
	if len(known) > 0 {
		sec.say(plain, who+": "+strings.Join(known, ", ")+".")
	}
}

// perConnection is the memory that each connection took; it may be less than nothing where a broker has freed some meanwhile.
func perConnection(bytes *int64) string {
	switch {
	case bytes == nil:
		return ""
	case *bytes < 0:
		return fmt.Sprintf("memory per connection %d B", *bytes)
	}
	return "memory per connection " + summary.Bytes(uint64(*bytes))
}

func perSecond(v *float64) string {
	if v == nil {
		return ""
	}
	return summary.Rate(*v)
}

func seconds(v *float64) string {
	if v == nil {
		return ""
	}
	return nanoseconds(new(*v * 1e9))
}

func nanoseconds(v *float64) string {
	if v == nil {
		return ""
	}
	return summary.Nanoseconds.Format(*v)
}

func duration(v *int64) string {
	if v == nil {
		return ""
	}
	return summary.Duration(*v)
}

func size(v *uint64) string {
	if v == nil {
		return ""
	}
	return summary.Bytes(*v)
}

func number(v *uint64) string {
	if v == nil {
		return ""
	}
	return summary.Count(*v)
}

func percentOfCore(v *float64) string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf("%s %% of a core", summary.Number(*v))
}
