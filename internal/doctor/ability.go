package doctor

import (
	"time"

	"github.com/mqlab/mqlab/internal/clock"
)

func able(err error) *Ability {
	if err != nil {
		return &Ability{Why: err.Error()}
	}
	return &Ability{OK: true}
}

// clockRead is how long reading the clock takes, in nanoseconds: the best of some batches, others were interrupted.
func clockRead() int64 {
	const batches, reads = 20, 1000
	best := int64(time.Second)
	for range batches {
		began := clock.Now()
		for range reads {
			clock.Now()
		}
		best = min(best, (clock.Now()-began)/reads)
	}
	return best
}
