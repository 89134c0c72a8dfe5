package selftest

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
)

// floor measures what no measurement on this host can be better than, and prints it. There is nothing to compare it with.
func (t *tester) floor(ctx context.Context) error {
	t.out.printf("")
	t.out.printf("the floor of this host")
	t.out.fact("reading the clock", fmt.Sprintf("%d ns", clockCost()))
	t.out.fact("a sleep of 1 ms is late by", quantiles(timerErrors(ctx, clock.SleepUntil)))
	t.out.fact("spinning 1 ms is late by", quantiles(timerErrors(ctx, spinUntil)))
	echoes, err := loopbackEcho(ctx)
	if err != nil {
		return fmt.Errorf("loopback echo: %w", err)
	}
	t.out.fact("40 bytes through TCP and back", quantiles(echoes))
	return ctx.Err()
}

func (t *table) fact(name, value string) { t.printf("     %-42s%s", name, value) }

// clockCost returns how long one reading takes, in ns: the least of several rounds.
func clockCost() int64 {
	const times, rounds = 10_000, 20
	least := int64(time.Hour)
	for range rounds {
		before := clock.Now()
		for range times - 1 {
			_ = clock.Now()
		}
		least = min(least, clock.Now()-before)
	}
	return least / times
}

// timerErrors returns how late wait returns.
func timerErrors(ctx context.Context, wait func(at int64)) (late []int64) {
	for range 300 {
		at := clock.Now() + int64(time.Millisecond)
		wait(at)
		late = append(late, clock.Now()-at)
		if ctx.Err() != nil {
			break
		}
	}
	return late
}

func spinUntil(at int64) {
	for clock.Now() < at { //nolint:revive // spinning is the purpose
	}
}

// loopbackEcho returns the round trips of 40 bytes to an echo in this process.
func loopbackEcho(ctx context.Context) (trips []int64, err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer func() { _ = ln.Close() }() // nothing can be lost
	go echo(ln)
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", ln.Addr().String())
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }() // nothing can be lost
	if err := c.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return nil, err
	}
	buf := make([]byte, 40)
	for range 3000 {
		before := clock.Now()
		if _, err := c.Write(buf); err != nil {
			return nil, err
		}
		if _, err := io.ReadFull(c, buf); err != nil {
			return nil, err
		}
		trips = append(trips, clock.Now()-before)
	}
	return trips, nil
}

// echo serves one connection.
func echo(ln net.Listener) {
	c, err := ln.Accept()
	if err != nil {
		return
	}
	_, _ = io.Copy(c, c) // ends with the client
	_ = c.Close()
}

// quantiles writes the median and the 99th percentile of spans in ns.
func quantiles(ns []int64) string {
	slices.Sort(ns)
	at := func(percent int) time.Duration {
		return time.Duration(ns[max((len(ns)*percent+99)/100-1, 0)]).Round(100 * time.Nanosecond)
	}
	return fmt.Sprintf("p50 %v, p99 %v", at(50), at(99))
}
