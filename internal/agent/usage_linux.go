package agent

import (
	"time"

	"github.com/mqlab/mqlab/internal/procstat"
)

// Usage is what an agent's process has used since its start, over all its threads.
type Usage struct {
	CPU          time.Duration // that it ran, threads that have ended included; to the nanosecond
	Waited       time.Duration // that it was ready to run and had no core
	Voluntary    uint64        // context switches
	Involuntary  uint64
	MinorFaults  uint64
	ResidentKiB  uint64
	ReadWrites   uint64 // system calls that read or write, as the kernel counts them
	ThreadNumber int
}

// Usage reads what the agent has used, as far as the kernel tells.
func (p *Process) Usage() (u Usage) {
	if total, err := procstat.Host.Total(p.PID); err == nil {
		u.Waited, u.ThreadNumber = total.Waited, total.Threads
		u.Voluntary, u.Involuntary = total.Voluntary, total.Involuntary
	}
	if ran, err := procstat.CPU(p.PID); err == nil {
		u.CPU = ran
	}
	if minor, _, err := procstat.Host.Faults(p.PID); err == nil {
		u.MinorFaults = minor
	}
	if bytes, err := procstat.Host.Resident(p.PID); err == nil {
		u.ResidentKiB = bytes / 1024
	}
	if calls, err := procstat.Host.Calls(p.PID); err == nil {
		u.ReadWrites = calls
	}
	return u
}

// ran is how long the process's threads have run.
func (p *Process) ran() time.Duration {
	ran, _ := procstat.CPU(p.PID)
	return ran
}

// Memory is what the process takes, in bytes: its own memory, and of what it shares its proportion; where the kernel does not tell that,
// all that is resident. The file of samples, which is ours, is left out, but for Node, which keeps a copy that is not told apart.
func (p *Process) Memory() uint64 {
	bytes, err := procstat.Host.Proportional(p.PID)
	if err != nil {
		bytes = p.Usage().ResidentKiB * 1024
	}
	if samples := uint64(headerSize + recordSize*p.capacity); p.Language != Node && bytes > samples {
		bytes -= samples
	}
	return bytes
}

// Sub is what was used since an earlier reading; memory and threads are those of now.
func (u Usage) Sub(o Usage) Usage {
	u.CPU -= o.CPU
	u.Waited -= o.Waited
	u.Voluntary -= o.Voluntary
	u.Involuntary -= o.Involuntary
	u.MinorFaults -= o.MinorFaults
	u.ReadWrites -= o.ReadWrites
	return u
}
