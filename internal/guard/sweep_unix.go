//go:build unix && !linux

package guard

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

func rename() {}

// startOf returns 0, not known.
func startOf(int) uint64 { return 0 }

// sweep kills the process groups of roots until none is left. This system does not show the environment of others, so
// mark is of no use.
func sweep(_ string, roots map[int]uint64, _ map[string]bool, _ time.Duration) error {
	end := time.Now().Add(limit)
	for {
		var err error
		for pid := range roots {
			e := syscall.Kill(-pid, syscall.SIGKILL)
			if e != nil && !errors.Is(e, syscall.ESRCH) && !errors.Is(e, syscall.EPERM) {
				err = errors.Join(err, fmt.Errorf("group %d: %w", pid, e))
			} else if e == nil {
				err = errors.Join(err, fmt.Errorf("still running: group %d", pid))
			}
		}
		if err == nil || time.Now().After(end) {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}
