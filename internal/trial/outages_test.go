package trial_test

import (
	"testing"

	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/run"
)

// TestOutageKinds: every way in which a network or a broker fails, over a link, with a real broker, under QoS 1 with sessions kept. Where
// only connections are cut whatever was acknowledged is delivered, and in the end everything is both; what a broker had not confirmed
// is listed.
func TestOutageKinds(t *testing.T) {
	for _, c := range []struct {
		kind string
		lasts, drain,
		keepAlive string
		loses bool // connections
		cut   bool // only connections: the broker stays
	}{
		{"rst", "300ms", "3s", "60s", true, true},
		{"blackhole", "2s", "4s", "1s", true, true}, // longer than one and a half keep-alives
		{"half-open", "2s", "4s", "1s", true, true},
		{"drip", "1s", "4s", "60s", false, true},
		{"restart", "500ms", "3s", "60s", true, false},
		{"kill", "500ms", "3s", "60s", true, false},
	} {
		t.Run(c.kind, func(t *testing.T) {
			t.Parallel() // they wait most of the time
			for _, r := range inSmall(t, "outage", "mosquitto", "matrix.load.qos=[1]", "network.delay=5ms", "load.publishers=3", "load.rate=60/s", "outages.kind="+c.kind,
				"outages.at=200ms", "outages.mttf=10m", "outages.mttr="+c.lasts, "connect.keepalive="+c.keepAlive, "connect.timeout=1s", "connect.backoff=50ms",
				"phases.measure=2500ms", "phases.drain="+c.drain) {
				hit(t, r, c.loses)
				pub, sub := total(r, engine.Publishers), total(r, engine.Subscribers)
				if sent := pub.Acked + pub.Unconfirmed; sent != pub.Sent {
					t.Errorf("%d sent, but %d acknowledged and %d unconfirmed", pub.Sent, pub.Acked, pub.Unconfirmed)
				}
				if c.cut {
					everything(t, pub, sub)
				}
			}
		})
	}
}

// hit checks which connections an outage, of which there was one, has cost: all or none, and all came back.
func hit(t *testing.T, r *run.TrialRecord, loses bool) {
	t.Helper()
	v := r.Recovery
	lost := uint64(0)
	if loses {
		lost = uint64(r.Trial.Params.Publishers + r.Trial.Params.Subscribers)
	}
	if v == nil {
		if loses {
			t.Error("nothing is told of the outage")
		}
		return
	}
	if v.Noticed != lost || v.Returned != lost {
		t.Errorf("%d connections were lost and %d came back, want %d", v.Noticed, v.Returned, lost)
	}
}

// everything checks that all that was sent was acknowledged and delivered, at least once.
func everything(t *testing.T, pub, sub ledger.Counts) {
	t.Helper()
	if pub.Acked > sub.Delivered {
		t.Errorf("%d acknowledged, %d delivered", pub.Acked, sub.Delivered)
	}
	if sub.Lost > 0 || pub.Unconfirmed > 0 || sub.Delivered != sub.Expected {
		t.Errorf("publishers %+v, subscribers %+v", pub, sub)
	}
}

// TestBlackHoleOfALink: over a link that carries nothing, what only publishes with QoS 0, and whoever hears it, is lost within one and a
// half keep-alives: at the end of the outage, which is not much longer, it would live on.
func TestBlackHoleOfALink(t *testing.T) {
	for _, r := range inSmall(t, "outage", "mosquitto", "matrix.load.qos=[0]", "network.delay=5ms", "load.publishers=2", "load.rate=40/s", "outages.kind=blackhole",
		"outages.at=200ms", "outages.mttf=10m", "outages.mttr=1900ms", "connect.keepalive=1s", "connect.timeout=1s", "connect.backoff=50ms",
		"phases.measure=2200ms", "phases.drain=2s") {
		hit(t, r, true)
		if l := r.Link; l == nil || l.Up == nil || l.Up.Total.Outage.Packets == 0 || len(l.Outages) != 1 {
			t.Errorf("the link: %+v", l)
		}
	}
}
