//go:build !linux

package routine

import (
	"time"

	"github.com/mqlab/mqlab/internal/clock"
)

// sleepUntil returns at the monotonic time at, as exactly as the runtime's timers allow.
func sleepUntil(at int64) { time.Sleep(time.Duration(at - clock.Now())) }
