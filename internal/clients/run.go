package clients

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mqlab/mqlab/internal/agent"
	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/instrument"
	"github.com/mqlab/mqlab/internal/selfsigned"
)

// Options are what is compared, and how long.
type Options struct {
	Clients  []agent.Agent
	Protocol string // of all of them
	Payloads []int  // bytes
	QoS      []int
	Rounds   int // of each mode
	Lone     int // single messages in a round
	Drain    int // messages queued in a round, at most; large payloads have fewer, see drainBytes
	Paced    int // messages on a schedule
	Traced   int // messages whose time is broken down
	Bursts   int // rounds
	Interval time.Duration
	Modes    []Mode // nil = all; empty = none
	Seed     uint64
	Folder   string // that agents are built in
	Job      agent.Job
	Say      func(string) // tells what is going on

	Secure    bool   // TLS
	Allocator string // another one before the programs; "" = that of the system
	Unpinned  bool   // the scheduler moves clients as it likes

	// Experiments beside the modes; each is left out where it has nothing.
	Connections []int    // of one client at once
	By          []string // threads, loop, processes
	Leak        time.Duration
	Reconnect   []string
	Block       time.Duration // that a callback takes

	tls *tls.Config
}

// warmUp messages come before anything is measured.
const warmUp = 300

// Run compares clients. What cannot be built, or has not what is asked for, is skipped and named; a client that fails makes its own results
// invalid. When ctx is done what was measured so far is the result, with the cause.
func Run(ctx context.Context, g *guard.Guard, o Options) (*Result, error) {
	r := &Result{Schema: 1, Seed: o.Seed, Variant: o.variant()}
	release, isolation, place := isolate()
	defer release()
	if r.Host = isolation; o.Unpinned {
		place = agent.Anywhere
		r.Host = Isolation{Why: "they were not to be"}
	}
	if o.Secure {
		remove, err := o.secure(g)
		if err != nil {
			return r, err
		}
		defer remove()
	}
	built, err := o.build(ctx, r, place)
	if err != nil {
		return r, err
	}
	for _, qos := range o.QoS {
		for _, payload := range o.Payloads {
			if o.Modes != nil && len(o.Modes) == 0 {
				continue
			}
			o.Say(fmt.Sprintf("%d clients, payload %d B, QoS %d", len(built), payload, qos))
			s := &session{o: &o, g: g, cores: r.Host.cores, payload: payload, qos: uint8(qos), random: rand.New(rand.NewPCG(o.Seed, uint64(payload)<<2|uint64(qos)))}
			r.Cells = append(r.Cells, s.run(ctx, built, r)...)
			if ctx.Err() != nil {
				r.rank()
				return r, context.Cause(ctx)
			}
		}
	}
	r.rank()
	return r, o.experiments(ctx, g, r, built)
}

// build makes the clients ready that can be.
func (o *Options) build(ctx context.Context, r *Result, place agent.Place) (built []*agent.Built, err error) {
	preload := ""
	if o.Allocator != "" {
		if preload, err = agent.Allocator(o.Allocator); err != nil {
			return nil, err
		}
	}
	for _, a := range o.Clients {
		o.Say("building " + a.Name)
		b, err := agent.Build(ctx, a, o.Folder)
		lacks := a.Lacks(&o.Job)
		if preload != "" && !a.Options().Preload {
			lacks = "its language has an allocator of its own"
		}
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case lacks != "":
			r.Skipped = append(r.Skipped, Skipped{a.Name, lacks})
			continue
		case err != nil:
			r.Skipped = append(r.Skipped, Skipped{a.Name, err.Error()})
			continue
		}
		if preload != "" {
			b = b.Preloaded(preload)
		}
		b.Place = place
		built = append(built, b)
		r.Clients = append(r.Clients, Client{Name: a.Name, Language: string(a.Language), Library: a.Library, Protocol: a.Protocol, Floor: a.Floor})
	}
	if len(built) == 0 {
		why := "make agents installs them"
		if len(r.Skipped) > 0 {
			why = r.Skipped[0].Name + ": " + r.Skipped[0].Why
		}
		return nil, errors.New("no client library is there: " + why)
	}
	return built, nil
}

// secure makes a certificate, and writes the file that clients trust.
func (o *Options) secure(g *guard.Guard) (remove func(), err error) {
	c, err := selfsigned.New(24*time.Hour, instrument.Host, "localhost")
	if err != nil {
		return nil, err
	}
	dir, err := g.MkdirTemp("clients")
	if err != nil {
		return nil, err
	}
	o.tls, o.Job.TLSCA = c.Server, filepath.Join(dir, "ca.pem")
	return func() { _ = g.RemoveDir(dir) }, os.WriteFile(o.Job.TLSCA, c.PEM, 0o600)
}

// variant are the named options that are set; nil = none.
func (o *Options) variant() *Variant {
	j := &o.Job
	v := Variant{
		Callback: j.Callback, WorkNS: j.WorkNS, Loop: j.Loop, GC: j.GC, Retain: j.Retain, NoDelay: j.NoDelay != 0, Log: j.Log != 0,
		TLS: o.Secure, Allocator: o.Allocator, Unpinned: o.Unpinned,
	}
	if v == (Variant{}) {
		return nil
	}
	return &v
}

// session is all clients with one payload and QoS.
type session struct {
	o       *Options
	g       *guard.Guard
	payload int
	qos     uint8
	random  *rand.Rand
	next    uint32
	here    []*present
	cores   []int // where client and sender run; nil = anywhere
}

// present is a client that takes part.
type present struct {
	built   *agent.Built
	process *agent.Process
	client  *instrument.Client
	taken   taken
	err     error // why it is out
}

func (s *session) run(ctx context.Context, built []*agent.Built, r *Result) []Cell {
	defer s.end()
	for _, b := range built {
		p := &present{built: b}
		p.err = s.join(ctx, p)
		s.here = append(s.here, p)
		if p.process != nil {
			for i := range r.Clients {
				if r.Clients[i].Name == b.Name && p.process.Version != "" {
					r.Clients[i].Version = p.process.Version
				}
			}
		}
	}
	s.paired(ctx, warmUp, nil)
	s.single(ctx)
	s.each(ctx, DrainMode, s.o.Rounds, func(p *present, round int) { s.drain(ctx, p, round) })
	s.each(ctx, PacedMode, 1, func(p *present, _ int) { s.paced(ctx, p) })
	s.each(ctx, BurstMode, s.o.Bursts, func(p *present, round int) { s.burst(ctx, p, round) })
	s.each(ctx, BreakdownMode, 1, func(p *present, _ int) { s.trace(ctx, p) })
	s.each(ctx, AllocationsMode, 1, func(p *present, _ int) { s.allocations(ctx, p) })
	return s.cells(ctx)
}

// has: a mode is asked for.
func (o *Options) has(m Mode) bool { return o.Modes == nil || slices.Contains(o.Modes, m) }

func (s *session) usage() []agent.Usage {
	list := make([]agent.Usage, len(s.here))
	for i, p := range s.here {
		if p.process != nil {
			list[i] = p.process.Usage()
		}
	}
	return list
}

// join starts a client, and waits until it has subscribed.
func (s *session) join(ctx context.Context, p *present) error {
	broker, err := instrument.Listen(p.built.Protocol, s.o.tls)
	if err != nil {
		return err
	}
	defer func() { _ = broker.Close() }()
	job := s.o.Job
	job.Host, job.Port, job.Topic, job.ClientID, job.KeepAlive = instrument.Host, broker.Port(), "sensor/data", "mqlab-"+p.built.Name, 3600
	job.QoS = int(s.qos)
	job.Capacity = warmUp + s.o.Rounds*(s.o.Lone+s.drained()) + s.o.Paced + s.o.Traced + (1+s.o.Bursts)*s.drained() + 10_000 // pauses of the runtime, too
	if p.process, err = agent.Start(ctx, s.g, p.built, job); err != nil {
		return err
	}
	if p.client, err = broker.Accept(ctx, patience); err != nil {
		return fmt.Errorf("%s: %w", p.built.Name, err)
	}
	return p.process.Ready(ctx)
}

const patience = 15 * time.Second

// able are those that have not failed.
func (s *session) able() (list []*present) {
	for _, p := range s.here {
		if p.err == nil {
			list = append(list, p)
		}
	}
	return list
}

// paired sends single messages to all clients in turn; round nil = they are warm-up.
func (s *session) paired(ctx context.Context, n int, round *int) {
	list := s.able()
	clients := make([]*instrument.Client, len(list))
	for i, p := range list {
		clients[i] = p.client
	}
	n, interval := s.singles(n)
	load := instrument.Load{Messages: n, Payload: s.payload, QoS: s.qos, First: s.next}
	sent, errs := instrument.Paired(ctx, clients, load, interval, s.random.Uint64())
	for i, p := range list {
		p.err = errs[i]
		p.taken.messages = int(s.next) + n
		if round != nil {
			p.taken.lone = append(p.taken.lone, batch{round: *round, first: s.next, sent: sent[i], number: n})
		}
	}
	s.next += uint32(n)
}

// A large message keeps a client, which shares its core with the others, busy for long. So that single messages are single, the interval
// grows with the payload, at the rate pairedBytes; so that a round does not take more than pairedStretch times as long, it has fewer
// messages then, but not fewer than fewest.
const (
	pairedBytes   = 200e6 // a second
	pairedStretch = 4
	fewest        = 20
)

// singles are how many single messages each client gets instead of n, and the interval between two of them, whomever they go to.
func (s *session) singles(n int) (number int, interval time.Duration) {
	interval = max(s.o.Interval, time.Duration(float64(s.payload)/pairedBytes*1e9))
	part := min(1, pairedStretch*float64(s.o.Interval)/float64(interval))
	return max(min(n, fewest), int(part*float64(n))), interval
}

// drainBytes bounds what is queued in a socket: a kernel holds no more for sure.
const drainBytes = 24 << 20

func (s *session) drained() int { return max(1, min(s.o.Drain, drainBytes/(s.payload+1024))) }

// drain stops a client, queues messages, and lets it work. Message numbers of a drain are the client's own.
func (s *session) drain(ctx context.Context, p *present, round int) {
	load := instrument.Load{Messages: s.drained(), Payload: s.payload, QoS: s.qos, First: uint32(p.taken.messages)}
	before := p.process.Usage()
	d, err := p.client.Drain(ctx, load, p.process)
	if err != nil {
		p.err = err
		return
	}
	if d.Messages > 0 {
		p.taken.drains = append(p.taken.drains, batch{round: round, first: load.First, number: d.Messages, thawed: d.Thawed})
	}
	p.taken.messages += d.Messages
	p.process.Settle(ctx, uint64(p.taken.messages))
	p.taken.counted += d.Messages
	used := p.process.Usage().Sub(before)
	if d.Messages > 0 && used.CPU > 0 {
		p.taken.cpu = append(p.taken.cpu, float64(used.CPU)/float64(d.Messages))
	}
	p.taken.draining.CPU += used.CPU
	p.taken.draining.MinorFaults += used.MinorFaults
	p.taken.draining.ReadWrites += used.ReadWrites
}

// cells ends all clients and makes cells of what they recorded.
func (s *session) cells(ctx context.Context) (list []Cell) {
	var floor *taken
	for _, p := range s.here {
		if p.err == nil {
			p.taken.end = p.process.Usage()
			p.taken.done, p.taken.samples, p.err = p.process.End(ctx)
		}
		if p.err == nil && p.built.Floor && p.built.Language == agent.C {
			floor = &p.taken
		}
	}
	for _, p := range s.here {
		c := Cell{Client: p.built.Name, Payload: s.payload, QoS: int(s.qos)}
		if p.err != nil {
			c.Invalid = reason(c.Client, p.err)
		} else {
			fold(&c, &p.taken, floor)
		}
		list = append(list, c)
	}
	return list
}

// end leaves nothing running.
func (s *session) end() {
	for _, p := range s.here {
		if p.client != nil {
			_ = p.client.Close()
		}
		if p.process != nil {
			_ = p.process.Kill()
		}
	}
}
