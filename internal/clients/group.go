package clients

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/mqlab/mqlab/internal/agent"
	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/instrument"
)

// group is one client library with several connections, of one process or of as many processes.
type group struct {
	broker    *instrument.Broker
	processes []*agent.Process
	clients   []*instrument.Client // by connection
	records   map[uint32]agent.Record
	done      *agent.Done // of the first process
}

// open starts a client with connections that are carried in some way; "" = one, as the library does it.
func (o *Options) open(ctx context.Context, g *guard.Guard, b *agent.Built, job agent.Job, connections int, by string) (_ *group, err error) {
	k := &group{}
	defer func() {
		if err != nil {
			k.close()
		}
	}()
	if k.broker, err = instrument.Listen(b.Protocol, o.tls); err != nil {
		return nil, err
	}
	job.Host, job.Port, job.Topic, job.ClientID = instrument.Host, k.broker.Port(), "sensor/data", "mqlab-"+b.Name
	if job.KeepAlive == 0 {
		job.KeepAlive = 3600
	}
	if job.Capacity == 0 {
		job.Capacity = mostSamples
	}
	if by == agent.ByProcesses {
		return k, k.several(ctx, g, b, job, connections)
	}
	job.By, job.Connections = by, connections
	return k, k.add(ctx, g, b, job, connections)
}

// mostSamples of a process: 3 MB.
const mostSamples = 100_000

// add starts one process, and waits until all its connections have subscribed.
func (k *group) add(ctx context.Context, g *guard.Guard, b *agent.Built, job agent.Job, connections int) error {
	p, err := agent.Start(ctx, g, b, job)
	if err != nil {
		return err
	}
	k.processes = append(k.processes, p)
	for range connections {
		c, err := k.broker.Accept(ctx, patience)
		if err != nil {
			if said := p.Failure(); said != nil {
				return said
			}
			return fmt.Errorf("%d of %d connections came: %w%s", len(k.clients), connections, err, p.Said())
		}
		k.clients = append(k.clients, c)
	}
	return p.Ready(ctx)
}

// atOnce is how many processes are started at a time.
const atOnce = 8

// several starts a process for each connection, as long as there is memory for them.
func (k *group) several(ctx context.Context, g *guard.Guard, b *agent.Built, job agent.Job, connections int) error {
	job.Capacity = max(2*spreadMost/connections, 4096)
	if ways := b.Options().By; len(ways) > 0 {
		job.By = ways[0] // as one of several is carried
	}
	if err := k.add(ctx, g, b, job, 1); err != nil {
		return err
	}
	if need, have := k.memory()*uint64(connections), available(); have > 0 && need > have/4*3 {
		return fmt.Errorf("%d processes need %d MiB of memory, and %d are available", connections, need>>20, have>>20)
	}
	for len(k.processes) < connections && ctx.Err() == nil {
		n := min(atOnce, connections-len(k.processes))
		started, errs := make([]*agent.Process, n), make([]error, n)
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				job := job
				job.ClientID = fmt.Sprintf("%s-%d", job.ClientID, len(k.processes)+i)
				started[i], errs[i] = agent.Start(ctx, g, b, job)
			})
		}
		all.Wait()
		for _, p := range started {
			if p != nil {
				k.processes = append(k.processes, p)
			}
		}
		if err := errors.Join(errs...); err != nil {
			return err
		}
		for range started { // in whatever order they come
			c, err := k.broker.Accept(ctx, patience)
			if err != nil {
				return err
			}
			k.clients = append(k.clients, c)
		}
		for _, p := range started {
			if err := p.Ready(ctx); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// reason is why a client has no result: what it said, without its name in front, which stands beside it wherever this is shown.
func reason(client string, err error) string { return strings.TrimPrefix(err.Error(), client+": ") }

// memory is that of all processes.
func (k *group) memory() (bytes uint64) {
	for _, p := range k.processes {
		bytes += p.Memory()
	}
	return bytes
}

// usage is that of all processes.
func (k *group) usage() (sum agent.Usage) {
	for _, p := range k.processes {
		u := p.Usage()
		sum.CPU += u.CPU
		sum.Waited += u.Waited
		sum.Voluntary += u.Voluntary
		sum.Involuntary += u.Involuntary
		sum.ThreadNumber += u.ThreadNumber
	}
	return sum
}

// settle waits until the processes have taken n messages together.
func (k *group) settle(ctx context.Context, n int) {
	if len(k.processes) == 1 {
		k.processes[0].Settle(ctx, uint64(n))
		return
	}
	agent.SettleAll(ctx, k.processes, uint64(n))
}

// end ends the processes and takes what they recorded: n messages, each once. With fewer it is an error.
func (k *group) end(ctx context.Context, n int) error {
	k.settle(ctx, n)
	if err := k.collect(ctx, n); err != nil {
		return err
	}
	if len(k.records) < n {
		return fmt.Errorf("%d of %d messages did not come", n-len(k.records), n)
	}
	return nil
}

// collect ends the processes and takes what they recorded, of n messages.
func (k *group) collect(ctx context.Context, n int) error {
	k.records = map[uint32]agent.Record{}
	for i, p := range k.processes {
		done, samples, err := p.End(ctx)
		if err != nil {
			return err
		}
		if i == 0 {
			k.done = done
		}
		if samples.Dropped > 0 {
			return fmt.Errorf("there was no room for %d samples", samples.Dropped)
		}
		part := taken{messages: n, samples: samples}
		records, err := part.received()
		if err != nil {
			return err
		}
		for seq, r := range records {
			if _, again := k.records[seq]; again {
				return fmt.Errorf("message %d came twice", seq)
			}
			k.records[seq] = r
		}
	}
	return nil
}

// close leaves nothing running.
func (k *group) close() {
	for _, c := range k.clients {
		_ = c.Close()
	}
	for _, p := range k.processes {
		_ = p.Kill()
	}
	if k.broker != nil {
		_ = k.broker.Close()
	}
}
