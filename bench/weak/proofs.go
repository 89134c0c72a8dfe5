//go:build linux

package main

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/scenario"
	"github.com/mqlab/mqlab/internal/summary"
	"github.com/mqlab/mqlab/scenarios"
)

// Sizes of what an idle connection sends, in bytes.
const (
	segment   = 52 // headers of IPv4 and TCP, with time stamps
	ping      = 2  // PINGREQ, PINGRESP
	heartbeat = 8  // a frame of AMQP without content
	record    = 29 // what TLS 1.2 with AES-GCM adds
)

// preFlight: 500 devices that publish 8,200 messages a second need about 157 times the link.
func preFlight(_ context.Context, l *lab) error {
	text, err := scenarios.Read("weak-network")
	if err != nil {
		return err
	}
	p, err := plan.Resolve(scenario.Decode("weak-network.yaml", text), plan.Options{})
	if err != nil {
		return err
	}
	for i := range p.Trials {
		t := &p.Trials[i]
		need, ok := t.Need()
		if ok && t.Subject.Broker == "mosquitto" && t.Params.RatePerS == 8200 && t.Params.Publishers == 500 && t.Params.Link.Name == "lpwan" {
			l.say(near(need.Up.Times(), 157, 0.02), "%d devices, %.0f messages/s need %.1f times the link; want about 157", t.Params.Publishers, t.Params.RatePerS, need.Up.Times())
			return nil
		}
	}
	return fmt.Errorf("weak-network has no such point")
}

// idle: what an exchange of an idle connection costs on the link.
func idle(ctx context.Context, l *lab) error {
	for _, tls := range []string{"off", "1.2"} {
		s, err := l.measure(ctx, "idle", "--quick", "--set", "connect.tls.version="+tls, "--set", "connect.tls.groups=default")
		if err != nil {
			return err
		}
		for i := range s.Trials {
			l.exchange(&s.Trials[i], tls)
		}
	}
	return nil
}

// exchange holds the packets of a trial against the protocol's count. Its few messages are taken off.
func (l *lab) exchange(x *summary.Trial, tls string) {
	t := trial{x}
	if t.Link == nil || t.Link.Up == nil {
		l.say(false, "%s, TLS %s: there was no link that counts", t.Subject.Name, tls)
		return
	}
	up, down := t.Link.Up.Counters.Offered, t.Link.Down.Counters.Offered
	bytes := float64(up.Bytes + down.Bytes)
	packets := float64(up.Packets + down.Packets)
	extra := 0
	if tls != "off" {
		extra = record
	}
	messages, parts := t.messages()
	bytes, packets = bytes-messages, packets-parts
	span := time.Duration(*t.Measured)
	if plan.IsMQTT(t.Subject.Publish.Protocol) { // PINGREQ, PINGRESP with the acknowledgement of that, and an acknowledgement
		size := float64(3*segment + 2*(ping+extra))
		got := bytes / (packets / 3)
		l.say(near(got, size, 0.02), "%s, TLS %s: %.1f B per exchange on the link, %.0f by the protocol (%.0f exchanges of %d connections in %v)",
			t.Subject.Name, tls, got, size, packets/3, t.Energy.Devices, span.Round(time.Second))
		return
	}
	// Both sides send a heartbeat every half of the agreed time. Its acknowledgement is a packet of its own, or travels with a heartbeat
	// of the other side: what is not header is heartbeats.
	beats := (bytes - segment*packets) / float64(heartbeat+extra)
	want := 2 * float64(t.Energy.Devices) * span.Seconds() / (t.Params.Connect.KeepAlive.Seconds() / 2)
	l.say(math.Abs(beats-want) < 2*float64(t.Energy.Devices), "%s, TLS %s: %.0f heartbeats of %d connections in %v, %.0f by the protocol, give or take one of each side",
		t.Subject.Name, tls, beats, t.Energy.Devices, span.Round(time.Second), want)
	least, most := float64(segment+heartbeat+extra), float64(2*segment+heartbeat+extra)
	got := bytes / beats
	l.say(got > 0.98*least && got < 1.02*most, "%s, TLS %s: %.1f B per heartbeat on the link; by the protocol %.0f with an acknowledgement of its own, %.0f without",
		t.Subject.Name, tls, got, most, least)
}

// trial is one whose messages are counted.
type trial struct{ *summary.Trial }

// messages is what the messages of the measure window took of the link, in bytes and in packets: each travels to the broker and to its
// subscriber, and is acknowledged by TCP.
func (t trial) messages() (bytes, packets float64) {
	subject, err := plan.ParseSubject(t.Subject.Name)
	if err != nil || t.Counts.Sent == nil {
		return 0, 0
	}
	need, _ := (&plan.Trial{Subject: subject, Params: t.Params}).Need()
	each := need.Up.PerMessage.Data + need.Up.PerMessage.Acks + need.Down.PerMessage.Data + need.Down.PerMessage.Acks
	n := float64(*t.Counts.Sent)
	return n * float64(each), n * 4
}

// offline: how many messages are kept for a subscriber that is away.
func offline(ctx context.Context, l *lab) error {
	s, err := l.measure(ctx, "offline", "--quick")
	if err != nil {
		return err
	}
	for i := range s.Trials {
		t := &s.Trials[i]
		r := t.Recovery
		if r == nil {
			l.say(false, "%s: %s", t.Subject.Name, t.Failure)
			continue
		}
		waiting, ok := r.Backlog+r.Missed, false
		mqtt5 := t.Subject.Publish.Protocol == plan.MQTT5
		switch {
		case mqtt5 && t.Params.Connect.SessionExpiry == 0:
			ok = r.Backlog == 0
		case t.Subject.Broker == "mosquitto" && t.Subject.Variant == "as-shipped":
			ok = r.Backlog == 1000 && r.Newest == r.Missed
		case t.Subject.Publish.Protocol == plan.JetStream: // what was on its way at the reset comes again after 30 s (ack_wait)
			ok = r.Missed <= 5 && r.Backlog > 1400
		default:
			ok = r.Missed == 0 && r.Backlog > 1400
		}
		expected := "not known"
		if r.ExpectedDrain != nil {
			expected = time.Duration(*r.ExpectedDrain).Round(time.Millisecond).String()
		}
		l.say(ok, "%s, session expiry %v: %d of %d kept; drained in %s, expected %s", t.Subject.Name, t.Params.Connect.SessionExpiry, r.Backlog, waiting, longest(r.Drain), expected)
	}
	return nil
}

func longest(q *summary.Quantiles) string {
	if q == nil || q.Max == nil {
		return "–"
	}
	return time.Duration(*q.Max).Round(time.Millisecond).String()
}

// blackHole: a link that carries nothing is noticed within one and a half keep-alives, whatever is being sent.
func blackHole(ctx context.Context, l *lab) error {
	const keepAlive = 2 * time.Second
	s, err := l.measure(ctx, "outage", "--brokers", "mosquitto", "--set", "matrix.load.qos=[0, 1]", "--set", "network.delay=20ms",
		"--set", "outages.kind=blackhole", "--set", "outages.at=1s", "--set", "outages.mttr=5s", "--set", "outages.mttf=1h", "--set", "connect.keepalive=2s",
		"--set", "connect.timeout=2s", "--set", "phases.measure=8s", "--set", "phases.drain=5s", "--repeat", "1")
	if err != nil {
		return err
	}
	for i := range s.Trials {
		t := &s.Trials[i]
		r := t.Recovery
		ok := r != nil && r.Noticed == r.Affected && r.Notice != nil && r.Notice.Max != nil && *r.Notice.Max <= int64(keepAlive*3/2+100*time.Millisecond)
		l.say(ok, "QoS %d over %s: %d of %d connections noticed a black hole, at most %s after its beginning; keep-alive %v", t.Params.QoS, t.Link.Backend, r.Noticed, r.Affected, longest(r.Notice), keepAlive)
	}
	return nil
}

// weakNetwork: nothing is delivered above what the link can carry, and MQTT stands beside AMQP below it.
func weakNetwork(ctx context.Context, l *lab) error {
	s, err := l.measure(ctx, "weak-network", "--quick")
	if err != nil {
		return err
	}
	for i := range s.Trials {
		t := &s.Trials[i]
		if t.Link == nil || t.Link.Up == nil || t.Rates.Delivered == nil {
			l.say(false, "trial %d: %s", t.ID, t.Failure)
			continue
		}
		most := *t.Link.Up.Capacity / 8 / float64(t.Params.PayloadBytes+segment)
		carried := math.Max(*t.Link.Up.Carried / *t.Link.Up.Capacity, *t.Link.Down.Carried / *t.Link.Down.Capacity)
		l.say(carried <= 1 && *t.Rates.Delivered <= most, "trial %d %s, %.0f/s offered: %.1f/s delivered, %.0f %% of the link carried, saturated %v, %s",
			t.ID, t.Subject.Name, t.Params.RatePerS, *t.Rates.Delivered, 100*carried, t.Link.Saturated, t.Validity)
	}
	for _, c := range s.Comparisons {
		for _, metric := range []string{summary.ResponseP50, summary.ResponseP99, summary.BytesPerMessage, summary.Retransmitted} {
			if c.Metric == metric && strings.Contains(plan.Settings(c.Set), "10/s") {
				l.beside(&c)
			}
		}
	}
	return nil
}

// beside prints the subjects of a comparison.
func (l *lab) beside(c *summary.Comparison) {
	for _, s := range c.Subjects {
		text := "not known"
		if s.Median != nil {
			text = c.Unit.Format(*s.Median)
		}
		if s.CILow != nil {
			text += " (" + summary.Range(c.Unit.Format(*s.CILow), c.Unit.Format(*s.CIHigh)) + ")"
		}
		fmt.Fprintf(l.out, "         %s %s: %s\n", s.Subject, c.Metric, text)
	}
}
