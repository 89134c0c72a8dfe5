package clock_test

import (
	"os"
	"sync"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
)

// TestSleepersTakeNoThread: one that slept in a system call would keep a thread each, and a processor of the runtime.
func TestSleepersTakeNoThread(t *testing.T) {
	const sleepers = 200
	before := threads(t)
	at := clock.Now() + int64(300*time.Millisecond)
	var wg sync.WaitGroup
	for range sleepers {
		wg.Go(func() {
			for clock.Now() < at {
				clock.SleepUntil(at)
			}
		})
	}
	for clock.Now() < at-int64(50*time.Millisecond) {
		clock.SleepUntil(at - int64(50*time.Millisecond))
	}
	if grown := threads(t) - before; grown > sleepers/4 {
		t.Errorf("%d sleepers took %d threads", sleepers, grown)
	}
	wg.Wait()
}

func threads(t *testing.T) int {
	list, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}
