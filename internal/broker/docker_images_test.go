package broker

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mqlab/mqlab/internal/plan"
)

// given is all that a recipe gives to a container, in lines.
func given(r *recipe) (all []string) {
	all = append(append(all, r.command...), r.env...)
	for _, path := range []string{"/mqlab/nats.conf", "/etc/rabbitmq/conf.d/90-mqlab.conf", "/etc/rabbitmq/enabled_plugins", "/opt/hivemq/conf/config.xml"} {
		if text, ok := r.files[path]; ok {
			all = append(append(all, path), strings.Split(strings.TrimSuffix(text, "\n"), "\n")...)
		}
	}
	return all
}

func TestWhatContainersAreGiven(t *testing.T) {
	machine := plan.Profile{Name: "x", MemoryBytes: 2 << 30}
	for _, c := range []struct {
		broker string
		site   site
		want   []string
		ports  []uint16
	}{
		{"redis", site{variant: AsShipped}, []string{"redis-server", "--protected-mode", "no", "--bind", "0.0.0.0"}, []uint16{6379}},
		{"redis", site{variant: Tuned}, []string{
			"redis-server", "--protected-mode", "no", "--bind", "0.0.0.0",
			"--client-output-buffer-limit", "pubsub 0 0 0", "--save", "", "--maxclients", "60000",
		}, []uint16{6379}},
		{"nats", site{variant: AsShipped}, []string{"-c", "/mqlab/nats.conf", "/mqlab/nats.conf", `listen: "0.0.0.0:4222"`, `http: "0.0.0.0:8222"`}, []uint16{4222, 8222}},
		{"nats", site{variant: Tuned, protocol: plan.MQTT311, dir: containerFolder}, []string{
			"-c", "/mqlab/nats.conf", "GOGC=400", "/mqlab/nats.conf", `listen: "0.0.0.0:4222"`, `http: "0.0.0.0:8222"`,
			"max_pending: 268435456", `write_deadline: "1m0s"`, `jetstream: { store_dir: "/tmp/jetstream" }`,
			"server_name: mqlab", `mqtt: { listen: "0.0.0.0:1883" }`,
		}, []uint16{4222, 1883, 8222}},
		{"rabbitmq", site{variant: AsShipped, protocol: plan.AMQP091}, []string{
			"/etc/rabbitmq/conf.d/90-mqlab.conf", "loopback_users = none", "/etc/rabbitmq/enabled_plugins", "[].",
		}, []uint16{5672}},
		{"rabbitmq", site{variant: AsShipped, protocol: plan.AMQP091, subscribe: plan.MQTT5}, []string{
			"/etc/rabbitmq/conf.d/90-mqlab.conf", "loopback_users = none", "/etc/rabbitmq/enabled_plugins", "[rabbitmq_mqtt].",
		}, []uint16{5672, 1883}},
		{"hivemq", site{variant: AsShipped, profile: machine}, []string{
			"JAVA_OPTS=-Xmx1024m -XX:+ExitOnOutOfMemoryError", "/opt/hivemq/conf/config.xml", "<hivemq>", "<listeners>", "<tcp-listener>", "<port>1883</port>",
			"<bind-address>0.0.0.0</bind-address>", "</tcp-listener>", "</listeners>",
			"<anonymous-usage-statistics>", "<enabled>false</enabled>", "</anonymous-usage-statistics>", "</hivemq>",
		}, []uint16{1883}},
		{"artemis", site{variant: AsShipped}, []string{"ARTEMIS_USER=mqlab", "ARTEMIS_PASSWORD=mqlab", "ANONYMOUS_LOGIN=true"}, []uint16{1883}},
		{"artemis", site{variant: Tuned, protocol: plan.AMQP10, profile: machine}, []string{
			"ARTEMIS_USER=mqlab", "ARTEMIS_PASSWORD=mqlab", "ANONYMOUS_LOGIN=true", "JAVA_ARGS_APPEND=-Xmx1024m -XX:+ExitOnOutOfMemoryError -Dbrokerconfig.maxDiskUsage=98",
		}, []uint16{1883, 5672}},
		{"artemis", site{variant: Tuned}, []string{
			"ARTEMIS_USER=mqlab", "ARTEMIS_PASSWORD=mqlab", "ANONYMOUS_LOGIN=true", "JAVA_ARGS_APPEND=-Xms2g -Xmx2g -Dbrokerconfig.maxDiskUsage=98",
		}, []uint16{1883}},
		{"zenoh", site{}, []string{
			"--cfg", `mode:"router"`, "--cfg", `listen/endpoints:["tcp/0.0.0.0:7447"]`,
			"--cfg", "scouting/multicast/enabled:false", "--cfg", "scouting/gossip/enabled:false",
		}, []uint16{7447}},
	} {
		r := images[c.broker].recipe(&c.site)
		if diff := cmp.Diff(c.want, given(r)); diff != "" {
			t.Errorf("%s:%s: %s", c.broker, c.site.variant, diff)
		}
		if diff := cmp.Diff(c.ports, r.ports()); diff != "" {
			t.Errorf("%s:%s publishes %s", c.broker, c.site.variant, diff)
		}
	}
}
