package trial

import (
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/link/emulate"
)

// breaking is a link that breaks after its first reading.
type breaking struct {
	emulate.Network // nil: nothing else is asked of it
	readings        int
}

func (b *breaking) Counters() (up, down link.Counters) {
	if b.readings++; b.readings == 1 {
		up.Offered, down.Offered = link.Count{Packets: 9, Bytes: 900}, link.Count{Packets: 5, Bytes: 500}
	}
	return up, down
}

// TestBrokenLink: a link that tells nothing more has no intervals from then on, and no counts of the measure phase.
func TestBrokenLink(t *testing.T) {
	n := network{Network: &breaking{}}
	n.watch(t.Context(), clock.Now(), 10*time.Millisecond)
	<-n.done
	if len(n.intervals) != 0 || n.end != nil {
		t.Errorf("intervals %+v, end %+v", n.intervals, n.end)
	}
}
