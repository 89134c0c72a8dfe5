package prototest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mqlab/mqlab/internal/proto"
)

// Cut checks that the way in which bytes arrive does not matter to a session.
type Cut struct {
	React func(s proto.Session, ev *proto.Event, out []byte) []byte
	// Said, if set, turns what was sent into what must be the same: some protocols acknowledge more or less often.
	Said func(out []byte) string
	// Units says that the session's Need tells exactly what Feed takes. Otherwise Feed may take more at once.
	Units bool
}

// Same feeds in to sessions that open makes, as a whole, in pieces of lengths that follow from seed, and (where it is short) byte by byte. What a
// session reports and says must be the same each time; only the number of silent steps may differ.
func (c *Cut) Same(t *testing.T, open func() proto.Session, in []byte, seed uint64) {
	t.Helper()
	whole := c.transcript(t, open(), in, func(left int) int { return left })
	random := rand.New(rand.NewPCG(seed, 0))
	cut := c.transcript(t, open(), in, func(left int) int { return 1 + random.IntN(min(left, 1+random.IntN(100))) })
	if !slices.Equal(whole, cut) {
		t.Errorf("in one piece: %q\nin many: %q", whole, cut)
	}
	if len(in) < 2000 {
		if single := c.transcript(t, open(), in, func(int) int { return 1 }); !slices.Equal(whole, single) {
			t.Errorf("in one piece: %q\nbyte by byte: %q", whole, single)
		}
	}
}

// transcript feeds in, cut into chunks by chunk, and returns all that happened, in words.
func (c *Cut) transcript(t *testing.T, s proto.Session, in []byte, chunk func(left int) int) (log []string) {
	t.Helper()
	out := s.Open(0, nil)
	var ev proto.Event
	var buffered []byte
	for len(in) > 0 {
		n := chunk(len(in))
		buffered, in = append(buffered, in[:n]...), in[n:]
		for {
			claimed, before := need(s, buffered), len(out)
			n, o, err := s.Feed(0, buffered, out, &ev)
			if out = o; len(out) < before || n > len(buffered) {
				t.Fatal("Feed took back bytes, or consumed what is not there")
			}
			if err != nil {
				return append(log, err.Error(), c.said(out))
			}
			silent := ev.Kind == proto.None && ev.Err == nil
			if n == 0 && silent {
				if c.Units && claimed > 0 && claimed <= len(buffered) {
					t.Fatalf("Need says %d of %d bytes, Feed waits: %q", claimed, len(buffered), buffered)
				}
				break
			}
			if n > 0 && n < claimed || c.Units && n != claimed {
				t.Fatalf("Need says %d, Feed takes %d: %q", claimed, n, buffered)
			}
			if !silent {
				log = append(log, fmt.Sprintf("%+v", ev))
				if c.React != nil {
					out = c.React(s, &ev, out)
				}
			}
			buffered = buffered[n:]
		}
	}
	return append(log, fmt.Sprintf("%d left", len(buffered)), c.said(out))
}

func (c *Cut) said(out []byte) string {
	if c.Said != nil {
		return c.Said(out)
	}
	return string(out)
}

// need is how many bytes a session says to need for its next unit; 0 = it does not tell.
func need(s proto.Session, in []byte) int {
	if n, ok := s.(interface{ Need(in []byte) int }); ok {
		return n.Need(in)
	}
	return 0
}
