package amqp10

import (
	"fmt"

	"github.com/mqlab/mqlab/internal/proto"
)

// Protocol headers (§2.2, §5.3.2).
const (
	headerAMQP = "AMQP\x00\x01\x00\x00"
	headerSASL = "AMQP\x03\x01\x00\x00"
)

// foreign looks at what should be the protocol header want. It reports an error if it belongs to another protocol or
// version, and asks to wait while it may become one.
func foreign(in []byte, want string) (wait bool, err error) {
	if n := min(len(in), len(want)); string(in[:n]) == want[:n] {
		return n < len(want), nil
	}
	if n := min(len(in), 4); string(in[:n]) == want[:n] {
		if len(in) < len(want) {
			return true, nil
		}
		return false, fmt.Errorf("amqp10: the peer wants %s, not %s", version(in), version([]byte(want)))
	}
	switch name, wait := proto.Stranger(in, "AMQP"); {
	case wait:
		return true, nil
	case name != "":
		return false, fmt.Errorf("amqp10: the peer does not speak AMQP 1.0: looks like %s", name)
	}
	same := 0
	for in[same] == want[same] {
		same++
	}
	return false, fmt.Errorf("amqp10: the peer does not speak AMQP 1.0: it begins with %q", in[:same+1])
}

// version puts a protocol header of eight bytes into words. Up to 0-9 the header was: 1, 1, major, minor.
func version(in []byte) string {
	switch b := in[4:8]; {
	case b[0] == 1 && b[1] == 1:
		return fmt.Sprintf("AMQP %d-%d", b[2], b[3])
	case b[1] == 0:
		return fmt.Sprintf("AMQP %d-%d-%d", b[1], b[2], b[3])
	case b[0] == 0:
		return fmt.Sprintf("AMQP %d.%d without SASL", b[1], b[2])
	case b[0] == 2:
		return fmt.Sprintf("AMQP %d.%d over TLS", b[1], b[2])
	case b[0] == 3:
		return fmt.Sprintf("AMQP %d.%d with SASL", b[1], b[2])
	default:
		return fmt.Sprintf("AMQP %d.%d of kind %d", b[1], b[2], b[0])
	}
}
