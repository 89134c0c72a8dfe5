package plan

// Durabilities: what becomes of messages that a broker has taken, and not yet delivered, when it ends. "" is not known.
const (
	InMemory = "in memory" // they are gone
	Stored   = "stored"    // they are written to disk, but perhaps after they were confirmed: an orderly end keeps all, a crash may not
	Durable  = "durable"   // they are on disk when they are confirmed
)

// Durability is what the broker, as it is set up, and the session promise about messages that wait for a subscriber:
//
//	QoS 0          is kept by no broker, but for the logs.
//	MQTT           a clean session ends with its connection, and its messages with it. Kept sessions are in memory
//	               (mosquitto, mochi), stored with persistence (mosquitto, at intervals and at an orderly end), or on
//	               disk (rabbitmq: durable queues; hivemq, artemis and nats with MQTT: files, not synced for each message).
//	AMQP 0-9-1     without clean_start, messages of QoS 1 are confirmed when a durable queue has them on disk.
//	JetStream      is stored unless load.storage is memory; files are synced at intervals.
//	Redis Streams  are in memory, with snapshots at intervals, unless persistence is on: then each entry is written, and
//	               synced once a second.
//
// What an external broker does is not known, unless broker.persistence tells it. Where publishers and subscribers speak
// different protocols the weaker promise holds; what waits for a bridge is in memory.
func (t *Trial) Durability() string {
	if t.Subject.Bridge != nil {
		return InMemory
	}
	publish := t.durability()
	if !t.Subject.crosses() || publish == InMemory {
		return publish
	}
	other := Trial{Subject: t.Subject.subscriber(), Params: t.Params}
	if subscribe := other.durability(); subscribe == InMemory || publish == Durable {
		return subscribe
	}
	return publish
}

// durability is that of publishers.
func (t *Trial) durability() string {
	p, s := &t.Params, &t.Subject
	on := p.Persistence == PersistenceOn
	switch {
	case s.Protocol == JetStream && p.Storage == StorageMemory:
		return InMemory
	case s.Protocol == JetStream:
		return Stored
	case p.QoS == 0 && s.Protocol != RedisStreams, s.Protocol == Redis, s.Protocol == NATS:
		return InMemory
	case s.Runtime == "external" && p.Persistence == "":
		return ""
	case s.Runtime == "external", s.Broker == "redis":
		return stored(on)
	case p.Connect.CleanStart && p.Connect.SessionExpiry == 0:
		return InMemory
	case s.Broker == "rabbitmq":
		return Durable
	case s.Broker == "mosquitto":
		return stored(on)
	case s.Broker == "mochi":
		return InMemory
	case s.Broker == "hivemq", s.Broker == "artemis", s.Broker == "nats":
		return Stored
	}
	return ""
}

func stored(on bool) string {
	if on {
		return Stored
	}
	return InMemory
}
