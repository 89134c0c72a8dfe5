package plan

import (
	"strings"

	"github.com/mqlab/mqlab/internal/scenario"
)

// reporter takes what is wrong with a key.
type reporter func(key, format string, args ...any)

// lack is something that a point asks for and a protocol does not have.
type lack struct {
	asked bool
	key   string
	words string // behind "X has no "
}

func (report reporter) lacks(protocol string, list ...lack) {
	for _, l := range list {
		if l.asked {
			report(l.key, "%s has no %s", protocol, l.words)
		}
	}
}

func (s *Subject) nats() bool { return s.Protocol == NATS || s.Protocol == JetStream }

// checkProtocol looks for what a subject's protocol, or this broker within it, cannot do.
func checkProtocol(p *scenario.Point, s Subject, report reporter) {
	c, l := &p.Connect, &p.Load
	noQoS2 := lack{l.QoS == 2, "load.qos", "QoS 2: only 0 and 1 are possible"}
	noRetain := lack{l.Retain, "load.retain", "retained messages"}
	noWill := lack{c.Will.Topic != "", "connect.will", "will"}
	noMaxPacket := lack{c.MaxPacket > 0, "connect.max_packet", "maximum packet size of a client"}
	sessionless := []lack{
		noRetain,
		{!c.CleanStart, "connect.clean_start", "sessions: only true is possible"},
		{c.SessionExpiry > 0, "connect.session_expiry", "sessions"},
		{c.ReceiveMaximum > 0, "connect.receive_maximum", "receive maximum"},
		noMaxPacket, noWill,
	}
	checkChannels(c, s.Protocol, report)
	noSharing := lack{l.Pattern == PatternShared, "load.pattern", "shared subscriptions"}
	switch s.Protocol {
	case NATS:
		report.lacks("NATS core", lack{l.QoS > 0, "load.qos", "QoS: only 0 is possible; nats/mqtt311 and nats/jetstream have 1"})
		report.lacks("NATS core", sessionless...)
		checkTopic(l.Topic, "*>", "NATS subject", report)
	case JetStream:
		report.lacks("JetStream", noQoS2, noRetain, noMaxPacket, noWill)
		if c.SessionExpiry > 0 && c.CleanStart {
			report("connect.session_expiry", "JetStream keeps a consumer only with clean_start: false")
		}
		checkTopic(l.Topic, "*>", "NATS subject", report)
	case Redis:
		report.lacks("Redis pub/sub", noQoS2, noSharing, lack{
			p.Subscriber.HoldAcks, "subscriber.hold_acks", "acknowledgements by subscribers",
		})
		report.lacks("Redis pub/sub", sessionless...)
		checkTopic(l.Topic, "*", "channel of Redis", report)
	case RedisStreams:
		report.lacks("Redis Streams", noQoS2, noRetain, noMaxPacket, noWill,
			lack{expires(c), "connect.session_expiry", "session expiry: groups stay"},
			lack{c.ReceiveMaximum > 0, "connect.receive_maximum", "receive maximum"})
		checkTopic(l.Topic, "*", "key of Redis", report)
	case AMQP091:
		report.lacks("AMQP 0-9-1", noQoS2, noRetain, noMaxPacket, noWill)
		if c.SessionExpiry > 0 && c.CleanStart {
			report("connect.session_expiry", "AMQP 0-9-1 keeps a queue only with clean_start: false")
		}
		checkTopic(l.Topic, "*#", "routing key", report)
	case AMQP10:
		report.lacks("AMQP 1.0", noQoS2, noRetain, noMaxPacket, noWill,
			lack{expires(c), "connect.session_expiry", "expiry of subscriptions here"})
		checkKept(c, "AMQP 1.0", report)
		checkTopic(l.Topic, "*#", "name of an AMQP topic", report)
	case Zenoh, ZenohBlock:
		report.lacks("Zenoh", lack{l.QoS > 0, "load.qos", "acknowledgements: only QoS 0 is possible"}, noSharing,
			lack{p.Subscriber.HoldAcks, "subscriber.hold_acks", "acknowledgements by subscribers"})
		report.lacks("Zenoh", sessionless...)
		checkTopic(l.Topic, "*#?$", "key of Zenoh", report)
	case MQTT311, MQTT311WS:
		checkMQTT311(p, report)
	}
	if s.Broker == "rabbitmq" {
		checkRabbitMQ(p, s.Protocol, report, noQoS2, noSharing)
	}
}

func checkChannels(c *scenario.Connect, protocol string, report reporter) {
	if protocol != AMQP091 && c.Channels > 1 {
		report("connect.channels", "is for AMQP 0-9-1: %s has no channels", protocol)
	}
}

// checkRabbitMQ looks for what RabbitMQ cannot do in a protocol; MQTT has none of inMQTT.
func checkRabbitMQ(p *scenario.Point, protocol string, report reporter, inMQTT ...lack) {
	switch {
	case IsMQTT(protocol):
		report.lacks("RabbitMQ's MQTT", inMQTT...)
	case protocol == AMQP10:
		report.lacks("RabbitMQ's AMQP 1.0", lack{!p.Connect.CleanStart, "connect.clean_start", "durable subscriptions: only true is possible"})
	}
}

// checkTopic looks for what a protocol does not allow in a topic: the characters in wild have a meaning there.
func checkTopic(topic, wild, what string, report reporter) {
	if strings.ContainsAny(topic, wild+" \t\r\n") || strings.Contains("/"+topic+"/", "//") {
		marks := strings.Join(strings.Split(wild, ""), ", ")
		report("load.topic", "%q is no %s: no %s, space or empty level", topic, what, marks)
	}
}

// expires tells that sessions are to end some time after their connections.
func expires(c *scenario.Connect) bool {
	return c.SessionExpiry > 0 && c.SessionExpiry < scenario.Never
}

// checkKept looks for sessions that shall never expire where they end with their connection.
func checkKept(c *scenario.Connect, protocol string, report reporter) {
	if c.SessionExpiry == scenario.Never && c.CleanStart {
		report("connect.session_expiry", "%s keeps a session only with clean_start: false", protocol)
	}
}

func checkMQTT311(p *scenario.Point, report reporter) {
	checkKept(&p.Connect, "MQTT 3.1.1", report)
	for _, c := range []struct {
		asked bool
		key   string
		what  string
	}{
		{p.Load.Pattern == PatternShared, "load.pattern", "a shared subscription "},
		{expires(&p.Connect), "connect.session_expiry", ""},
		{p.Connect.ReceiveMaximum > 0, "connect.receive_maximum", ""},
		{p.Connect.MaxPacket > 0, "connect.max_packet", ""},
	} {
		if c.asked {
			report(c.key, "%sneeds MQTT 5", c.what)
		}
	}
}
