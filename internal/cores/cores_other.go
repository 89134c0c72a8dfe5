//go:build !linux

package cores

import "errors"

var errLinux = errors.New("cores can be chosen on Linux only: leave out --pin")

// Usable are the cores that this process may use; other systems than Linux do not tell.
func Usable() ([]Set, error) { return nil, errLinux }

// Of is where a process may run; other systems than Linux do not tell.
func Of(int) (Set, error) { return nil, errLinux }

// Hold holds all threads of this process to the cores of s, on Linux.
func Hold(Set) (release func() error, err error) { return nil, errLinux }

// Start calls start. Processes can be held to cores on Linux only.
func Start(s Set, start func() error) error {
	if len(s) > 0 {
		return errLinux
	}
	return start()
}
