//go:build linux

package main

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// onCore runs f, which starts a process, so that the process may use but the n-th of the cores that this one may use. Where
// there are fewer it runs f as it is. Bytes that come from another core cost more to read than those from the same: two
// receivers can be compared only where both are on the same side of that.
func onCore(n int, f func() error) error {
	runtime.LockOSThread() // a process inherits the cores of the thread that starts it
	defer runtime.UnlockOSThread()
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return fmt.Errorf("cores: %w", err)
	}
	if all.Count() <= n {
		return f()
	}
	core := 0
	for left := n; !all.IsSet(core) || left > 0; core++ {
		if all.IsSet(core) {
			left--
		}
	}
	one.Set(core)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return fmt.Errorf("cores: %w", err)
	}
	err := f()
	if back := unix.SchedSetaffinity(0, &all); back != nil {
		return fmt.Errorf("cores: %w", back)
	}
	return err
}
