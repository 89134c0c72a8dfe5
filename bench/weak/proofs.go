//go:build linux

package main

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/scenario"
	"github.com/mqlab/mqlab/internal/summary"
	"github.com/mqlab/mqlab/scenarios"
)

// segment is the headers of IPv4 and TCP, with time stamps, in bytes.
const segment = 52

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
		for _, t := range l.trials(s) {
			l.exchange(t, tls)
		}
	}
	return nil
}

// exchange holds what keep-alives took of the link against the count from protocol and TCP, their number against the timers, and the
// account of the link against that of TCP.
func (l *lab) exchange(t *summary.Trial, tls string) {
	if t.Energy == nil || t.Energy.KeepAlives == nil || t.Energy.KeepAlives.Due == nil {
		l.say(false, "%s, TLS %s: no keep-alives were seen on a link", t.Subject.Name, tls)
		return
	}
	k := t.Energy.KeepAlives
	l.say(math.Abs(k.Difference) <= 0.02, "%s, TLS %s: %.1f B per exchange on the link, %.1f by protocol and TCP (%d exchanges of %d connections, %d acknowledged by other data)",
		t.Subject.Name, tls, k.Bytes, k.Protocol, k.Exchanges, t.Energy.Devices, k.Carried)
	edge := float64(t.Energy.Devices) // each connection may have one more or one less of each side in the window, and messages stand for some
	if !plan.IsMQTT(t.Subject.Publish.Protocol) {
		edge *= 2
	}
	l.say(math.Abs(float64(k.Exchanges)-*k.Due) <= edge, "%s, TLS %s: %d exchanges, %.0f by the timers, give or take %.0f", t.Subject.Name, tls, k.Exchanges, *k.Due, edge)
	l.agreement(t)
}

// agreement holds the account of the link against that of TCP.
func (l *lab) agreement(t *summary.Trial) {
	a := t.Link.Agreement
	if a == nil {
		l.say(false, "trial %d %s: link and TCP could not be compared", t.ID, t.Subject.Name)
		return
	}
	worst := max(math.Abs(a.Packets), math.Abs(a.Ratio), math.Abs(a.Again))
	l.say(worst <= 0.01, "trial %d %s: %s and link agree within %.2f %%: %d segments, %d bytes, %d segments sent again",
		t.ID, t.Subject.Name, a.By, 100*worst, a.LinkPackets, a.LinkBytes, a.LinkAgain)
}

// others are the brokers of offline besides those of the scenario: each is tried if it is installed.
var others = []string{"hivemq", "hivemq/mqtt311", "hivemq:tuned", "artemis", "artemis/mqtt311", "artemis/amqp10", "nats/mqtt311@process"}

// limited are the brokers that keep so many as they are shipped, and drop what comes later
// (https://mosquitto.org/man/mosquitto-conf-5.html, max_queued_messages; HiveMQ CE, queued-messages).
var limited = map[string]uint64{"mosquitto": 1000, "hivemq": 1000}

// offline: how many messages are kept for a subscriber that is away.
func offline(ctx context.Context, l *lab) error {
	if err := l.kept(ctx); err != nil {
		return err
	}
	var installed []string
	for _, name := range others {
		subject, err := plan.ParseSubject(name)
		if err != nil {
			return err
		}
		if found := broker.Find(ctx, subject); found.OK {
			installed = append(installed, name)
		} else {
			fmt.Fprintf(l.out, "         %s left out: %s\n", name, found.Why)
		}
	}
	if len(installed) == 0 {
		return nil
	}
	return l.kept(ctx, "--brokers", strings.Join(installed, ","))
}

// kept holds what was kept for a subscriber against what protocol and broker promise.
func (l *lab) kept(ctx context.Context, flags ...string) error {
	s, err := l.measure(ctx, append([]string{"offline", "--quick"}, flags...)...)
	if err != nil {
		return err
	}
	for _, t := range l.trials(s) {
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
		case limited[t.Subject.Broker] > 0 && t.Subject.Variant == "as-shipped":
			ok = r.Backlog == limited[t.Subject.Broker] && r.Newest == r.Missed
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
	s, err := l.measure(ctx, "outage", "--brokers", "mosquitto", "--set", "matrix.load.qos=[0, 1]", "--set", "load.rate=10/s", "--set", "network.delay=20ms",
		"--set", "outages.kind=blackhole", "--set", "outages.at=1s", "--set", "outages.mttr=5s", "--set", "outages.mttf=1h", "--set", "connect.keepalive=2s",
		"--set", "connect.timeout=2s", "--set", "phases.measure=8s", "--set", "phases.drain=5s", "--repeat", "1")
	if err != nil {
		return err
	}
	for _, t := range l.trials(s) {
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
	for _, t := range l.trials(s) {
		if t.Link == nil || t.Link.Up == nil || t.Rates.Delivered == nil {
			l.say(false, "trial %d: %s", t.ID, t.Failure)
			continue
		}
		most := *t.Link.Up.Capacity / 8 / float64(t.Params.PayloadBytes+segment)
		carried := math.Max(*t.Link.Up.Carried / *t.Link.Up.Capacity, *t.Link.Down.Carried / *t.Link.Down.Capacity)
		l.say(carried <= 1.01 && *t.Rates.Delivered <= most, "trial %d %s, %.0f/s offered: %.1f/s delivered, %.0f %% of the link carried, saturated %v, %s",
			t.ID, t.Subject.Name, t.Params.RatePerS, *t.Rates.Delivered, 100*carried, t.Link.Saturated, t.Validity)
		l.agreement(t)
	}
	for _, c := range s.Comparisons {
		for _, metric := range []string{summary.ResponseP50, summary.ResponseP99, summary.BytesPerMessage, summary.Retransmitted} {
			if c.Metric == metric && strings.Contains(plan.Settings(c.Set), "25/s") {
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
