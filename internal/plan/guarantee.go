package plan

import (
	"slices"
	"strings"
)

// Guarantees: how often a message arrives if nothing but the network fails. Subjects are ranked only with those of the same
// guarantee and durability.
const (
	AtMostOnce          = "at most once"
	AtMostOnceConfirmed = "at most once, confirmed" // the broker says that it took the message; who misses it, misses it
	AtLeastOnce         = "at least once"
	ExactlyOnce         = "exactly once"
)

// Guarantee is what protocol, quality of service and session promise together. What QoS means is MQTT's; the others
// come as near to it as they can:
//
//	AMQP 0-9-1     QoS 0: no confirms, consumers that do not acknowledge. QoS 1: publisher confirms (for a message that
//	               reaches no queue, a refusal), and every delivery is acknowledged. With clean_start the queue is
//	               exclusive and lives in memory, as a clean MQTT session does; without it the queue is durable, and
//	               messages of QoS 1 are persistent.
//	AMQP 1.0       QoS 0: messages that their sender settles. QoS 1: the receiver settles each. Without clean_start (Artemis)
//	               subscriptions, and messages of QoS 1, are durable.
//	JetStream      QoS 1 waits for the confirmation that a message is in the stream, and every delivery is acknowledged;
//	               QoS 0 does neither. With clean_start consumers end with their connection.
//	Redis pub/sub  delivers at most once. QoS 1 waits for the reply to each PUBLISH.
//	Redis Streams  QoS 1 waits for the reply to each XADD, and readers acknowledge (XACK); QoS 0 does neither (NOACK). Groups stay
//	               when their readers go, whatever clean_start says.
//	Zenoh          delivers at most once, and confirms nothing: there is only QoS 0. At a congested link a message is dropped
//	               (zenoh), or waits, for 5 s as the router is shipped, until the link is closed (zenoh-block).
//
// Where publishers and subscribers speak different protocols the weaker promise holds.
func (t *Trial) Guarantee() string {
	publish, subscribe := t.promise(t.Subject.Protocol), t.promise(t.Subject.SubscribeProtocol())
	if slices.Index(guarantees, subscribe) < slices.Index(guarantees, publish) {
		return subscribe
	}
	return publish
}

// guarantees are all, the weakest first.
var guarantees = []string{AtMostOnce, AtMostOnceConfirmed, AtLeastOnce, ExactlyOnce}

// promise is what one protocol promises. To subscribers of core NATS, which has no QoS, somebody else may publish with one.
func (t *Trial) promise(protocol string) string {
	switch qos := t.Params.QoS; {
	case qos == 0:
		return AtMostOnce
	case protocol == Redis, protocol == NATS:
		return AtMostOnceConfirmed
	case qos == 1:
		return AtLeastOnce
	}
	return ExactlyOnce
}

// MayRepeat reports whether a guarantee allows that a message arrives more than once.
func MayRepeat(guarantee string) bool { return strings.HasPrefix(guarantee, AtLeastOnce) }
