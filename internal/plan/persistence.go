package plan

import (
	"slices"

	"github.com/mqlab/mqlab/internal/scenario"
)

// Whether a broker keeps sessions and messages on disk.
const (
	PersistenceOn  = "on"
	PersistenceOff = "off"
)

// persistences are what can be chosen for the brokers that we start. The others have nothing to choose: as they are shipped they
// keep all that is durable on disk (rabbitmq, hivemq, artemis, JetStream, nats where MQTT is spoken), or nothing (mochi, nats, zenoh).
var persistences = map[string][]string{
	"mosquitto": {PersistenceOn, PersistenceOff},
	"redis":     {PersistenceOn, PersistenceOff},
	"mochi":     {PersistenceOff},
	"nats":      {PersistenceOff},
	"zenoh":     {PersistenceOff},
	"rabbitmq":  {PersistenceOn},
	"hivemq":    {PersistenceOn},
	"artemis":   {PersistenceOn},
}

// checkPersistence looks for a choice that a broker does not have.
func checkPersistence(p *scenario.Point, s Subject, report reporter) {
	want := p.Broker.Persistence
	switch {
	case want == "", s.Runtime == "external": // there it says what the user knows of it
	case s.Runtime == "docker":
		report("broker.persistence", "is for brokers that run as a process of this host")
	case s.Protocol == JetStream:
		report("broker.persistence", "JetStream has load.storage: file or memory")
	case s.Broker == "nats" && IsMQTT(s.Protocol) && IsMQTT(s.SubscribeProtocol()):
		if want == PersistenceOff {
			report("broker.persistence", "nats always keeps on disk what is durable in MQTT")
		}
	case slices.Contains(persistences[s.Broker], want):
	case persistences[s.Broker] == nil:
		report("broker.persistence", "cannot be chosen for %s", s.Broker)
	case want == PersistenceOn:
		report("broker.persistence", "%s keeps nothing on disk", s.Broker)
	default:
		report("broker.persistence", "%s always keeps on disk what is durable", s.Broker)
	}
}
