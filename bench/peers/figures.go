//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/prometheus/procfs"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/monitor"
)

const memoryFigure = "memory per connection"

// figure is one thing that is measured of both sides.
type figure struct {
	name       string
	words      func(float64) string
	has        func(*peer) bool
	own, other func(ctx context.Context, r *rig) (float64, error)
}

var figures = []figure{
	{
		"messages per CPU-second", func(v float64) string { return digits(v/1e6) + " M" }, func(p *peer) bool { return p.publish != nil },
		func(ctx context.Context, r *rig) (float64, error) { return r.perCPU(ctx, nil) },
		func(ctx context.Context, r *rig) (float64, error) { return r.perCPU(ctx, r.peer.publish) },
	},
	{
		memoryFigure, func(v float64) string { return digits(v/1024) + " KiB" }, func(p *peer) bool { return p.idle != nil },
		func(ctx context.Context, r *rig) (float64, error) { return r.perConnection(ctx, nil, many) },
		func(ctx context.Context, r *rig) (float64, error) {
			return r.perConnection(ctx, r.peer.idle, min(many, r.peer.most))
		},
	},
	{
		"schedule error, p99", nanoseconds, func(p *peer) bool { return p.paced != nil },
		func(ctx context.Context, r *rig) (float64, error) { return r.scheduleError(ctx, nil) },
		func(ctx context.Context, r *rig) (float64, error) { return r.scheduleError(ctx, r.peer.paced) },
	},
	{
		"latency, p50", nanoseconds, func(p *peer) bool { return p.latency != nil },
		func(ctx context.Context, r *rig) (float64, error) { return r.latency(ctx, nil) },
		func(ctx context.Context, r *rig) (float64, error) { return r.latency(ctx, r.peer.latency) },
	},
}

const (
	many      = 5000   // connections whose memory is compared with that of a fifth of them: from 1,000 on mqlab gives back what its start needed
	scheduled = 200    // messages of a schedule
	answers   = 10_000 // messages whose answers are timed
	patience  = 30 * time.Second
)

// rig is what the figures of one peer are measured with.
type rig struct {
	options
	guard   *guard.Guard
	peer    *peer
	program string
	broker  *broker.Instance
	at      *url.URL
	sockets int // of the broker without connections
}

func newRig(o options, g *guard.Guard, p *peer, program string, i *broker.Instance) (*rig, error) {
	at, err := url.Parse(i.URL)
	if err != nil {
		return nil, err
	}
	r := &rig{options: o, guard: g, peer: p, program: program, broker: i, at: at, sockets: -1}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	last := 0
	return r, r.settled(ctx, func() (bool, error) { // the connection that asked whether it is ready is gone
		var err error
		last = r.sockets
		r.sockets, err = r.connections()
		return r.sockets == last, err
	})
}

// task is what one side is to do: the peer's command, or, where that is nil, our own of this kind.
func (r *rig) task(ctx context.Context, kind string, theirs func(*url.URL, int) command, at *url.URL, n int) (*exec.Cmd, error) {
	if theirs != nil {
		c := theirs(at, n)
		cmd := exec.CommandContext(ctx, r.program, c.args...)
		cmd.Stdin = c.in
		return cmd, nil
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(ownTask{Kind: kind, URL: at.String(), Protocol: r.peer.broker.Protocol, Answered: r.peer.answered, N: n})
	return exec.CommandContext(ctx, exe, ownVerb, string(text)), err
}

// finish runs a command to its end and returns what it printed.
func finish(cmd *exec.Cmd) (string, error) {
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%v: %w: %s", cmd.Args, err, bytes.TrimSpace(complaint.Bytes()))
	}
	return out.String(), nil
}

// perCPU is how many messages a second of the CPU time of the whole process buys.
func (r *rig) perCPU(ctx context.Context, theirs func(*url.URL, int) command) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd, err := r.task(ctx, taskPublish, theirs, r.at, r.messages)
	if err != nil {
		return 0, err
	}
	out, err := finish(cmd)
	if err != nil {
		return 0, err
	}
	sent := float64(r.messages)
	if theirs == nil {
		if sent, err = strconv.ParseFloat(out, 64); err != nil {
			return 0, err
		}
	}
	return sent / (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), nil
}

// perConnection is what each further connection adds to the memory of a process (PSS), or that of a process which has but one.
func (r *rig) perConnection(ctx context.Context, theirs func(*url.URL, int) command, n int) (float64, error) {
	most, err := r.holding(ctx, theirs, n)
	if err != nil || n == 1 {
		return most, err
	}
	few := n / 5
	least, err := r.holding(ctx, theirs, few)
	return (most - least) / float64(n-few), err
}

// holding is the memory of a process that holds n connections.
func (r *rig) holding(ctx context.Context, theirs func(*url.URL, int) command, n int) (memory float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := r.settled(ctx, func() (bool, error) { // those before are gone
		now, err := r.connections()
		return now <= r.sockets, err
	}); err != nil {
		return 0, fmt.Errorf("the broker keeps connections: %w", err)
	}
	cmd, err := r.task(ctx, taskIdle, theirs, r.at, n)
	if err != nil {
		return 0, err
	}
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	in, err := cmd.StdinPipe() // it stays open: who reads it waits
	if err != nil {
		return 0, err
	}
	if err := r.guard.Spawn(cmd); err != nil {
		return 0, err
	}
	defer func() {
		err = errors.Join(err, in.Close(), r.guard.End(cmd.Process.Pid))
		_ = cmd.Wait() // it was killed
		if err != nil && complaint.Len() > 0 {
			err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(complaint.Bytes()))
		}
	}()
	if err := r.settled(ctx, func() (bool, error) {
		now, err := r.connections()
		return now >= r.sockets+n, err
	}); err != nil {
		return 0, fmt.Errorf("%d connections: %w", n, err)
	}
	var last float64
	err = r.settled(ctx, func() (bool, error) { // until it does not grow any more
		now := pss(cmd.Process.Pid)
		stable := now > 0 && now <= last*1.01
		last = now
		return stable, nil
	})
	return last, err
}

// settled asks again and again.
func (r *rig) settled(ctx context.Context, done func() (bool, error)) error {
	again := time.NewTicker(300 * time.Millisecond)
	defer again.Stop()
	for {
		select {
		case <-again.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if ok, err := done(); ok || err != nil {
			return err
		}
	}
}

// connections is how many sockets the broker's processes have.
func (r *rig) connections() (n int, err error) {
	for _, pid := range r.broker.Roots() {
		p, err := procfs.NewProc(pid)
		if err != nil {
			return 0, err
		}
		targets, err := p.FileDescriptorTargets()
		if err != nil {
			return 0, err
		}
		for _, t := range targets {
			if len(t) > 7 && t[:7] == "socket:" {
				n++
			}
		}
	}
	return n, nil
}

// pss is the memory of a process and its descendants; 0 = not known.
func pss(pid int) (bytes float64) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	monitor.New(monitor.Target{Role: monitor.Generator, PIDs: []int{pid}}).Run(ctx, time.Second, func(s monitor.Sample) {
		if s.Role == monitor.Generator && s.PSSBytes > 0 {
			bytes = float64(s.PSSBytes)
		}
	})
	return bytes
}

// scheduleError is how far from a steady schedule messages come to a relay before the broker: the deviation that one in a
// hundred exceeds, in nanoseconds. The schedule's first time is the one that makes the median deviation 0.
func (r *rig) scheduleError(ctx context.Context, theirs func(*url.URL, int) command) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	relay, err := newRelay(r.at.Host)
	if err != nil {
		return 0, err
	}
	defer relay.close()
	at := *r.at
	at.Host = relay.address()
	cmd, err := r.task(ctx, taskPaced, theirs, &at, scheduled)
	if err != nil {
		return 0, err
	}
	if _, err := finish(cmd); err != nil {
		return 0, err
	}
	times := relay.arrivals()
	if len(times) < scheduled*9/10 {
		return 0, fmt.Errorf("%d of %d messages passed the relay", len(times), scheduled)
	}
	return deviation(times, pace), nil
}

func deviation(times []int64, pace time.Duration) float64 {
	off := make([]float64, len(times))
	for k, t := range times {
		off[k] = float64(t - times[0] - int64(k)*int64(pace))
	}
	middle := quantile(off, 0.5)
	for k := range off {
		off[k] = max(off[k]-middle, middle-off[k])
	}
	return quantile(off, 0.99)
}

// latency is the median time from a message to its answer, as each tool tells it.
func (r *rig) latency(ctx context.Context, theirs func(*url.URL, int) command) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd, err := r.task(ctx, taskLatency, theirs, r.at, answers)
	if err != nil {
		return 0, err
	}
	out, err := finish(cmd)
	if err != nil {
		return 0, err
	}
	if theirs == nil {
		return strconv.ParseFloat(out, 64)
	}
	d, err := r.peer.median(out)
	return float64(d), err
}
