package amqp091

import (
	"fmt"

	"github.com/mqlab/mqlab/internal/proto"
)

// protocolHeader is what a client says first (§4.2.2).
const protocolHeader = "AMQP\x00\x00\x09\x01"

// foreign looks at the first bytes of a conversation that should begin with the prefix own. It reports an error if they
// belong to another protocol or version, and asks to wait while they may.
func foreign(in []byte, own string) (wait bool, err error) {
	if n := min(len(in), len(own)); string(in[:n]) == own[:n] {
		return n < len(own), nil
	}
	if n := min(len(in), 4); string(in[:n]) == protocolHeader[:n] {
		if len(in) < len(protocolHeader) {
			return true, nil
		}
		return false, fmt.Errorf("amqp091: the peer wants %s, not AMQP 0-9-1", version(in))
	}
	switch name, wait := proto.Stranger(in, "AMQP"); {
	case wait:
		return true, nil
	case name != "":
		return false, fmt.Errorf("amqp091: the peer does not speak AMQP 0-9-1: looks like %s", name)
	}
	same := 0
	for in[same] == own[same] {
		same++
	}
	return false, fmt.Errorf("amqp091: the peer does not speak AMQP 0-9-1: it begins with %q", in[:same+1])
}

// version puts a protocol header of eight bytes into words. Up to 0-9 the header was: 1, 1, major, minor.
func version(in []byte) string {
	switch b := in[4:8]; {
	case b[0] == 1 && b[1] == 1:
		return fmt.Sprintf("AMQP %d-%d", b[2], b[3])
	case b[1] == 0:
		return fmt.Sprintf("AMQP %d-%d-%d", b[1], b[2], b[3])
	case b[0] == 2:
		return fmt.Sprintf("AMQP %d.%d over TLS", b[1], b[2])
	case b[0] == 3:
		return fmt.Sprintf("AMQP %d.%d with SASL", b[1], b[2])
	default:
		return fmt.Sprintf("AMQP %d.%d", b[1], b[2])
	}
}
