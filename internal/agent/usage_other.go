//go:build !linux

package agent

import "time"

// Usage is what an agent's process has used; only Linux tells.
type Usage struct {
	CPU, Waited                                                  time.Duration
	Voluntary, Involuntary, MinorFaults, ResidentKiB, ReadWrites uint64
	ThreadNumber                                                 int
}

// Usage reads what the agent has used.
func (p *Process) Usage() Usage { return Usage{} }

// Sub is what was used since an earlier reading.
func (u Usage) Sub(Usage) Usage { return u }

func (p *Process) ran() time.Duration { return 0 }

// Memory is what the process takes, in bytes; 0 = not known.
func (p *Process) Memory() uint64 { return 0 }
