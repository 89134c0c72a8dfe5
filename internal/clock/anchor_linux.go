package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// anchor pairs a runtime reading with CLOCK_MONOTONIC; of several tries the one with the narrowest bracket wins.
func anchor() (time.Time, int64) {
	var base time.Time
	var offset int64
	width := time.Duration(1<<63 - 1)
	for range 20 {
		before := time.Now()
		var ts unix.Timespec
		if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
			break
		}
		if w := time.Since(before); w < width {
			width, base, offset = w, before, ts.Nano()-int64(w/2)
		}
	}
	if base.IsZero() {
		base = time.Now()
	}
	return base, offset
}
