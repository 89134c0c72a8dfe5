package probe

import (
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/broker/brokertest"
	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/guard/guardtest"
	"github.com/mqlab/mqlab/internal/plan"
)

// expect checks what values begin with.
func expect(t *testing.T, r *Report, want map[string]string) {
	t.Helper()
	for question, value := range want {
		a, ok := r.Answer(question)
		if !ok || a.Value == "" || !strings.HasPrefix(a.Value, value) || a.How == "" || a.Evidence == "" {
			t.Errorf("%s: %+v, want %s", question, a, value)
		}
	}
}

// TestMosquittoShipped asks everything. The broker's own version decides about some of the values.
func TestMosquittoShipped(t *testing.T) {
	t.Parallel()
	r := mosquitto(t)
	got := ask(t, r.url, r.restart)
	expect(t, got, map[string]string{
		AskMQTT311: "yes", AskMQTT5: "yes", AskQoS0: "yes", AskQoS1: "yes", AskQoS2: "yes", AskRetained: "yes, wildcards too",
		AskWildcards: "yes", AskShared: "yes", AskSession: "yes", AskExpiry: "as asked, even never", AskReceiveMax: "20",
		AskOffline: "1,000, newest dropped", AskOffline0: "dropped", AskInFlight: "20", AskNagle: "on", AskTerm: "no", AskKill: "no",
	})
	for question, figures := range map[string]map[string]int64{
		AskOffline:  {"sent": 1500, "confirmed": 1500, "arrived": 1000},
		AskInFlight: {"messages": 20},
	} {
		for name, want := range figures {
			if a, _ := got.Answer(question); a.Figures[name] != want {
				t.Errorf("%s: %s is %d, want %d", question, name, a.Figures[name], want)
			}
		}
	}
	if a, _ := got.Answer(AskSlow); a.Figures["lost"] == 0 || a.Figures["lost"]+a.Figures["arrived"] != a.Figures["sent"] {
		t.Errorf("%+v", a)
	}
	if got.Took > Limit {
		t.Errorf("the probe took %v", got.Took)
	}
}

// TestLeavesNothing: neither sessions nor retained messages stay in a broker.
func TestLeavesNothing(t *testing.T) {
	t.Parallel()
	s := mochiServer(t, nil)
	got := ask(t, s.url, nil, AskRetained, AskSession, AskExpiry, AskOffline0, AskQoS2)
	ended := time.Now()
	if len(got.Answers) != 5 {
		t.Errorf("%d answers", len(got.Answers))
	}
	for s.server.Clients.Len() > 0 { // it notices the last goodbyes soon
		if err := clock.Pause(t.Context(), time.Millisecond); err != nil || time.Since(ended) > patience {
			t.Fatalf("%d sessions are left", s.server.Clients.Len())
		}
	}
	for topic := range s.server.Topics.Retained.GetAll() {
		if !strings.HasPrefix(topic, "$SYS") {
			t.Errorf("a retained message is left at %s", topic)
		}
	}
}

// TestNotOurs: what needs a restart is not decided at a broker that we did not start.
func TestNotOurs(t *testing.T) {
	got := ask(t, mochiServer(t, nil).url, nil, AskTerm, AskKill)
	for _, question := range []string{AskTerm, AskKill} {
		if a, _ := got.Answer(question); a.Value != "" || a.Why != notOurs {
			t.Errorf("%+v", a)
		}
	}
}

// Not beside others: this server closes MQTT connections whose streams it cannot make in time.
func TestNATSOverMQTT(t *testing.T) {
	r := natsServer(t, "mqtt")
	expect(t, ask(t, r.url, r.restart, AskMQTT5, AskMQTT311, AskQoS1, AskQoS2, AskRetained), map[string]string{
		AskMQTT5: "no", AskMQTT311: "yes", AskQoS1: "yes", AskQoS2: "no", AskRetained: "yes, wildcards too",
	})
}

// started asks a broker that package broker starts.
func started(t *testing.T, subject string, questions ...string) *Report {
	t.Helper()
	s, err := plan.ParseSubject(subject)
	if err != nil {
		t.Fatal(err)
	}
	brokertest.Need(t, s)
	g := guardtest.Start(t)
	i, err := broker.Start(t.Context(), s, broker.Options{Guard: g})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), s, i.URL, Options{Questions: questions})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range r.Answers {
		t.Logf("%s: %s%s (%s)", a.Question, a.Value, a.Why, a.Evidence)
	}
	if err := i.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	return r
}

func TestRabbitMQ(t *testing.T) {
	t.Parallel()
	t.Run("MQTT", func(t *testing.T) {
		expect(t, started(t, "rabbitmq/mqtt311", AskMQTT5, AskQoS1, AskQoS2, AskRetained, AskInFlight), map[string]string{
			AskMQTT5: "no", AskQoS1: "yes", AskQoS2: "no", AskRetained: "yes, not by wildcard", AskInFlight: "10",
		})
	})
	t.Run("AMQP", func(t *testing.T) {
		expect(t, started(t, "rabbitmq", AskConfirms, AskMandatory, AskWildcards, AskGroups, AskQuorum), map[string]string{
			AskConfirms: "yes", AskMandatory: "yes", AskWildcards: "yes", AskGroups: "yes", AskQuorum: "yes",
		})
	})
}

// TestAMQP10 asks both kinds of broker: what an address means differs.
func TestAMQP10(t *testing.T) {
	t.Parallel()
	for _, subject := range []string{"rabbitmq/amqp10", "artemis/amqp10"} {
		t.Run(subject, func(t *testing.T) {
			expect(t, started(t, subject, AskConfirms, AskMandatory, AskWildcards), map[string]string{
				AskConfirms: "yes", AskMandatory: "no", AskWildcards: "yes",
			})
		})
	}
}

func TestNATSShipped(t *testing.T) {
	t.Parallel()
	expect(t, started(t, "nats", AskWildcards, AskGroups, AskHeaders, AskAbsent, AskPayload, AskNagle), map[string]string{
		AskWildcards: "yes", AskGroups: "yes", AskHeaders: "yes", AskAbsent: "misses all", AskPayload: "1,048,576 B payload", AskNagle: "off",
	})
}

func TestRedisShipped(t *testing.T) {
	t.Parallel()
	r := redisServer(t)
	expect(t, ask(t, r.url, r.restart, AskRESP3, AskWildcards, AskAbsent, AskStreams, AskNagle), map[string]string{
		AskRESP3: "yes", AskWildcards: "yes", AskAbsent: "misses all", AskStreams: "yes, with groups", AskNagle: "off",
	})
}

// TestUnreachable: a broker that is not there, or not of this kind, is an error and no report.
func TestUnreachable(t *testing.T) {
	for _, scheme := range []string{"mqtt", "nats", "redis", "amqp", "zenoh"} {
		s, err := plan.ParseSubject(scheme + "://127.0.0.1:1")
		if err != nil {
			t.Fatal(err)
		}
		if r, err := Run(t.Context(), s, s.URL, Options{}); err == nil {
			t.Errorf("%s: %+v", scheme, r)
		}
	}
}
