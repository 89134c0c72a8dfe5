package main

import (
	"errors"
	"os"
	"runtime"
	"strings"

	"github.com/mqlab/mqlab/internal/doctor"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run"
)

// describeHost says on what a run is made.
func describeHost() run.Host {
	name, _ := os.Hostname() // unknown stays empty
	f := doctor.Quick()
	h := run.Host{
		Hostname: name, Kernel: f.Kernel, OS: f.OS, Arch: runtime.GOARCH, CPUModel: f.CPUModel, Cores: f.Cores.Usable,
		ClockSource: f.ClockSource, CongestionControl: f.Congestion, GoVersion: runtime.Version(), GoMaxProcs: runtime.GOMAXPROCS(0),
		Version: version(),
	}
	if f.Memory != nil {
		h.MemoryBytes = f.Memory.Total
	}
	return h
}

// checkHost refuses a plan that this host's limits forbid, and names the limits: they must not be taken for the broker's.
func checkHost(p *plan.Plan) error {
	var parts []string
	for _, problem := range doctor.Check(p.Estimate(), doctor.Quick()) {
		parts = append(parts, problem.String())
	}
	if len(parts) == 0 {
		return nil
	}
	return errors.New(strings.Join(parts, "; "))
}
