package trial_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/broker/brokertest"
	"github.com/mqlab/mqlab/internal/crew"
	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/guard/guardtest"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/netns"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/trial"
)

// TestMain lets the test program be run again as the guard and as an embedded broker.
func TestMain(m *testing.M) {
	guardtest.Main(m, guard.Verbs{
		crew.Verb:          crew.Main,
		broker.LimitedVerb: broker.Limited,
		broker.Verb:        broker.Main,
	})
}

// load is a kind of trial.
type load struct {
	protocol, pattern string
	qos               uint8
	kept              bool // clean_start: false
}

func (l load) String() string {
	return fmt.Sprintf("%s %s QoS %d kept %v", l.protocol, l.pattern, l.qos, l.kept)
}

// TestBrokers drives every broker of people other than us that is installed, in each of its protocols, at a rate that is
// nothing to it: what was expected must have been delivered, once, and in order. Artemis lets MQTT messages of QoS 1
// overtake one another even so; other clients see the same. Members of a shared subscription have no common order.
func TestBrokers(t *testing.T) {
	const pairs, fanout, fanin, shared = plan.PatternPairs, plan.PatternFanout, plan.PatternFanin, plan.PatternShared
	mqtt := func(qos2, sharing bool, protocols ...string) (list []load) {
		for _, p := range protocols {
			list = append(list, load{p, pairs, 0, false}, load{p, fanout, 1, false})
			if qos2 {
				list = append(list, load{p, fanin, 2, false})
			}
			if sharing && p == plan.MQTT5 {
				list = append(list, load{p, shared, 1, false})
			}
		}
		return list
	}
	for _, c := range []struct {
		subject plan.Subject
		loads   []load
	}{
		{plan.Subject{Broker: "mosquitto"}, mqtt(true, true, plan.MQTT5, plan.MQTT311)},
		{plan.Subject{Broker: "redis"}, []load{
			{plan.Redis, pairs, 0, false},
			{plan.Redis, fanout, 1, false},
			{plan.Redis, fanin, 0, false},
			{plan.RedisStreams, pairs, 0, false},
			{plan.RedisStreams, fanout, 1, false},
			{plan.RedisStreams, fanin, 1, false},
			{plan.RedisStreams, shared, 1, false},
		}},
		{plan.Subject{Broker: "rabbitmq", Protocol: plan.AMQP091}, []load{
			{plan.AMQP091, pairs, 0, false},
			{plan.AMQP091, fanout, 1, false},
			{plan.AMQP091, fanin, 1, false},
			{plan.AMQP091, pairs, 1, true},
			{plan.AMQP091, shared, 1, false},
		}},
		{plan.Subject{Broker: "rabbitmq", Protocol: plan.MQTT311}, mqtt(false, false, plan.MQTT311)},
		{plan.Subject{Broker: "rabbitmq", Protocol: plan.AMQP10}, []load{
			{plan.AMQP10, pairs, 0, false},
			{plan.AMQP10, fanout, 1, false},
			{plan.AMQP10, fanin, 1, false},
		}},
		{plan.Subject{Broker: "artemis"}, mqtt(true, true, plan.MQTT5, plan.MQTT311)},
		{plan.Subject{Broker: "artemis", Protocol: plan.AMQP10}, []load{
			{plan.AMQP10, pairs, 0, false},
			{plan.AMQP10, fanout, 1, false},
			{plan.AMQP10, fanin, 1, false},
			{plan.AMQP10, shared, 1, false},
		}},
		{plan.Subject{Broker: "hivemq"}, mqtt(true, true, plan.MQTT5, plan.MQTT311)},
		{plan.Subject{Broker: "zenoh"}, []load{
			{plan.Zenoh, pairs, 0, false},
			{plan.ZenohBlock, pairs, 0, false},
			{plan.ZenohBlock, fanout, 0, false},
			{plan.ZenohBlock, fanin, 0, false},
		}},
	} {
		s := c.subject
		s.Runtime, s.Variant = broker.Process, broker.AsShipped
		t.Run(strings.TrimSuffix(s.Broker+"/"+s.Protocol, "/"), func(t *testing.T) {
			t.Parallel()
			url, g := start(t, s)
			for i, l := range c.loads {
				t.Run(l.String(), func(t *testing.T) { measure(t, g, i+1, s.Broker, url, l) })
			}
		})
	}
}

// here ends a test whose broker is not here, or takes many seconds to start where tests are to be short.
func here(t *testing.T, s plan.Subject) {
	t.Helper()
	if testing.Short() && slices.Contains([]string{"rabbitmq", "artemis", "hivemq"}, s.Broker) {
		t.Skip("takes seconds to start")
	}
	brokertest.Need(t, s)
}

// start starts a broker for the time of a test.
func start(t *testing.T, s plan.Subject) (url string, g *guard.Guard) {
	t.Helper()
	here(t, s)
	g = guardtest.Start(t)
	i, err := broker.Start(t.Context(), s, broker.Options{Guard: g})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return i.URL, g
}

func measure(t *testing.T, g *guard.Guard, id int, name, url string, l load) {
	t.Helper()
	s := plan.Subject{Name: url, Broker: name, Protocol: l.protocol, Runtime: broker.External, URL: url}
	carryOut(t, g, id, s, l, name == "artemis" || l.pattern == plan.PatternShared)
}

// carryOut runs a trial, checks its record, and returns the run folder.
func carryOut(t *testing.T, g *guard.Guard, id int, s plan.Subject, l load, disorder bool) string {
	t.Helper()
	record, dir := execute(t, g, plan.Trial{ID: id, Subject: s, Params: paramsOf(l)}, nil)
	check(t, record, l, disorder)
	return dir
}

func paramsOf(l load) plan.Params {
	params := plan.Params{
		Pattern: l.pattern, Publishers: 3, Subscribers: 3, RatePerS: 300, Pacing: plan.PacingConstant,
		PayloadBytes: 200, PayloadForm: plan.PayloadBinary, QoS: l.qos, Window: 20,
		Topic: "mqlab/{run}/{stream}", ClientID: "mqlab-{run}-{role}-{n}",
		Connect: plan.Connect{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second, CleanStart: !l.kept, SessionExpiry: expiry(l)},
		Phases:  plan.Phases{Settle: 50 * time.Millisecond, Measure: 200 * time.Millisecond, Drain: 10 * time.Second},
		Engine:  plan.EngineAuto, Quantum: plan.QuantumAuto, NoDelay: true, Verify: plan.VerifyAll,
	}
	if l.pattern == plan.PatternFanin {
		params.Subscribers = 1
	}
	return params
}

// execute runs a trial in a run folder of its own, and returns that, too.
func execute(t *testing.T, g *guard.Guard, job plan.Trial, watch func(*ledger.Window)) (record *run.TrialRecord, dir string) {
	t.Helper()
	job.Cell, job.Point, job.Repetition, job.Seed = 1, 1, 1, uint64(job.ID)
	runID := run.NewID()
	w, err := run.Create(t.TempDir(), run.Manifest{ID: runID, Scenario: "brokers"})
	if err != nil {
		t.Fatal(err)
	}
	out, err := w.Trial(job.ID)
	if err != nil {
		t.Fatal(err)
	}
	lab := &trial.Lab{Place: netns.Host, Guard: g, RunID: runID, Watch: watch}
	record, err = lab.Run(t.Context(), job, out)
	if err != nil || record.State != run.Finished || record.Failure != "" {
		t.Fatalf("%v, %s: %s", err, record.State, record.Failure)
	}
	return record, w.Dir()
}

// expiry bounds what a broker keeps of a client that is gone.
func expiry(l load) time.Duration {
	if l.kept {
		return time.Minute
	}
	return 0
}

// check compares what was counted with what it must be; disorder allows that messages overtake one another.
func check(t *testing.T, record *run.TrialRecord, l load, disorder bool) {
	t.Helper()
	if m := record.Checks.LedgerMismatch; m != "" {
		t.Error(m)
	}
	messages := uint64(60) // 300 a second for 200 ms
	deliveries := messages
	if l.pattern == plan.PatternFanout {
		deliveries *= 3
	}
	for _, g := range record.Totals {
		c := g.Counts
		if g.Group == engine.Publishers {
			if c.Offered != messages || c.Sent != messages || c.Refused != 0 || l.qos > 0 && c.Acked != messages {
				t.Errorf("publishers: %+v", c)
			}
			continue
		}
		if c.Expected != deliveries || c.Delivered != deliveries || c.Lost+c.Duplicates+c.Corrupt+c.Foreign > 0 || c.Reordered > 0 && !disorder {
			t.Errorf("subscribers: %+v", c)
		}
	}
}
