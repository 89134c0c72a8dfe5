package netstack

import (
	"sync"
	"sync/atomic"
	"time"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/hist"
	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/link/alarm"
)

// pipe carries the packets of one direction through a Machine.
type pipe struct {
	direction link.Direction
	to        *endpoint
	alarm     alarm.Alarm
	ended     atomic.Bool
	done      sync.WaitGroup

	mu      sync.Mutex
	machine *link.Machine
	seen    link.Observer // of packets that are offered; nil = nobody looks
	late    *hist.Hist
}

func newPipe(d link.Direction, p link.Params, seed uint64) (*pipe, error) {
	a, err := alarm.New()
	if err != nil {
		return nil, err
	}
	return &pipe{direction: d, alarm: a, machine: link.New(p, seed), late: hist.New()}, nil
}

// run hands over packets when they are due, until close.
func (p *pipe) run(to *endpoint) {
	p.to = to
	p.done.Go(func() {
		p.alarm.Own()
		for !p.ended.Load() {
			p.alarm.Wait(p.deliver())
		}
	})
}

// send offers a packet to the link; it is copied.
func (p *pipe) send(packet []byte) {
	flow := link.FlowOf(packet)
	p.mu.Lock()
	now := clock.Now()
	before, waiting := p.machine.Next()
	v := p.machine.Push(now, packet, flow)
	next, any := p.machine.Next()
	if p.seen != nil {
		p.seen(p.direction, now, len(packet), packet, v)
	}
	p.mu.Unlock()
	if any && (!waiting || next < before) {
		p.alarm.Ring()
	}
}

// deliver hands over what is due, and returns how long it is until the next packet is; below 0 = none is on its way.
func (p *pipe) deliver() time.Duration {
	for {
		packet, next := p.pop()
		if packet == nil {
			return next
		}
		p.to.InjectInbound(header.IPv4ProtocolNumber, packet)
		packet.DecRef()
	}
}

// pop takes one packet that is due; nil = there is none, and none will be before next has passed.
func (p *pipe) pop() (packet *stack.PacketBuffer, next time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := clock.Now()
	due, _ := p.machine.Next()
	if data, ok := p.machine.Pop(now); ok {
		p.late.Record(now - due)
		return stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(data)}), 0
	}
	due, any := p.machine.Next()
	if !any {
		return nil, -1
	}
	return nil, max(time.Duration(due-now), 0)
}

// do lets f look at or change the machine.
func (p *pipe) do(f func(now int64, m *link.Machine)) {
	p.mu.Lock()
	f(clock.Now(), p.machine)
	p.mu.Unlock()
	p.alarm.Ring() // what is due next may have changed
}

func (p *pipe) counters() (c link.Counters) {
	p.do(func(_ int64, m *link.Machine) { c = m.Counters() })
	return c
}

// lateness is a copy of how late packets were handed over so far.
func (p *pipe) lateness() *hist.Hist {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := hist.New()
	h.Merge(p.late)
	return h
}

// close ends the goroutine; what is in flight stays there.
func (p *pipe) close() {
	p.ended.Store(true)
	p.alarm.Ring()
	p.done.Wait()
	p.alarm.Close()
}
