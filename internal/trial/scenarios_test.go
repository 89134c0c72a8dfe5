package trial_test

import (
	"slices"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/guard/guardtest"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/link/linktest"
	"github.com/mqlab/mqlab/internal/netns"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/scenario"
	"github.com/mqlab/mqlab/internal/trial"
	"github.com/mqlab/mqlab/scenarios"
)

// inSmall is carriedOut where every trial must have been measured to its end.
func inSmall(t *testing.T, name, subjects string, overrides ...string) []*run.TrialRecord {
	t.Helper()
	records := carriedOut(t, name, subjects, overrides...)
	for _, r := range records {
		if r.State != run.Finished {
			t.Fatalf("%s %v: %s", r.Trial.Subject.Name, r.Trial.Params.Set, r.Failure)
		}
	}
	return records
}

// carriedOut makes a built-in scenario small by overriding keys, runs its trials, and returns their records. Where a broker is not
// installed the test is skipped.
func carriedOut(t *testing.T, name, subjects string, overrides ...string) []*run.TrialRecord {
	t.Helper()
	text, err := scenarios.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	s := scenario.Decode(name+".yaml", text)
	s.Compare(subjects)
	s.Times(1)
	for _, o := range append([]string{"phases.settle=20ms", "phases.warmup=50ms", "phases.measure=300ms"}, overrides...) {
		s.Set(o)
	}
	p, err := plan.Resolve(s, plan.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, subject := range p.Subjects {
		here(t, subject)
	}
	g := guardtest.Start(t)
	w, err := run.Create(t.TempDir(), run.Manifest{ID: run.NewID(), Scenario: name, Plan: *p})
	if err != nil {
		t.Fatal(err)
	}
	lab := &trial.Lab{
		Place: netns.Host, Guard: g, RunID: w.Manifest().ID,
		Links: new(trial.LinkTests), LinkTest: linktest.Options{Packets: 200, Full: 300 * time.Millisecond},
	}
	var records []*run.TrialRecord
	for _, planned := range p.Trials {
		out, err := w.Trial(planned.ID)
		if err != nil {
			t.Fatal(err)
		}
		record, err := lab.Run(t.Context(), planned, out)
		if err != nil {
			t.Fatalf("%s %v: %v", planned.Subject.Name, planned.Params.Set, err)
		}
		if m := record.Checks.LedgerMismatch; m != "" {
			t.Errorf("%s %v: %s", planned.Subject.Name, planned.Params.Set, m)
		}
		records = append(records, record)
	}
	return records
}

// total are the final counts of a group.
func total(record *run.TrialRecord, group string) (c ledger.Counts) {
	for _, g := range record.Totals {
		if g.Group == group {
			c = g.Counts
		}
	}
	return c
}

// complete checks that everything expected arrived once, over as many connections as were asked for.
func complete(t *testing.T, record *run.TrialRecord) {
	t.Helper()
	p := &record.Trial.Params
	c, k := total(record, engine.Subscribers), record.Connections
	if c.Expected == 0 || c.Delivered != c.Expected || c.Lost+c.Duplicates+c.Corrupt+c.Foreign > 0 {
		t.Errorf("%s %v: %+v", record.Trial.Subject.Name, p.Set, c)
	}
	if n := uint64(p.Publishers + p.Subscribers); k.Attempted != n || k.Established != n || k.Failed+k.Lost > 0 || k.ReadyIn <= 0 {
		t.Errorf("%s %v: connections %+v", record.Trial.Subject.Name, p.Set, k)
	}
}

func TestScale(t *testing.T) {
	for _, r := range inSmall(t, "scale", "mosquitto,nats@process", "matrix.load.publishers=[60]") {
		complete(t, r)
		if idle, connected := r.Broker.PSSIdle, r.Broker.PSSConnected; idle == nil || connected == nil {
			t.Errorf("%s: memory idle %v, connected %v", r.Trial.Subject.Name, idle, connected)
		}
	}
}

func TestFanout(t *testing.T) {
	for _, r := range inSmall(t, "fanout", "mosquitto,nats@process", "load.rate=50/s", "matrix.load.subscribers=[1, 100]") {
		complete(t, r)
		if c, pub := total(r, engine.Subscribers), total(r, engine.Publishers); c.Expected != pub.Offered*uint64(r.Trial.Params.Subscribers) {
			t.Errorf("%d messages to %d subscribers: %d expected", pub.Offered, r.Trial.Params.Subscribers, c.Expected)
		}
	}
}

// TestShared: each message is for one member, whatever their number, and the members' shares add up.
func TestShared(t *testing.T) {
	for _, r := range inSmall(t, "shared", "mosquitto,nats@process,redis/redis-streams", "matrix.load.subscribers=[1, 3]") {
		complete(t, r)
		var sum uint64
		for _, n := range r.Members {
			sum += n
		}
		c, pub := total(r, engine.Subscribers), total(r, engine.Publishers)
		if c.Expected != pub.Offered || len(r.Members) != r.Trial.Params.Subscribers || sum != c.Delivered {
			t.Errorf("%s: %d messages, %d expected, %d delivered; members %v", r.Trial.Subject.Name, pub.Offered, c.Expected, c.Delivered, r.Members)
		}
	}
}

func TestStorm(t *testing.T) {
	for _, r := range inSmall(t, "storm", "mosquitto,nats@process", "load.rate=10/s each", "matrix.load.publishers=[60]") {
		complete(t, r)
		const second = 1_000_000_000
		if rate := r.Trial.Params.Connect.RatePerS; rate > 0 && float64(r.Connections.ReadyIn) < 119/rate*second {
			t.Errorf("120 connections at %v a second were ready in %d ns", rate, r.Connections.ReadyIn)
		}
		if c := r.Churn; c == nil || c.Due != 15 || c.Made != c.Due || r.Broker.PSSAfter == nil { // 50/s for 300 ms
			t.Errorf("%s: churn %+v, memory after %v", r.Trial.Subject.Name, c, r.Broker.PSSAfter)
		}
	}
}

// TestChannels: AMQP clients that share connections, each with a channel to itself, lose nothing; also where they come and leave.
func TestChannels(t *testing.T) {
	for _, r := range inSmall(t, "latency", "rabbitmq/amqp091", "load.publishers=7", "load.rate=100/s", "load.qos=1", "matrix.load.payload=[256B]",
		"connect.channels=5", "connect.churn=20/s") {
		complete(t, r)
		if !slices.Contains(r.Client.Settings, "channels=5 per connection") || r.Client.Engine != plan.EngineGoroutine {
			t.Errorf("%s: %v", r.Client.Engine, r.Client.Settings)
		}
		if c := r.Churn; c == nil || c.Made != c.Due {
			t.Errorf("churn %+v", c)
		}
	}
}

// TestCompetingReceivers: AMQP 1.0 receivers of one queue of RabbitMQ share what is in it.
func TestCompetingReceivers(t *testing.T) {
	t.Parallel()
	for _, r := range inSmall(t, "shared", "rabbitmq/amqp10", "matrix.load.subscribers=[3]", "load.rate=100/s", "load.qos=1") {
		complete(t, r)
		if pub := total(r, engine.Publishers); len(r.Members) != 3 || total(r, engine.Subscribers).Expected != pub.Offered {
			t.Errorf("%d messages; members %v", pub.Offered, r.Members)
		}
	}
}

// TestDurableSubscriptions: those of AMQP 1.0 at Artemis lose nothing when the broker is told to end.
func TestDurableSubscriptions(t *testing.T) {
	t.Parallel()
	for _, r := range inSmall(t, "persistence", "artemis/amqp10", "load.publishers=2", "phases.measure=1s", "phases.drain=25s",
		"matrix.faults=[restart 100ms at 300ms]", "matrix.broker.persistence=[\"on\"]", "matrix.connect.clean_start=[false]", "matrix.load.qos=[1]",
		"connect.session_expiry=0s") {
		// What the broker had not confirmed when it was ended is in nobody's hand: AMQP 1.0 publishers do not send it again.
		c, open := total(r, engine.Subscribers), total(r, engine.Publishers).Unconfirmed
		if c.Expected == 0 || c.Lost > open || c.Delivered+c.Lost+c.UndeliveredUnsent != c.Expected {
			t.Errorf("%v: %+v, %d unconfirmed", r.Trial.Params.Set, c, open)
		}
		if want := plan.Stored; r.Client.Durability != want {
			t.Errorf("durability %s, want %s", r.Client.Durability, want)
		}
	}
}

// TestMultiInstance: the pairs are dealt out to all brokers, and none of them hears of the others'.
func TestMultiInstance(t *testing.T) {
	t.Parallel()
	for _, r := range inSmall(t, "multi-instance", "mosquitto", "load.publishers=7", "matrix.broker.instances=[1, 3]") {
		complete(t, r)
		several := slices.ContainsFunc(r.Broker.Config, func(s run.Setting) bool { return s.Key == "instances" && s.Value == "3" })
		if several != (r.Trial.Params.Instances == 3) {
			t.Errorf("%d instances: %v", r.Trial.Params.Instances, r.Broker.Config)
		}
	}
}

// TestPersistence: sessions that are kept on disk lose nothing of QoS 1 when the broker is told to end; a message may come twice.
// A clean session, or a broker that keeps nothing, loses what came while its subscriber was away. All connections come back.
func TestPersistence(t *testing.T) {
	t.Parallel()
	for _, r := range inSmall(t, "persistence", "mosquitto", "load.publishers=4", "phases.measure=1s", "phases.drain=2s",
		"matrix.faults=[restart 100ms at 300ms, kill 100ms at 300ms]", "connect.clean_start=false", "load.qos=1") {
		p, c, k := &r.Trial.Params, total(r, engine.Subscribers), r.Connections
		fault := p.Faults[0].Kind
		if fault == plan.FaultRestart && p.Persistence == plan.PersistenceOn && (c.Lost > 0 || c.Delivered != c.Expected) {
			t.Errorf("%v: %+v", p.Set, c)
		}
		if k.Lost != 8 || k.Reconnected != 8 || k.Established != 16 {
			t.Errorf("%v: connections %+v", p.Set, k)
		}
		if want := plan.Stored; p.Persistence == plan.PersistenceOn && r.Client.Durability != want {
			t.Errorf("%v: durability %s, want %s", p.Set, r.Client.Durability, want)
		}
	}
}
