//go:build linux

package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/mqlab/mqlab/internal/agent"
	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/cgroup"
	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/diagnose"
	"github.com/mqlab/mqlab/internal/inspect"
	"github.com/mqlab/mqlab/internal/jitter"
	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/link/tun"
	"github.com/mqlab/mqlab/internal/netns"
)

// client is a client library, measured as mqlab run jitter does.
type client struct {
	name      string
	job       agent.Job
	nagle     bool // of the broker: TCP_NODELAY is off, as shipped
	oneWay    bool
	keepAlive time.Duration
	disturb   disturbance
	on        *site   // the broker, if it is no usual one
	cpus      float64 // a quota that its process is held to, in cores; 0 = none
}

// variant is that of the broker.
func (c *client) variant() string {
	if c.nagle {
		return broker.AsShipped
	}
	return broker.Tuned
}

// measure measures a client and returns what a diagnosis is made from.
func (l *lab) measure(ctx context.Context, c client) (*diagnose.Input, error) {
	b := c.on
	if b == nil {
		var err error
		if b, err = l.mosquitto(ctx, c.variant()); err != nil {
			return nil, err
		}
	}
	a, err := l.agent(ctx, c.name)
	if err != nil {
		return nil, err
	}
	c.job.PayloadBytes = cmp.Or(c.job.PayloadBytes, 256)
	own := *a
	if c.cpus > 0 {
		g, err := cgroup.Make(fmt.Sprintf("causes-%d", os.Getpid()), cgroup.Limits{CPUs: c.cpus}, l.guard.TrackGroup)
		if err != nil {
			return nil, err
		}
		defer func() { _ = g.Remove() }() // the guard removes what is left
		own.Exec = within(g)
	}
	r, err := jitter.Run(ctx, l.guard, jitter.Options{
		Client: &own, Job: c.job, Broker: b.url, BrokerPID: b.pid, Echo: !c.nagle, OneWay: c.oneWay, KeepAlive: c.keepAlive, Disturb: c.disturb,
	})
	if err != nil {
		return nil, err
	}
	return r.Input, nil
}

// diagnosed measures a client and diagnoses it.
func (l *lab) diagnosed(ctx context.Context, c client) (*diagnose.Result, error) {
	in, err := l.measure(ctx, c)
	if err != nil {
		return nil, err
	}
	return diagnose.Diagnose(in), nil
}

// lossy measures a client behind a link that loses packets.
func (l *lab) lossy(ctx context.Context, p link.Params, set int, c client) (*diagnose.Result, error) {
	n, err := tun.Open(ctx, link.Config{Profile: link.Profile{Name: "causes", Up: p, Down: p}, Seed: l.seed + uint64(set)})
	if err != nil {
		return nil, err
	}
	defer func() { _ = n.Close() }()
	b, err := l.startIn(ctx, n.Broker())
	if err != nil {
		return nil, err
	}
	defer func() { _ = b.stop(context.WithoutCancel(ctx)) }()
	built, err := l.agent(ctx, c.name)
	if err != nil {
		return nil, err
	}
	moved := *built
	moved.Exec = n.Device().Command
	c.job.PayloadBytes = 256
	r, err := jitter.Run(ctx, l.guard, jitter.Options{
		Client: &moved, Job: c.job, Broker: fmt.Sprintf("mqtt://%v:%d", tun.Loopback, b.port()), BrokerPID: b.pid, Echo: true,
		EchoFrom: beside{n.Broker(), b.address()},
	})
	if err != nil {
		return nil, err
	}
	return diagnose.Diagnose(r.Input), nil
}

// beside is a place where the broker is on the same host.
type beside struct {
	netns.Place
	address string
}

// Dial connects to the broker, whatever it is called elsewhere.
func (b beside) Dial(ctx context.Context, network, _ string) (net.Conn, error) {
	return b.Place.Dial(ctx, network, b.address)
}

// growing looks at a running client that keeps more and more, from outside.
func (l *lab) growing(ctx context.Context, c client, span time.Duration) (*diagnose.Result, error) {
	b, err := l.mosquitto(ctx, broker.Tuned)
	if err != nil {
		return nil, err
	}
	a, err := l.agent(ctx, c.name)
	if err != nil {
		return nil, err
	}
	job := c.job
	job.Host, job.Port, job.Topic, job.Publish, job.KeepAlive, job.PayloadBytes = "127.0.0.1", int(b.port()), "causes/a", "causes/b", 60, 256
	job.ClientID, job.Capacity = fmt.Sprintf("causes-%d", os.Getpid()), 100_000
	p, err := agent.Start(ctx, l.guard, a, job)
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.Kill() }()
	if err := p.Ready(ctx); err != nil {
		return nil, err
	}
	if err := p.Go(clock.Now()); err != nil {
		return nil, err
	}
	_ = clock.Pause(ctx, 300*time.Millisecond)
	r, err := inspect.Process(ctx, inspect.Options{PID: p.PID, Port: uint16(job.Port), For: span, Every: 5 * time.Millisecond})
	if err != nil {
		return nil, err
	}
	return diagnose.DiagnoseProcess(r.Process()), nil
}
