//go:build linux

package main

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/prometheus/procfs"

	"github.com/mqlab/mqlab/internal/crew"
	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/netns"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/worker"
)

// labCrew opens n connections by several processes, which subscribe and then hear nothing for a span, and tells what the process
// holds that holds most.
func labCrew(n, processes int) child {
	return func(url string, span time.Duration) (f figures, err error) {
		g, err := guard.Start()
		if err != nil {
			return figures{}, err
		}
		defer func() { err = errors.Join(err, g.Close()) }()
		t := labLoad(plan.MQTT311, plan.Params{Subscribers: n, PayloadBytes: smallBytes, Topic: "bench/{stream}"})
		for last := range 8 { // an address has 28,000 ports, of which the kernel is slow to find the last
			t.Params.Connect.Sources = append(t.Params.Connect.Sources, netip.AddrFrom4([4]byte{127, 0, 0, byte(1 + last)}))
		}
		c, err := crew.Start(worker.Whole(runID, t, url), processes, worker.Credentials{}, netns.Host, g, worker.Sink{})
		if err != nil {
			return figures{}, err
		}
		defer func() { err = errors.Join(err, c.Close()) }()
		if err := c.Prepare(context.Background()); err != nil {
			return figures{}, err
		}
		time.Sleep(span) // what comes back by itself is there then
		for _, pid := range c.PIDs() {
			s, err := status(pid)
			if err != nil {
				return figures{}, err
			}
			f.Memory, f.Held, f.Peak = max(f.Memory, s.RssAnon), max(f.Held, s.VmRSS), max(f.Peak, s.VmHWM)
		}
		return f, nil
	}
}

// status is what the kernel tells of a process.
func status(pid int) (procfs.ProcStatus, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return procfs.ProcStatus{}, err
	}
	return p.NewStatus()
}
