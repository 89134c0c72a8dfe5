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
