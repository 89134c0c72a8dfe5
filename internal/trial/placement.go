package trial

import (
	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/cores"
	"github.com/mqlab/mqlab/internal/run"
)

// place decides which cores brokers and generator run on, and holds this process to its own; processes that it starts from
// then on inherit them. The function it returns lets it run on all again.
func (j *job) place() (release func() error, err error) {
	release = func() error { return nil }
	mode := j.trial.Params.Pin
	if r := j.trial.Subject.Runtime; r == broker.External || r == broker.Docker {
		j.placement.Why = "not pinned: the broker was not started by us as a process"
		return release, nil
	}
	usable, err := cores.Usable()
	if err == nil {
		j.placement, err = cores.Decide(mode, usable)
	}
	switch {
	case err != nil && mode == cores.On:
		return nil, err
	case err != nil:
		j.placement.Why = "not pinned: " + err.Error()
		return release, nil
	case !j.placement.Pinned():
		return release, nil
	}
	return cores.Hold(j.placement.Generator)
}

// describePlacement notes where brokers and generator may run, as the kernel tells.
func (j *job) describePlacement() {
	theirs, ours := common(j.roots()), common(j.generators)
	p := &run.Placement{BrokerCores: theirs.String(), GeneratorCores: ours.String(), Why: j.placement.Why}
	if len(theirs) > 0 && len(ours) > 0 {
		p.Shared = new(theirs.Overlap(ours))
	}
	j.record.Placement = p
}

// common are the cores of processes, which all have the same; none if that is not known.
func common(pids []int) cores.Set {
	if len(pids) == 0 {
		return nil
	}
	s, err := cores.Of(pids[0])
	if err != nil {
		return nil
	}
	return s
}
