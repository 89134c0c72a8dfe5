package plan_test

import (
	"testing"

	"github.com/mqlab/mqlab/internal/plan"
)

// TestPromises: what each subject promises, by quality of service and session; a log stores whatever is promised about delivery.
func TestPromises(t *testing.T) {
	const (
		clean = "connect: {clean_start: true}"
		kept  = "connect: {clean_start: false, session_expiry: 60s}"
		named = "connect: {clean_start: false}" // sessions without a time
	)
	for _, c := range []struct {
		subject, qos, more    string
		guarantee, durability string
	}{
		{"mosquitto", "0", kept, plan.AtMostOnce, plan.InMemory},
		{"mosquitto", "1", clean, plan.AtLeastOnce, plan.InMemory},
		{"mosquitto", "1", kept, plan.AtLeastOnce, plan.InMemory},
		{"mosquitto", "1", kept + "\nbroker: {persistence: on}", plan.AtLeastOnce, plan.Stored},
		{"mosquitto", "1", clean + "\nbroker: {persistence: on}", plan.AtLeastOnce, plan.InMemory},
		{"mosquitto", "2", kept, plan.ExactlyOnce, plan.InMemory},
		{"mochi", "1", kept, plan.AtLeastOnce, plan.InMemory},
		{"nats", "0", clean, plan.AtMostOnce, plan.InMemory},
		{"nats/jetstream", "0", clean, plan.AtMostOnce, plan.Stored},
		{"nats/jetstream", "1", clean, plan.AtLeastOnce, plan.Stored},
		{"redis", "1", clean, plan.AtMostOnceConfirmed, plan.InMemory},
		{"redis/redis-streams", "0", clean, plan.AtMostOnce, plan.InMemory},
		{"redis/redis-streams", "1", clean + "\nbroker: {persistence: on}", plan.AtLeastOnce, plan.Stored},
		{"rabbitmq", "1", clean, plan.AtLeastOnce, plan.InMemory},
		{"rabbitmq", "1", named, plan.AtLeastOnce, plan.Durable},
		{"rabbitmq/mqtt311", "1", named, plan.AtLeastOnce, plan.Durable},
		{"mqtt://host", "0", clean, plan.AtMostOnce, plan.InMemory},
		{"mqtt://host", "1", clean, plan.AtLeastOnce, ""},
		{"mqtt://host", "1", kept + "\nbroker: {persistence: on}", plan.AtLeastOnce, plan.Stored},
	} {
		p := resolve(t, "subjects: "+c.subject+"\nload: {qos: "+c.qos+"}\n"+c.more+"\n", plan.Options{})
		trial := &p.Trials[0]
		if g, d := trial.Guarantee(), trial.Durability(); g != c.guarantee || d != c.durability {
			t.Errorf("%s, QoS %s, %s: %s, %q; want %s, %q", c.subject, c.qos, c.more, g, d, c.guarantee, c.durability)
		}
	}
}
