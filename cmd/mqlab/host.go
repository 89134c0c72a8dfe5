package main

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/cores"
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

// unfit says which limits of this host a trial would break.
func unfit(f doctor.Facts) func(plan.Estimate) string {
	return func(e plan.Estimate) string {
		var parts []string
		for _, problem := range doctor.Check(e, f) {
			parts = append(parts, problem.Short())
		}
		return strings.Join(parts, "; ")
	}
}

// checkHost refuses a plan that this host's limits forbid, and names the limits: they must not be taken for the broker's.
func checkHost(p *plan.Plan) error {
	facts := doctor.Quick()
	var parts []string
	for _, problem := range doctor.Check(p.Estimate(), facts) {
		parts = append(parts, problem.String())
	}
	parts = append(parts, checkMachines(p, facts)...)
	if err := checkPins(p); err != nil {
		parts = append(parts, err.Error())
	}
	if len(parts) == 0 {
		return nil
	}
	return errors.New(strings.Join(parts, "; "))
}

// checkPins tells why this host cannot hold brokers and generator to different cores, where the plan asks for that.
func checkPins(p *plan.Plan) error {
	if !slices.ContainsFunc(p.Trials, func(t plan.Trial) bool { return t.Params.Pin == cores.On }) {
		return nil
	}
	usable, err := cores.Usable()
	if err == nil {
		_, err = cores.Decide(cores.On, usable)
	}
	return err
}

// checkMachines tells which machines of the plan this host cannot give to a broker, and why.
func checkMachines(p *plan.Plan, facts doctor.Facts) (problems []string) {
	type asked struct {
		profile plan.Profile
		runtime string
	}
	known := map[asked]bool{}
	for i := range p.Trials {
		a := asked{p.Trials[i].Params.Profile, p.Trials[i].Subject.Runtime}
		if known[a] {
			continue
		}
		known[a] = true
		var memory uint64
		if facts.Memory != nil {
			memory = facts.Memory.Total
		}
		err := broker.CanLimit(a.profile, a.runtime, facts.Cores.Usable, memory)
		if err == nil {
			continue
		}
		if text := err.Error() + "; --no-limits goes on without, and marks the results"; !slices.Contains(problems, text) {
			problems = append(problems, text)
		}
	}
	return problems
}
