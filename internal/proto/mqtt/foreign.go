package mqtt

import (
	"fmt"

	"github.com/mqlab/mqlab/internal/proto"
)

// foreign looks at the first bytes of a conversation that should begin with the byte first. It reports an error if
// they belong to another protocol, and asks to wait while they may.
func foreign(in []byte, first byte) (wait bool, err error) {
	if len(in) == 0 || in[0] == first {
		return false, nil
	}
	switch name, wait := proto.Stranger(in, "MQTT"); {
	case wait:
		return true, nil
	case name != "":
		return false, fmt.Errorf("mqtt: the peer does not speak MQTT: looks like %s", name)
	}
	return false, fmt.Errorf("mqtt: the peer does not speak MQTT: it begins with 0x%02x where 0x%02x belongs", in[0], first)
}
