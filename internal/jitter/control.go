package jitter

import (
	"context"
	"net"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/diagnose"
)

// control is a probe beside the client: an echo over a plain connection, 50 times a second. When it is slow as well, the host is.
type control struct {
	slow []diagnose.Span
	all  []int64 // round trips, ns
}

// HostNoise probes the host beside a client until ctx is done, and adds what it saw to an input.
func HostNoise(ctx context.Context, in *diagnose.Input) error {
	c, err := runControl(ctx)
	if err == nil {
		c.add(in)
	}
	return err
}

// add adds what the probe saw to an input.
func (c *control) add(in *diagnose.Input) {
	in.Sources = append(in.Sources, diagnose.Control)
	if len(c.slow) == 0 {
		return
	}
	in.Signals = append(in.Signals, diagnose.Signal{Cause: diagnose.HostNoise, Side: "host", Spans: c.slow})
	total := int64(0)
	for _, s := range c.slow {
		total += s.To - s.From
	}
	in.Facts.HostExcess = new(float64(total) / float64(len(c.all)))
}

const (
	controlEvery = 20 * time.Millisecond
	controlSlow  = 2 * int64(time.Millisecond)
)

// runControl probes until ctx is done. The result is whole when it returns.
func runControl(ctx context.Context) (*control, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer func() { _ = l.Close() }()
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		var b [1]byte
		for {
			if _, err := conn.Read(b[:]); err != nil {
				return
			}
			if _, err := conn.Write(b[:]); err != nil {
				return
			}
		}
	}()
	conn, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	c := &control{}
	var b [1]byte
	for due := clock.Now() + int64(controlEvery); ctx.Err() == nil; due += int64(controlEvery) {
		for clock.Now() < due {
			clock.SleepUntil(due)
		}
		if _, err := conn.Write(b[:]); err != nil {
			return c, err
		}
		if _, err := conn.Read(b[:]); err != nil {
			return c, err
		}
		now := clock.Now() // from when it was due: a probe that was woken late was held up by the host
		c.all = append(c.all, now-due)
		if now-due > controlSlow {
			c.slow = append(c.slow, diagnose.Span{From: due, To: now})
		}
	}
	return c, nil
}
