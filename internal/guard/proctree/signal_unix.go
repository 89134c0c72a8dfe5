//go:build unix

package proctree

import (
	"errors"
	"os/exec"
	"syscall"
)

// Detach gives cmd, not yet started, a session and process group of its own, so that signals of the terminal do not
// reach it and its group can be signalled as a whole.
func Detach(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid = true
}

// Terminate asks the root process to end.
func Terminate(root int) error {
	if root <= 1 {
		return errNoTree
	}
	return syscall.Kill(root, syscall.SIGTERM)
}

// errNoTree keeps a wrong number from becoming a signal to everybody: kill(2) takes -1 for all processes.
var errNoTree = errors.New("not the process id of a tree")

// Pause stops every process of the tree (SIGSTOP) until Resume.
func Pause(root int) error { return signalTree(root, syscall.SIGSTOP) }

// Resume lets every process of the tree run again.
func Resume(root int) error { return signalTree(root, syscall.SIGCONT) }

// signalTree signals the group, in one step, and those members that have left it: those there are before, and those that
// were started until the group had heard.
func signalTree(root int, sig syscall.Signal) error {
	if root <= 1 {
		return errNoTree
	}
	before, err := Members(root)
	if err != nil {
		return err
	}
	if err := syscall.Kill(-root, sig); err != nil {
		return err
	}
	after, err := Members(root)
	if err != nil {
		return err
	}
	for _, pid := range append(before, after...) {
		if group, e := syscall.Getpgid(pid); e != nil || group == root {
			continue
		}
		if e := syscall.Kill(pid, sig); e != nil && !errors.Is(e, syscall.ESRCH) {
			err = errors.Join(err, e)
		}
	}
	return err
}
