//go:build !linux

package netns

import "syscall"

// Spread returns the Place from which n connections are made to addr: p, for the other loopback addresses are not there to
// be used on every system.
func Spread(p Place, _ string, _ int) Place { return p }

// portLater does nothing: the port is chosen as the system does it.
func portLater(_, _ string, _ syscall.RawConn) error { return nil }
