package proctree

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// Detach gives cmd, not yet started, a process group of its own, so that Ctrl-C does not reach it.
func Detach(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.CreationFlags |= syscall.CREATE_NEW_PROCESS_GROUP
}

// Terminate ends the root process: Windows knows no gentle signal for a process without a window.
func Terminate(root int) error {
	p, err := os.FindProcess(root)
	if err != nil {
		return err
	}
	return p.Kill()
}

var errNoPause = errors.New("processes cannot be paused on windows")

// Pause fails: Windows cannot stop a process.
func Pause(int) error { return errNoPause }

// Resume fails: Windows cannot stop a process.
func Resume(int) error { return errNoPause }
