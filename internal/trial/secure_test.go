package trial_test

import (
	"strings"
	"testing"

	"github.com/mqlab/mqlab/internal/engine"
)

// TestSecureBrokers: every broker that can speak TLS does when a trial wants it, in each of its protocols, and all arrives.
func TestSecureBrokers(t *testing.T) {
	for _, subject := range []string{
		"mosquitto", "rabbitmq/amqp10", "nats@process", "nats/jetstream@process", "nats/mqtt311@process",
		"redis/redis-streams", "artemis", "artemis/amqp10", "hivemq",
	} {
		t.Run(strings.ReplaceAll(subject, "/", " "), func(t *testing.T) {
			qos := "load.qos=1"
			if subject == "nats@process" {
				qos = "load.qos=0"
			}
			for _, r := range inSmall(t, "quick", subject, "connect.tls.version=1.2", "load.publishers=2", "load.rate=50/s", qos, "phases.drain=5s") {
				if tls := r.Client.TLS; tls == nil || tls.Version != "TLS 1.2" || tls.Handshakes < 4 || !tls.Verified {
					t.Errorf("%+v", tls)
				}
				if c := total(r, engine.Subscribers); c.Delivered != c.Expected || c.Expected == 0 {
					t.Errorf("%+v", c)
				}
			}
		})
	}
}
