//go:build !linux

package netstack

import "time"

// alarm wakes one goroutine at a time, as precisely as the Go runtime's timers are.
type alarm struct {
	rung  chan struct{}
	timer *time.Timer
}

func newAlarm() (*alarm, error) {
	return &alarm{make(chan struct{}, 1), time.NewTimer(time.Hour)}, nil
}

func (*alarm) own() {}

// wait returns when d has passed, or ring was called, or earlier; d < 0 = only when ring was called.
func (a *alarm) wait(d time.Duration) {
	if d < 0 {
		<-a.rung
		return
	}
	a.timer.Reset(d)
	select {
	case <-a.timer.C:
	case <-a.rung:
	}
}

// ring ends wait, now or when it is called next.
func (a *alarm) ring() {
	select {
	case a.rung <- struct{}{}:
	default:
	}
}

func (a *alarm) close() { a.timer.Stop() }
