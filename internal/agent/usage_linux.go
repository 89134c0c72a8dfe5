package agent

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// Usage is what an agent's process has used since its start, over all its threads.
type Usage struct {
	CPU          time.Duration // that it ran
	Waited       time.Duration // that it was ready to run and had no core
	Voluntary    uint64        // context switches
	Involuntary  uint64
	MinorFaults  uint64
	ResidentKiB  uint64
	ReadWrites   uint64 // system calls that read or write, as the kernel counts them
	ThreadNumber int
}

// Usage reads what the agent has used.
func (p *Process) Usage() (u Usage) {
	dir := "/proc/" + strconv.Itoa(p.PID)
	entries, _ := os.ReadDir(dir + "/task")
	for _, e := range entries {
		u.ThreadNumber++
		task := dir + "/task/" + e.Name()
		if f := strings.Fields(text(task + "/schedstat")); len(f) > 1 {
			u.CPU += time.Duration(number(f[0]))
			u.Waited += time.Duration(number(f[1]))
		}
		for line := range strings.Lines(text(task + "/status")) {
			switch key, value, _ := strings.Cut(line, ":"); key {
			case "voluntary_ctxt_switches":
				u.Voluntary += number(value)
			case "nonvoluntary_ctxt_switches":
				u.Involuntary += number(value)
			}
		}
	}
	stat := text(dir + "/stat")
	if f := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:]); len(f) > 7 {
		u.MinorFaults = number(f[7])
	}
	if f := strings.Fields(text(dir + "/statm")); len(f) > 1 {
		u.ResidentKiB = number(f[1]) * uint64(os.Getpagesize()) / 1024
	}
	for line := range strings.Lines(text(dir + "/io")) {
		switch key, value, _ := strings.Cut(line, ":"); key {
		case "syscr", "syscw":
			u.ReadWrites += number(value)
		}
	}
	return u
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

func text(name string) string {
	b, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(b)
}

func number(s string) uint64 {
	n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
