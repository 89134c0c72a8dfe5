package agent

import "errors"

var errPause = errors.New("a process cannot be stopped on this system")

// Pause stops the agent's process.
func (p *Process) Pause() error { return errPause }

// Resume lets it go on.
func (p *Process) Resume() error { return errPause }
