package amqp091

import "fmt"

// method is a class and a method number.
type method uint32

// Methods that the sessions send or understand.
const (
	connectionStart     method = 10<<16 | 10
	connectionStartOK   method = 10<<16 | 11
	connectionSecure    method = 10<<16 | 20
	connectionTune      method = 10<<16 | 30
	connectionTuneOK    method = 10<<16 | 31
	connectionOpen      method = 10<<16 | 40
	connectionOpenOK    method = 10<<16 | 41
	connectionClose     method = 10<<16 | 50
	connectionCloseOK   method = 10<<16 | 51
	connectionBlocked   method = 10<<16 | 60
	connectionUnblocked method = 10<<16 | 61
	channelOpen         method = 20<<16 | 10
	channelOpenOK       method = 20<<16 | 11
	channelFlow         method = 20<<16 | 20
	channelFlowOK       method = 20<<16 | 21
	channelClose        method = 20<<16 | 40
	channelCloseOK      method = 20<<16 | 41
	exchangeDeclare     method = 40<<16 | 10
	exchangeDeclareOK   method = 40<<16 | 11
	queueDeclare        method = 50<<16 | 10
	queueDeclareOK      method = 50<<16 | 11
	queueBind           method = 50<<16 | 20
	queueBindOK         method = 50<<16 | 21
	basicQos            method = 60<<16 | 10
	basicQosOK          method = 60<<16 | 11
	basicConsume        method = 60<<16 | 20
	basicConsumeOK      method = 60<<16 | 21
	basicCancel         method = 60<<16 | 30
	basicCancelOK       method = 60<<16 | 31
	basicPublish        method = 60<<16 | 40
	basicReturn         method = 60<<16 | 50
	basicDeliver        method = 60<<16 | 60
	basicAck            method = 60<<16 | 80
	basicReject         method = 60<<16 | 90
	basicNack           method = 60<<16 | 120
	confirmSelect       method = 85<<16 | 10
	confirmSelectOK     method = 85<<16 | 11
)

const (
	classConnection = 10
	classExchange   = 40
	classQueue      = 50
	classBasic      = 60
)

func (m method) class() uint16 { return uint16(m >> 16) }

var methodNames = map[method]string{
	connectionStart: "connection.start", connectionStartOK: "connection.start-ok", connectionSecure: "connection.secure",
	connectionTune: "connection.tune", connectionTuneOK: "connection.tune-ok", connectionOpen: "connection.open",
	connectionOpenOK: "connection.open-ok", connectionClose: "connection.close", connectionCloseOK: "connection.close-ok",
	connectionBlocked: "connection.blocked", connectionUnblocked: "connection.unblocked",
	channelOpen: "channel.open", channelOpenOK: "channel.open-ok", channelFlow: "channel.flow",
	channelFlowOK: "channel.flow-ok", channelClose: "channel.close", channelCloseOK: "channel.close-ok",
	exchangeDeclare: "exchange.declare", exchangeDeclareOK: "exchange.declare-ok",
	queueDeclare: "queue.declare", queueDeclareOK: "queue.declare-ok", queueBind: "queue.bind", queueBindOK: "queue.bind-ok",
	basicQos: "basic.qos", basicQosOK: "basic.qos-ok", basicConsume: "basic.consume", basicConsumeOK: "basic.consume-ok",
	basicCancel: "basic.cancel", basicCancelOK: "basic.cancel-ok", basicPublish: "basic.publish",
	basicReturn: "basic.return", basicDeliver: "basic.deliver", basicAck: "basic.ack", basicReject: "basic.reject",
	basicNack: "basic.nack", confirmSelect: "confirm.select", confirmSelectOK: "confirm.select-ok",
}

func (m method) String() string {
	if name, ok := methodNames[m]; ok {
		return name
	}
	return fmt.Sprintf("method %d of class %d", uint16(m), m.class())
}

// method splits the payload of a method frame into the method and its arguments.
func (f *frame) method() (method, reader, error) {
	r := reader{rest: f.payload}
	m := method(r.u32())
	if r.short {
		return 0, r, fmt.Errorf("amqp091: a method frame of %d bytes", len(f.payload))
	}
	return m, r, nil
}

func errUnexpected(m method) error { return fmt.Errorf("amqp091: unexpected %s", m) }

func errMalformed(m method) error { return fmt.Errorf("amqp091: malformed %s", m) }
