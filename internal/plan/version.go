package plan

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mqlab/mqlab/internal/scenario"
)

// natsQoS2 is the version of nats-server from which on its MQTT has QoS 2. Those before reset the connection of who publishes so.
const natsQoS2 = "2.10"

// rabbitMQTT5 is the version of RabbitMQ from which on its plug-in speaks MQTT 5.
const rabbitMQTT5 = "3.13"

// checkVersion looks for what the installed version of a broker cannot do, at either end of a bridge.
func (r *resolver) checkVersion(p *scenario.Point, s Subject, report reporter) {
	ends := []Subject{s}
	if s.Bridge != nil {
		ends = append(ends, *s.Bridge)
	}
	for _, end := range ends {
		if end.Runtime != "process" || r.options.Version == nil {
			continue
		}
		switch {
		case end.Broker == "nats" && p.Load.QoS == 2 && IsMQTT(end.Protocol):
			if v := r.options.Version(end); older(v, natsQoS2) {
				report("load.qos", "nats-server %s has no QoS 2 in MQTT, which needs %s or newer: install that, or take the embedded one", v, natsQoS2)
			}
		case end.Broker == "rabbitmq" && (end.Protocol == MQTT5 || end.Subscribe == MQTT5):
			if v := r.options.Version(end); older(v, rabbitMQTT5) {
				report("subjects", "RabbitMQ %s has no MQTT 5, which needs %s or newer: name rabbitmq/mqtt311", v, rabbitMQTT5)
			}
		}
	}
}

// ProtocolsOf are those of Protocols that a version of the broker speaks; all where the version is not known.
func (s *Subject) ProtocolsOf(version string) []string {
	return slices.DeleteFunc(s.Protocols(), func(p string) bool { return s.Broker == "rabbitmq" && p == MQTT5 && older(version, rabbitMQTT5) })
}

// older reports whether a version comes before another; not where a number of either cannot be read.
func older(version, than string) bool {
	a, b := strings.Split(version, "."), strings.Split(than, ".")
	for i := range b {
		if i >= len(a) {
			return false
		}
		have, err := strconv.Atoi(a[i])
		want, errToo := strconv.Atoi(b[i])
		if err != nil || errToo != nil || have > want {
			return false
		}
		if have < want {
			return true
		}
	}
	return false
}
