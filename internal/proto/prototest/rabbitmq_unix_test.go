//go:build unix

package prototest_test

import (
	"os/exec"
	"syscall"
)

// ownGroup lets cmd begin a process group, so that an interrupt from the terminal does not reach it.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills what is left of the group that cmd began, and tells whether there was anything.
func killGroup(cmd *exec.Cmd) bool { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) == nil }
