package trial_test

import (
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/plan"
)

// TestOffline: of about 1,500 messages for a subscriber that is away Mosquitto as shipped keeps 1,000, the oldest, if it keeps the
// session; with enlarged queues it keeps all, and so does a durable queue of AMQP; an MQTT 5 session without expiry keeps nothing.
func TestOffline(t *testing.T) {
	small := []string{"network.link=", "connect.tls.version=off", "connect.tls.groups=default", "load.rate=1000/s", "load.publishers=20", "outages.at=200ms", "outages.mttr=1500ms", "phases.measure=2700ms", "phases.drain=300ms"}
	records := inSmall(t, "offline", "mosquitto", small...)
	records = append(records, inSmall(t, "offline", "mosquitto:tuned", append(small, "connect.session_expiry=1h")...)...)
	records = append(records, inSmall(t, "offline", "rabbitmq/amqp091", append(small, "connect.session_expiry=0s")...)...)
	if len(records) != 4 {
		t.Fatalf("%d trials, not 4", len(records))
	}
	for _, r := range records {
		subject, kept := r.Trial.Subject, r.Trial.Params.Connect.SessionExpiry > 0 || r.Trial.Subject.Protocol != plan.MQTT5
		v := r.Recovery
		if v == nil || v.Outages != 1 || v.Affected != 1 || v.Noticed != 1 || v.Returned != 1 {
			t.Fatalf("%s: %+v", subject.Name, v)
		}
		waiting := v.Backlog + v.Missed
		if waiting < 1450 || waiting > 2700 {
			t.Errorf("%s: %d messages were sent while the subscriber was away", subject.Name, waiting)
		}
		switch {
		case !kept && (v.Backlog != 0 || v.Missed < 1450):
			t.Errorf("%s without session expiry: %+v", subject.Name, v)
		case kept && subject.Broker == "mosquitto" && subject.Variant == "as-shipped" && (v.Backlog != 1000 || v.Newest != v.Missed || v.Missed < 450):
			t.Errorf("%s: %+v", subject.Name, v)
		case kept && (subject.Variant == "tuned" || subject.Broker == "rabbitmq") && (v.Backlog < 1450 || v.Missed != 0):
			t.Errorf("%s: %+v", subject.Name, v)
		}
		if subject.Protocol == plan.MQTT5 && (v.Resumed == nil || *v.Resumed != map[bool]uint64{true: 1}[kept]) {
			t.Errorf("%s, session kept %v: present %v", subject.Name, kept, v.Resumed)
		}
		if c := total(r, engine.Subscribers); c.Lost < v.Missed {
			t.Errorf("%s: %d lost, but %d missed", subject.Name, c.Lost, v.Missed)
		}
	}
}

// TestOutage: over real sockets, with both engines, a reset is known on both sides at once, and everything of QoS 1
// arrives although connections are cut again and again.
func TestOutage(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"loop", "goroutine"} {
		for _, r := range inSmall(t, "outage", "mosquitto", "engine.kind="+kind, "matrix.load.qos=[1]", "load.publishers=5", "load.rate=200/s",
			"outages.mttf=150ms", "outages.mttr=50ms", "connect.backoff=20ms", "phases.measure=1500ms", "phases.drain=3s") {
			v, c, pub := r.Recovery, total(r, engine.Subscribers), total(r, engine.Publishers)
			if v == nil || v.Outages < 2 || v.Noticed != v.Affected || v.Returned != v.Noticed || v.Affected < 10 {
				t.Errorf("%s: %+v", kind, v)
			}
			if c.Lost > 0 || pub.Unconfirmed > 0 || pub.Acked > c.Delivered {
				t.Errorf("%s: %+v; acked %d, unconfirmed %d", kind, c, pub.Acked, pub.Unconfirmed)
			}
		}
	}
}

// TestBlackHole: over real sockets, a publisher of QoS 0 and its subscriber notice within one and a half keep-alives that nothing gets
// through, and come back when it does.
func TestBlackHole(t *testing.T) {
	for _, kind := range []string{"loop", "goroutine"} {
		for _, r := range inSmall(t, "outage", "mosquitto", "engine.kind="+kind, "matrix.load.qos=[0]", "load.publishers=2", "load.rate=100/s",
			"outages.kind=blackhole", "outages.at=100ms", "outages.mttr=1800ms", "outages.mttf=10m", "connect.keepalive=1s",
			"connect.backoff=20ms", "connect.timeout=1s", "phases.measure=2500ms", "phases.drain=200ms") {
			if v := r.Recovery; v == nil || v.Affected != 4 || v.Noticed != 4 || v.Returned != 4 {
				t.Errorf("%s: %+v", kind, v)
			}
		}
	}
}

// TestHerd: with a fixed pause all clients come back together.
func TestHerd(t *testing.T) {
	for _, r := range inSmall(t, "herd", "mosquitto", "load.publishers=20", "matrix.connect.backoff=[jitter, 300ms]", "outages.at=100ms",
		"outages.mttr=200ms", "phases.measure=1500ms", "phases.drain=1s") {
		if v := r.Recovery; v == nil || v.Noticed != 40 || v.Returned != 40 {
			t.Errorf("%v: %+v", r.Trial.Params.Set, v)
		}
		if pause := r.Trial.Params.Connect.Pause; pause != 0 && pause != 300*time.Millisecond {
			t.Errorf("a pause of %v", pause)
		}
	}
}

// TestKeepAlive: the longest time that a NAT lets a connection be silent is found within 10 %.
func TestKeepAlive(t *testing.T) {
	const forget = int64(500 * time.Millisecond)
	for _, r := range inSmall(t, "keepalive", "mosquitto", "load.publishers=14", "load.rate=4/s each", "network.forget=500ms",
		"phases.settle=0s", "phases.warmup=0s", "phases.measure=2s", "phases.drain=200ms") {
		i := r.Idle
		if i == nil || i.Survived == nil || i.Failed == nil {
			t.Fatalf("%+v", i)
		}
		if *i.Survived > forget+forget/50 || *i.Failed < forget-forget/50 || float64(*i.Failed) > 1.101*float64(*i.Survived) {
			t.Errorf("silent for %v they went on, for %v not; the NAT forgets after %v", time.Duration(*i.Survived), time.Duration(*i.Failed), time.Duration(forget))
		}
	}
}

// TestSlowReaderStays: a subscriber that reads far more slowly than messages come keeps its connection: neither its reading nor the
// messages before an answer keep it from pinging, or from seeing that the broker is there.
func TestSlowReaderStays(t *testing.T) {
	for _, r := range inSmall(t, "quick", "mosquitto", "load.publishers=1", "load.rate=400/s", "load.payload=1KiB", "load.qos=0",
		"connect.keepalive=1s", "subscriber.read_rate=16KiB/s", "phases.measure=3s", "phases.drain=50ms") {
		if c := r.Connections; c.Lost > 0 || c.Failed > 0 {
			t.Errorf("%+v", c)
		}
		if c := total(r, engine.Subscribers); c.Delivered*2 > c.Expected {
			t.Errorf("%+v: the subscriber was not slow", c)
		}
	}
}
