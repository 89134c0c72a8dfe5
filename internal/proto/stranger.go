package proto

import "bytes"

// signatures are the first bytes of what answers, or calls, on a port that is another protocol's.
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
	{"\x20\x02", "MQTT"}, // CONNACK
	{"SSH-", "SSH"},
	{"ERROR\r\n", "memcached"},
}

// Stranger tells what the first bytes of a conversation look like that are not those of the protocol own (AMQP, MQTT, NATS,
// Redis, Zenoh): the name of another protocol, which is empty if it is not known. It asks to wait while more bytes may tell.
func Stranger(in []byte, own string) (name string, wait bool) {
	for _, s := range signatures {
		switch {
		case s.name == own:
		case bytes.HasPrefix(in, []byte(s.prefix)):
			return s.name, false
		case len(in) < len(s.prefix) && s.prefix[:len(in)] == string(in):
			return "", true
		}
	}
	return "", false
}
