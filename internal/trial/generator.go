package trial

import (
	"os"

	"github.com/mqlab/mqlab/internal/crew"
	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/worker"
)

// generator generates the load: it is this process, or several.
type generator interface {
	worker.Worker
	Connections() engine.Connections
}

// generator makes what the plan says.
func (j *job) generator(share worker.Share, login worker.Credentials, sink worker.Sink) (generator, error) {
	j.generators = []int{os.Getpid()}
	n := j.trial.Params.Generators
	if n <= 1 {
		j.record.Generator.Processes = 1
		return worker.NewLocal(share, login, j.devices(), sink)
	}
	c, err := crew.Start(share, n, login, j.devices(), j.Guard, sink)
	if err != nil {
		return nil, err
	}
	j.record.Generator.Processes = len(c.PIDs())
	j.generators = append(j.generators, c.PIDs()...)
	return c, nil
}
