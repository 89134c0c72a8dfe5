//go:build linux

package main

import (
	"context"
	"fmt"
	"math"
	"os/exec"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/engine/loop/uring"
	"github.com/mqlab/mqlab/internal/plan"
)

// claim is one thing the lab promises of its own speed. A sample is one alternation.
type claim struct {
	name   string
	unit   string // of the value; empty = a ratio
	want   float64
	atMost bool                                       // want is an upper bound
	needs  func(ctx context.Context) (missing string) // nil = nothing
	setUp  func(ctx context.Context, r *rig) (site, error)
	sample func(ctx context.Context, r *rig, s site, round int) (float64, error)
}

// site is the broker that a claim's samples talk to.
type site struct {
	url  string
	stop func()
}

// values measures a claim in so many alternations.
func (c *claim) values(ctx context.Context, r *rig, rounds int) ([]float64, error) {
	s, err := c.setUp(ctx, r)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	var values []float64
	for round := range rounds {
		v, err := c.sample(ctx, r, s, round)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		values = append(values, v)
	}
	return values, nil
}

// verdict is the line that a claim's values make, and whether it is kept.
func (c *claim) verdict(values []float64) (line string, ok bool) {
	slices.Sort(values)
	median := quantile(values, 0.5)
	bound, ok := "≥", median >= c.want
	if c.atMost {
		bound, ok = "≤", median <= c.want
	}
	word := "ok"
	if !ok {
		word = "MISSED"
	}
	kind, unit := "ratio", ""
	if c.unit != "" {
		kind, unit = "value", " "+c.unit
	}
	return fmt.Sprintf("%-30s %s %s%s [%s–%s] want %s %g%s %s", c.name, kind, digits(median), unit,
		digits(quantile(values, 0.25)), digits(quantile(values, 0.75)), bound, c.want, unit, word), ok
}

// quantile interpolates between the two nearest of the sorted values.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}

// digits prints three significant ones.
func digits(v float64) string {
	if v >= 100 {
		return strconv.FormatFloat(math.Round(v), 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// peerSite is the C program peer, on another core than a generator that is compared with plain C.
func peerSite(scheme string, args ...string) func(ctx context.Context, r *rig) (site, error) {
	return peerOn(peerCore, scheme, args...)
}

func peerOn(core int, scheme string, args ...string) func(ctx context.Context, r *rig) (site, error) {
	return func(ctx context.Context, r *rig) (site, error) {
		address, stop, err := r.peer(ctx, core, args...)
		return site{scheme + "://" + address, stop}, err
	}
}

func brokerSite(s plan.Subject) func(ctx context.Context, r *rig) (site, error) {
	return func(ctx context.Context, r *rig) (site, error) {
		url, stop, err := r.broker(ctx, s)
		return site{url, stop}, err
	}
}

// filesMissing tells whether a process may open n connections.
func filesMissing(n uint64) func(context.Context) string {
	return func(context.Context) string {
		var l unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil || l.Max < n+100 {
			return fmt.Sprintf("a process may open %d files, which %d connections exceed: raise the hard limit (ulimit -Hn)", l.Max, n)
		}
		return ""
	}
}

func missing(s plan.Subject) func(ctx context.Context) string {
	return func(ctx context.Context) string {
		if f := broker.Find(ctx, s); !f.OK {
			return f.Why
		}
		return ""
	}
}

// toolMissing tells whether a program is not installed, or fails as needs says.
func toolMissing(name string, needs func(context.Context) string) func(context.Context) string {
	return func(ctx context.Context) string {
		if _, err := exec.LookPath(name); err != nil {
			return name + " is not installed"
		}
		if needs == nil {
			return ""
		}
		return needs(ctx)
	}
}

// ringMissing tells why event loops cannot send through io_uring here.
func ringMissing(context.Context) string {
	if err := uring.Probe(); err != nil {
		return err.Error()
	}
	return ""
}

// alternate runs a and b one after the other, the order changing from round to round.
func alternate(round int, a, b func() error) error {
	if round%2 == 1 {
		a, b = b, a
	}
	if err := a(); err != nil {
		return err
	}
	return b()
}
