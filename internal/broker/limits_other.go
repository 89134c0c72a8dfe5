//go:build !linux

package broker

import (
	"fmt"
	"io"
	"os"
)

// Limited is not there on this system, which has no control groups.
func Limited([]string, io.Reader, io.Writer) int {
	fmt.Fprintln(os.Stderr, "this system has no control groups")
	return exitLimits
}
