package plan_test

import (
	"strings"
	"testing"

	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/scenario"
)

// TestVersionLacksQoS2: an installed nats-server of before 2.10 is refused where MQTT publishes with QoS 2, and nothing else is.
func TestVersionLacksQoS2(t *testing.T) {
	for _, c := range []struct {
		subject, version, qos string
		refused               bool
	}{
		{"nats/mqtt@process", "2.9.10", "2", true},
		{"nats/mqtt@process", "2.9.10", "1", false},
		{"nats/mqtt@process", "2.10.0", "2", false},
		{"nats/mqtt@process", "3.0.0", "2", false},
		{"nats/mqtt@process", "", "2", false},
		{"nats/mqtt@process", "2.x", "2", false},
		{"nats/mqtt", "2.9.10", "2", false},
		{"mosquitto+nats/mqtt@process", "2.9.10", "2", true},
		{"mosquitto+nats/mqtt@process", "2.11.4", "2", false},
	} {
		s := scenario.Decode("x.yaml", []byte("name: x\nsubjects: ["+c.subject+"]\nload: {rate: 100/s, qos: "+c.qos+"}\n"))
		_, err := plan.Resolve(s, plan.Options{Seed: 1, Version: func(plan.Subject) string { return c.version }})
		refused := err != nil && strings.Contains(err.Error(), "nats-server "+c.version+" has no QoS 2 in MQTT")
		if refused != c.refused || err != nil && !refused {
			t.Errorf("%s %s, QoS %s: %v", c.subject, c.version, c.qos, err)
		}
	}
}

// TestVersionLacksMQTT5: an installed RabbitMQ of before 3.13 is refused with MQTT 5 at either end, and with nothing else.
func TestVersionLacksMQTT5(t *testing.T) {
	for _, c := range []struct {
		subject, version string
		refused          bool
	}{
		{"rabbitmq/mqtt5", "3.10.8", true},
		{"rabbitmq/amqp091>mqtt5", "3.10.8", true},
		{"rabbitmq/mqtt5", "3.13.0", false},
		{"rabbitmq/mqtt5", "", false},
		{"rabbitmq/mqtt311", "3.10.8", false},
		{"rabbitmq", "3.10.8", false},
		{"mosquitto", "2.0.11", false},
	} {
		s := scenario.Decode("x.yaml", []byte("name: x\nsubjects: ["+c.subject+"]\nload: {rate: 100/s}\n"))
		_, err := plan.Resolve(s, plan.Options{Seed: 1, Version: func(plan.Subject) string { return c.version }})
		refused := err != nil && strings.Contains(err.Error(), "RabbitMQ "+c.version+" has no MQTT 5")
		if refused != c.refused || err != nil && !refused {
			t.Errorf("%s %s: %v", c.subject, c.version, err)
		}
	}
}
