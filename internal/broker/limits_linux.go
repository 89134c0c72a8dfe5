package broker

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/mqlab/mqlab/internal/cgroup"
)

// Limited is the process of a broker before it becomes one: args are a JSON object of limits, and the broker's program
// with its arguments. It enters the control groups, sets the limit of open files, and becomes the program. It returns
// only if that fails, with the exit code.
func Limited(args []string) int {
	fmt.Fprintln(os.Stderr, "cannot be put under limits:", limited(args))
	return exitLimits
}

func limited(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("usage: %s JSON PROGRAM [ARGUMENT …]", LimitedVerb)
	}
	var c confinement
	if err := json.Unmarshal([]byte(args[0]), &c); err != nil {
		return err
	}
	if err := cgroup.Enter(c.Groups, os.Getpid()); err != nil {
		return err
	}
	if c.OpenFiles > 0 {
		n := uint64(c.OpenFiles)
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: n, Max: n}); err != nil {
			return fmt.Errorf("limit of %d open files: %w", n, err)
		}
	}
	return errors.Join(errors.New(args[1]), syscall.Exec(args[1], args[1:], os.Environ()))
}

// hardOpenFiles is how many files a child may be allowed to open; false = more than anybody asks for: root may raise it.
func hardOpenFiles() (uint64, bool) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil || os.Geteuid() == 0 {
		return 0, false
	}
	return l.Max, true
}
