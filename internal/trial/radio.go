package trial

import (
	"sync"

	"github.com/mqlab/mqlab/internal/energy"
	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/link/emulate"
	"github.com/mqlab/mqlab/internal/run"
)

// sight follows the packets on the link of a trial: the connections that they belong to, and the radios of the devices.
type sight struct {
	mu    sync.Mutex
	flows link.Flows
	fleet energy.Fleet
}

// look begins to follow the packets of a network that can show them.
func (n *network) look() {
	if watched, can := n.Network.(emulate.Watched); can {
		n.sight = &sight{fleet: energy.Fleet{Radios: energy.Radios()}}
		watched.Observe(n.sight.packet)
	}
}

// packet implements link.Observer. What never reaches the air, because the queue is full, does not keep a radio on; what the link then
// loses does.
func (s *sight) packet(way link.Direction, at int64, size int, head []byte, v link.Verdict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flows.Packet(way, at, size, head)
	if v != link.QueueFull {
		s.fleet.Packet(link.DeviceOf(head, way), at)
	}
}

// window says when the measure window is.
func (n *network) window(from, until int64) {
	if s := n.sight; s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.flows.From, s.flows.Until, s.fleet.From, s.fleet.Until = from, until, from, until
	}
}

// noteSight writes down what was seen: of radios, and of TCP.
func (j *job) noteSight() {
	s := j.network.sight
	if s == nil {
		return
	}
	j.network.Network.(emulate.Watched).Observe(nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fleet.Until == 0 {
		return // measuring never began
	}
	uses, devices := s.fleet.Uses()
	j.record.Radio = &run.Radio{Devices: devices, Span: s.fleet.Until - s.fleet.From, Uses: uses}
	if l := j.record.Link; l.Up != nil {
		l.Up.TCP, l.Down.TCP = segments(&s.flows, link.Up), segments(&s.flows, link.Down)
	}
}

// segments are those of one direction.
func segments(f *link.Flows, way link.Direction) *run.LinkTCP {
	t := &run.LinkTCP{Total: f.Total(way), Measured: f.Measured(way)}
	for size := 1; size <= link.SmallBytes; size++ {
		if s := f.Small(way, size); s.Sent > 0 {
			t.Small = append(t.Small, run.LinkSmall{Payload: size, Small: s})
		}
	}
	return t
}
