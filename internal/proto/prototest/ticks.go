package prototest

import (
	"testing"

	"github.com/mqlab/mqlab/internal/proto"
)

// Ticks calls Tick whenever it is due, from next until a moment, and tells when something was said, which must be ping, and
// when Tick is due then, or was when it failed.
func Ticks(tb testing.TB, s proto.Session, ping string, next, until int64) (sent []int64, at int64, err error) {
	tb.Helper()
	for next <= until {
		now := next
		var out []byte
		next, out, err = s.Tick(now, nil)
		if len(out) > 0 {
			if string(out) != ping {
				tb.Fatalf("said %q, not %q", out, ping)
			}
			sent = append(sent, now)
		}
		if err != nil {
			return sent, now, err
		}
		if next <= now {
			tb.Fatalf("Tick(%d) wants to be called at %d", now, next)
		}
	}
	return sent, next, nil
}
