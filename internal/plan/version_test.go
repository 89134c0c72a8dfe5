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
