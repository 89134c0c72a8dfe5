// Package alarm wakes the goroutine that carries the packets of an emulated link when the next of them is due.
package alarm

import "time"

// Alarm wakes one goroutine at a time.
type Alarm interface {
	// Own prepares the goroutine that will wait.
	Own()
	// Wait returns when d has passed, or Ring was called, or earlier; d < 0 = only when Ring was called.
	Wait(d time.Duration)
	// Ring ends Wait, now or when it is called next. After Close it does nothing.
	Ring()
	// Close frees what the alarm holds; nobody waits any more.
	Close()
}

// coarse is an alarm as precise as the Go runtime's timers, which go by virtual time where that is.
type coarse struct {
	rung  chan struct{}
	timer *time.Timer
}

// NewCoarse makes an alarm as precise as the Go runtime's timers: to a millisecond or so.
func NewCoarse() (Alarm, error) {
	return &coarse{make(chan struct{}, 1), time.NewTimer(time.Hour)}, nil
}

func (*coarse) Own() {}

func (a *coarse) Wait(d time.Duration) {
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

func (a *coarse) Ring() {
	select {
	case a.rung <- struct{}{}:
	default:
	}
}

func (a *coarse) Close() { a.timer.Stop() }
