package zenoh

import (
	"fmt"

	"github.com/mqlab/mqlab/internal/proto"
)

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
	switch name, wait := proto.Stranger(in, "Zenoh"); {
	case wait:
		return true, nil
	case name != "":
		return false, fmt.Errorf("zenoh: the peer does not speak Zenoh: looks like %s", name)
	}
	return false, fmt.Errorf("zenoh: the peer does not speak Zenoh: it begins with %q", in[:lengthLen+1])
}
