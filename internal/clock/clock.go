// Package clock reads the one time base of the lab: CLOCK_MONOTONIC of this host, in nanoseconds.
package clock

import "time"

// base ties the runtime's monotonic reading to the host's clock once, so that reading it costs no system call and
// stamps of several processes on one host can be compared.
var base, offset = anchor()

// Now returns the monotonic time of this host in nanoseconds.
func Now() int64 { return offset + int64(time.Since(base)) }

// RealtimeOffset returns what must be added to a CLOCK_REALTIME reading to get monotonic time. It changes when the wall
// clock is stepped or slewed, so callers that convert kernel timestamps read it again at least each second.
func RealtimeOffset() int64 {
	best := int64(0)
	width := int64(1<<63 - 1)
	for range 5 {
		a := Now()
		wall := time.Now().UnixNano()
		b := Now()
		if b-a < width {
			width, best = b-a, a+(b-a)/2-wall
		}
	}
	return best
}
