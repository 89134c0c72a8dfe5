//go:build unix

package agent

import "syscall"

// Pause stops the agent's process, with all its threads.
func (p *Process) Pause() error { return syscall.Kill(p.PID, syscall.SIGSTOP) }

// Resume lets it go on.
func (p *Process) Resume() error { return syscall.Kill(p.PID, syscall.SIGCONT) }
