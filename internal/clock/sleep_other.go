//go:build !linux

package clock

import "time"

// SleepUntil returns at the monotonic time at, as exactly as the runtime's timers allow.
func SleepUntil(at int64) { time.Sleep(time.Duration(at - Now())) }

// SleepThreadUntil is SleepUntil for a goroutine that has a thread of its own.
func SleepThreadUntil(at int64) { SleepUntil(at) }
