package plan

import "strings"

// Guarantees: how often a message arrives if nothing but the network fails, and what the broker does to keep that
// promise. Subjects are ranked only with those of the same guarantee.
const (
	AtMostOnce          = "at most once"
	AtMostOnceConfirmed = "at most once, confirmed" // the broker says that it took the message; who misses it, misses it
	AtMostOnceStored    = "at most once, stored"    // appended to a log, which nobody acknowledges
	AtLeastOnce         = "at least once"
	AtLeastOnceStored   = "at least once, stored"  // appended to a log, and acknowledged
	AtLeastOnceDurable  = "at least once, durable" // confirmed when on disk, in a queue that survives its consumer
	ExactlyOnce         = "exactly once"
)

// Guarantee is what protocol, quality of service and session promise together. What QoS means is MQTT's; the others
// come as near to it as they can:
//
//	AMQP 0-9-1     QoS 0: no confirms, consumers that do not acknowledge. QoS 1: publisher confirms (for a message that
//	               reaches no queue, a refusal), and every delivery is acknowledged. With clean_start the queue is
//	               exclusive and lives in memory, as a clean MQTT session does; without it the queue is durable, and
//	               messages of QoS 1 are persistent.
//	JetStream      every message is stored. QoS 1 waits for the confirmation that it is in the stream, and every delivery
//	               is acknowledged; QoS 0 does neither. With clean_start consumers end with their connection.
//	Redis pub/sub  delivers at most once. QoS 1 waits for the reply to each PUBLISH.
//	Redis Streams  every entry is stored. QoS 1 waits for the reply to each XADD, and readers acknowledge (XACK); QoS 0
//	               does neither (NOACK).
func (t *Trial) Guarantee() string {
	qos := t.Params.QoS
	switch {
	case t.Subject.log() && qos == 0:
		return AtMostOnceStored
	case t.Subject.log():
		return AtLeastOnceStored
	case qos == 0:
		return AtMostOnce
	case t.Subject.Protocol == Redis:
		return AtMostOnceConfirmed
	case t.Subject.Protocol == AMQP091 && !t.Params.Connect.CleanStart:
		return AtLeastOnceDurable
	case qos == 1:
		return AtLeastOnce
	}
	return ExactlyOnce
}

// log reports whether messages are appended to a log, whoever listens.
func (s *Subject) log() bool { return s.Protocol == RedisStreams || s.Protocol == JetStream }

// MayRepeat reports whether a guarantee allows that a message arrives more than once.
func MayRepeat(guarantee string) bool { return strings.HasPrefix(guarantee, AtLeastOnce) }
