package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/scenario"
)

// Sessions that never expire are those of every protocol that keeps sessions; a time for them is only some protocols'.
func TestSessionExpiry(t *testing.T) {
	kept := []string{"mosquitto", "mosquitto/mqtt311", "artemis/amqp10", "rabbitmq", "nats/jetstream", "redis/redis-streams"}
	for _, c := range []struct {
		connect string
		left    []string // subjects that are left out
	}{
		{"{clean_start: false, session_expiry: never}", nil},
		{"{clean_start: false, session_expiry: 1h}", []string{"mosquitto/mqtt311", "artemis/amqp10", "redis/redis-streams"}},
		{"{clean_start: true, session_expiry: never}", []string{"mosquitto/mqtt311", "artemis/amqp10", "rabbitmq", "nats/jetstream"}},
	} {
		text := "subjects: [" + strings.Join(kept, ", ") + "]\nskip: true\nload: {qos: 1}\nconnect: " + c.connect + "\n"
		p, err := plan.Resolve(scenario.Decode("expiry.yaml", []byte(text)), plan.Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, l := range p.LeftOut {
			left = append(left, l.Subject)
		}
		if !slices.Equal(left, c.left) {
			t.Errorf("connect: %s leaves out %v, want %v", c.connect, left, c.left)
		}
	}
}

func TestKeptFor(t *testing.T) {
	never := plan.Connect{SessionExpiry: scenario.Never}
	if d := never.KeptFor(); d != 0 {
		t.Errorf("a session that never expires is kept for %v, want 0: without end", d)
	}
}
