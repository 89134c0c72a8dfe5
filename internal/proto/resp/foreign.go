package resp

import (
	"bytes"
	"fmt"

	"github.com/mqlab/mqlab/internal/proto"
)

// foreign looks at the first bytes of a conversation, which should begin with one of these bytes. It reports an error if
// they belong to another protocol, and asks to wait while they may.
func foreign(in []byte, begin string) (wait bool, err error) {
	if len(in) == 0 || bytes.IndexByte([]byte(begin), in[0]) >= 0 {
		return false, nil
	}
	switch name, wait := proto.Stranger(in, "Redis"); {
	case wait:
		return true, nil
	case name != "":
		return false, fmt.Errorf("redis: the peer does not speak Redis: looks like %s", name)
	}
	return false, fmt.Errorf("redis: the peer does not speak Redis: it begins with %q", in[:1])
}
