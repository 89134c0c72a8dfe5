package tun

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// probeVerb is what this program is started to be to see whether a network could be had.
const probeVerb = "probe"

// inside is the environment variable of a program that Rootless has started again.
const inside = "MQLAB_USER_NAMESPACE"

// Rootless makes a network possible for a user who is not root, where this host allows it: it starts this program again, with
// the same arguments, as the same user in a user namespace in which it may have networks, waits for it, and returns its exit
// code; again is true then, and there is nothing more to do. It returns at once if networks are possible already, or with the reason why
// they cannot be.
func Rootless() (code int, again bool, err error) {
	refused := Supported()
	if refused == nil || os.Getenv(inside) != "" {
		return 0, false, refused
	}
	probe := privileged(self, probeVerb)
	if said, err := probe.CombinedOutput(); err != nil {
		if line := strings.TrimSpace(string(said)); line != "" {
			return 0, false, fmt.Errorf("%w; in a user namespace: %s", refused, line)
		}
		return 0, false, fmt.Errorf("%w; no user namespace: %w", refused, err)
	}
	cmd := privileged(os.Args[0], os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), inside+"=1")
	code, err = wait(cmd)
	return code, true, err
}

// privileged prepares this program under a name, as the same user in a user namespace of its own, with what it takes there to make and
// enter network namespaces.
func privileged(name string, args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = append([]string{name}, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_NET_ADMIN, unix.CAP_NET_RAW, unix.CAP_SYS_ADMIN},
	}
	return cmd
}

// wait runs a program to its end. What the keyboard interrupts is both; a request to end is passed on.
func wait(cmd *exec.Cmd) (code int, err error) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start in a user namespace: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			if s == syscall.SIGTERM {
				_ = cmd.Process.Signal(s) // it may just have ended
			}
		case err := <-ended:
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				return exit.ExitCode(), nil
			}
			return 0, err
		}
	}
}

// probe says on standard error why there can be no network, and returns the exit code.
func probe() int {
	if err := Supported(); err != nil {
		fmt.Fprintln(os.Stderr, strings.TrimPrefix(err.Error(), "backend tun: "))
		return 1
	}
	return 0
}
