package alarm

import (
	"testing"
	"time"
)

// TestAlarms: a ring ends a wait, also one that came first, however often it was rung; so does the time.
func TestAlarms(t *testing.T) {
	for name, fresh := range map[string]func() (Alarm, error){"precise": New, "coarse": NewCoarse} {
		t.Run(name, func(t *testing.T) {
			a, err := fresh()
			if err != nil {
				t.Fatal(err)
			}
			defer a.Ring() // does nothing
			defer a.Close()
			a.Own()
			const pause = 5 * time.Millisecond
			a.Ring()
			a.Ring()
			a.Wait(-1) // returns: it was rung
			go a.Ring()
			a.Wait(time.Hour) // returns when it is rung
			start := time.Now()
			for took := time.Duration(0); took < pause; took = time.Since(start) {
				a.Wait(pause - took)
			}
		})
	}
}
