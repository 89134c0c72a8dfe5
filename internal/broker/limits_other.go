//go:build !linux

package broker

import (
	"fmt"
	"os"
)

// Limited is not there on this system, which has no control groups.
func Limited([]string) int {
	fmt.Fprintln(os.Stderr, "this system has no control groups")
	return exitLimits
}

// hardOpenFiles is of no matter here.
func hardOpenFiles() (uint64, bool) { return 0, false }
