package broker

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/mqlab/mqlab/internal/cgroup"
)

// Limited is the process of a broker before it becomes one: args are a JSON object of limits, and the broker's program
// with its arguments. It enters the control groups, sets the limit of open files, and becomes the program. It returns
// only if that fails, with the exit code.
func Limited(args []string, _ io.Reader, _ io.Writer) int {
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
		if err := limitOpenFiles(uint64(c.OpenFiles)); err != nil {
			return fmt.Errorf("limit of %d open files: %w", c.OpenFiles, err)
		}
	}
	return errors.Join(errors.New(args[1]), syscall.Exec(args[1], args[1:], os.Environ()))
}

// limitOpenFiles sets the limit of this process to n, or to what this user may have at most if that is less.
func limitOpenFiles(n uint64) error {
	err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: n, Max: n})
	var now syscall.Rlimit
	if !errors.Is(err, syscall.EPERM) || syscall.Getrlimit(syscall.RLIMIT_NOFILE, &now) != nil || now.Max >= n {
		return err
	}
	return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: now.Max, Max: now.Max})
}
