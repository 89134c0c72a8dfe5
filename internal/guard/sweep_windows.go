package guard

import (
	"time"

	"github.com/mqlab/mqlab/internal/guard/proctree"
)

func rename() {}

// startOf returns 0, not known.
func startOf(int) uint64 { return 0 }

// sweep kills the processes named in roots, and only those: one that has ended already is no error.
func sweep(_ string, roots map[int]uint64, _ map[string]bool, _ time.Duration) error {
	for pid := range roots {
		_ = proctree.Terminate(pid)
	}
	return nil
}
