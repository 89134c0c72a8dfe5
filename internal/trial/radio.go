package trial

import (
	"sync"

	"github.com/mqlab/mqlab/internal/energy"
	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/link/emulate"
	"github.com/mqlab/mqlab/internal/run"
)

// radio follows the radios of the devices of a trial, by the packets on its link.
type radio struct {
	mu    sync.Mutex
	fleet energy.Fleet
}

// followRadios begins to, over the measure window. The function that it returns ends that and writes down what was found.
func (j *job) followRadios() func() {
	watched, can := j.network.Network.(emulate.Watched)
	if !can {
		return func() {}
	}
	length := int64(j.trial.Params.Phases.Measure)
	r := &radio{fleet: energy.Fleet{From: j.measure, Until: j.measure + length, Radios: energy.Radios()}}
	watched.Observe(r.packet)
	return func() {
		watched.Observe(nil)
		r.mu.Lock()
		defer r.mu.Unlock()
		uses, devices := r.fleet.Uses()
		j.record.Radio = &run.Radio{Devices: devices, Span: length, Uses: uses}
	}
}

// packet implements link.Observer. What never reaches the air, because the queue is full, does not keep a radio on; what the link then
// loses does.
func (r *radio) packet(way link.Direction, at int64, _ int, head []byte, v link.Verdict) {
	if v == link.QueueFull {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fleet.Packet(link.DeviceOf(head, way), at)
}
