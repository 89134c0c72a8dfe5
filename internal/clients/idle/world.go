package idle

import (
	"context"
	"os/exec"
	"sync"
	"time"

	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/link/emulate"
	"github.com/mqlab/mqlab/internal/netns"
)

// delay is that of the link, each way: what an LTE connection has.
const delay = 50 * time.Millisecond

// world is where clients and broker live: at both ends of a link through which unmodified programs can be seen, or this host.
type world struct {
	network emulate.Network // nil = this host
	said    string

	mu    sync.Mutex
	flows link.Flows
	known map[uint64]bool // devices
}

// traffic is what a connection had on the link so far, both ways.
type traffic struct{ bytes, packets uint64 }

func open(ctx context.Context) (*world, error) {
	w := &world{known: map[uint64]bool{}}
	way := link.Params{Delay: delay}
	n, choice, err := emulate.Open(ctx, emulate.Options{Config: link.Config{Profile: link.Profile{Name: "idle", Up: way, Down: way}}, Backend: emulate.Tun})
	if err != nil {
		w.said = "none, bytes are not known: " + err.Error()
		return w, ctx.Err()
	}
	watched, can := n.(emulate.Watched)
	if !can {
		w.said = "none, bytes are not known: backend " + choice.Backend + " does not show packets"
		return w, n.Close()
	}
	w.network, w.said = n, choice.Backend+", "+delay.String()+" each way"
	watched.Observe(w.packet)
	return w, nil
}

// packet implements link.Observer.
func (w *world) packet(way link.Direction, at int64, size int, head []byte, _ link.Verdict) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flows.Packet(way, at, size, head)
}

func (w *world) broker() netns.Place {
	if w.network == nil {
		return netns.Host
	}
	return w.network.Broker()
}

// device makes commands of programs that live where devices do; nil = anywhere.
func (w *world) device() func(ctx context.Context, name string, args ...string) *exec.Cmd {
	if w.network == nil {
		return nil
	}
	return w.network.Device().Command
}

// traffic is that of all connections that are open.
func (w *world) traffic() map[uint64]traffic {
	if w.network == nil {
		return nil
	}
	w.network.Counters() // what was before has been seen then
	all := map[uint64]traffic{}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flows.Each(func(device uint64, up, down link.Count) {
		all[device] = traffic{up.Bytes + down.Bytes, up.Packets + down.Packets}
	})
	return all
}

// newDevice is the connection that there was not at the last call; 0 = there is none, or more than one.
func (w *world) newDevice() (found uint64) {
	n := 0
	for device := range w.traffic() {
		if !w.known[device] {
			w.known[device], found = true, device
			n++
		}
	}
	if n != 1 {
		return 0
	}
	return found
}

func (w *world) close() error {
	if w.network == nil {
		return nil
	}
	return w.network.Close()
}
