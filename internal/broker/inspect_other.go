//go:build !linux

package broker

import "errors"

// errExposed says that a broker can be reached from outside of this host.
var errExposed = errors.New("listens on more than the loopback interface")

// onLoopbackOnly cannot be checked on this system.
func onLoopbackOnly(int, string) error { return nil }

// openFiles is not known on this system.
func openFiles(int) (int64, bool) { return 0, false }

// raiseOpenFiles does nothing on this system: a process can only raise its own limit.
func raiseOpenFiles(int) error { return nil }
