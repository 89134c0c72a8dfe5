package zenoh

import (
	"bytes"
	"fmt"
)

// signatures are the first bytes of what answers on a port that is not Zenoh's.
var signatures = []struct{ prefix, name string }{
	{"\x15\x03", "TLS"}, // alert
	{"\x16\x03", "TLS"}, // handshake
	{"HTTP/", "HTTP"},
	{"GET ", "HTTP"},
	{"POST ", "HTTP"},
	{"AMQP", "AMQP"},
	{"INFO {", "NATS"},
	{"SSH-", "SSH"},
	{"-ERR", "Redis"},
	{"\x20\x02", "MQTT"},
}

// foreign looks at the first bytes of a conversation, which should be a batch that begins with one of two messages: one of
// kind first, or Close. It reports an error if they belong to another protocol, and asks to wait while they may.
func foreign(in []byte, first byte) (wait bool, err error) {
	if len(in) <= lengthLen {
		return true, nil
	}
	kind := in[lengthLen]
	if kind&^(flagExt|flagSizes) == first || kind&idMask == idClose {
		return false, nil
	}
	for _, s := range signatures {
		if bytes.HasPrefix(in, []byte(s.prefix)) {
			return false, fmt.Errorf("zenoh: the peer does not speak Zenoh: looks like %s", s.name)
		}
		if len(in) < len(s.prefix) && s.prefix[:len(in)] == string(in) {
			return true, nil
		}
	}
	return false, fmt.Errorf("zenoh: the peer does not speak Zenoh: it begins with %q", in[:lengthLen+1])
}
