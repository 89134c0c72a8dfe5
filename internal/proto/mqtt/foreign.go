package mqtt

import (
	"bytes"
	"fmt"
)

// signatures are the first bytes of what answers on a port that is not MQTT's.
var signatures = []struct{ prefix, name string }{
	{"\x15\x03", "TLS"}, // alert
	{"\x16\x03", "TLS"}, // handshake
	{"HTTP/", "HTTP"},
	{"GET ", "HTTP"},
	{"POST ", "HTTP"},
	{"AMQP", "AMQP"},
	{"INFO {", "NATS"},
	{"CONNECT {", "NATS"},
	{"-ERR", "Redis"},
	{"SSH-", "SSH"},
}

// foreign looks at the first bytes of a conversation that should begin with the byte first. It reports an error if
// they belong to another protocol, and asks to wait while they may.
func foreign(in []byte, first byte) (wait bool, err error) {
	if len(in) == 0 || in[0] == first {
		return false, nil
	}
	for _, s := range signatures {
		if bytes.HasPrefix(in, []byte(s.prefix)) {
			return false, fmt.Errorf("mqtt: the peer does not speak MQTT: looks like %s", s.name)
		}
		if len(in) < len(s.prefix) && s.prefix[:len(in)] == string(in) {
			return true, nil
		}
	}
	return false, fmt.Errorf("mqtt: the peer does not speak MQTT: it begins with 0x%02x where 0x%02x belongs", in[0], first)
}
