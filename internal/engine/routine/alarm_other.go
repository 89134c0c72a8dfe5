//go:build !linux

package routine

import (
	"time"

	"github.com/mqlab/mqlab/internal/clock"
)

// alarm wakes one goroutine at a time, as exactly as the runtime's timers allow.
type alarm struct{ timer *time.Timer }

func newAlarm() (*alarm, error) { return &alarm{time.NewTimer(time.Hour)}, nil }

// set makes wait return at the monotonic time at, or at once if that has passed. A later set replaces an earlier one.
func (a *alarm) set(at int64) error {
	a.timer.Reset(time.Duration(at - clock.Now()))
	return nil
}

// wait returns when the time set has come.
func (a *alarm) wait() error {
	<-a.timer.C
	return nil
}

func (a *alarm) close() error { return nil }
