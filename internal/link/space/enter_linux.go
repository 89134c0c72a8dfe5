package space

import (
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// self is the name, and enterVerb the argument, by which this program knows that it was started to become another one.
const (
	self      = "mqlab-space"
	enterVerb = "enter"
)

// init makes every program that has places, tests included, able to become the programs in them.
func init() {
	if len(os.Args) > 1 && os.Args[0] == self && os.Args[1] == enterVerb {
		os.Exit(enter(os.Args[2:]))
	}
}

// exitNotEntered is the exit code of a program that could not become what it was to be, as of a shell.
const exitNotEntered = 126

// enter is the process of a program before it becomes one: args are the file of a network namespace, the path of the program,
// and its arguments from its name on. It enters the namespace and becomes the program; it returns only if that fails, with the exit code.
func enter(args []string) int {
	fmt.Fprintln(os.Stderr, "cannot run in the network:", become(args))
	return exitNotEntered
}

func become(args []string) error {
	if len(args) < 3 {
		return fmt.Errorf("usage: %s NAMESPACE PATH NAME [ARGUMENT …]", enterVerb)
	}
	runtime.LockOSThread()
	fd, err := unix.Open(args[0], unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open network namespace: %w", err)
	}
	if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter network namespace: %w", err)
	}
	return fmt.Errorf("%s: %w", args[1], syscall.Exec(args[1], args[2:], os.Environ()))
}
