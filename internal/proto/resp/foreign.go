package resp

import (
	"bytes"
	"fmt"
)

// signatures are the first bytes of what answers on a port that is not Redis's.
var signatures = []struct{ prefix, name string }{
	{"\x15\x03", "TLS"}, // alert
	{"\x16\x03", "TLS"}, // handshake
	{"HTTP/", "HTTP"},
	{"GET ", "HTTP"},
	{"POST ", "HTTP"},
	{"AMQP", "AMQP"},
	{"INFO {", "NATS"},
	{"SSH-", "SSH"},
	{"ERROR\r\n", "memcached"},
	{"\x20\x02", "MQTT"},
}

// foreign looks at the first bytes of a conversation, which should begin with one of these bytes. It reports an error if
// they belong to another protocol, and asks to wait while they may.
func foreign(in []byte, begin string) (wait bool, err error) {
	if len(in) == 0 || bytes.IndexByte([]byte(begin), in[0]) >= 0 {
		return false, nil
	}
	for _, s := range signatures {
		if bytes.HasPrefix(in, []byte(s.prefix)) {
			return false, fmt.Errorf("redis: the peer does not speak Redis: looks like %s", s.name)
		}
		if len(in) < len(s.prefix) && s.prefix[:len(in)] == string(in) {
			return true, nil
		}
	}
	return false, fmt.Errorf("redis: the peer does not speak Redis: it begins with %q", in[:1])
}
