//go:build linux

package main

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/mqlab/mqlab/internal/broker"
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

var claims = []claim{
	{
		name: "mqtt publish / paho", want: 25,
		setUp: peerSite("mqtt", "drain", "mqtt"), sample: perCPU("lab-mqtt-publish", "paho-mqtt-publish"),
	},
	{
		name: "mqtt receive / paho", want: 30,
		setUp:  peerSite("mqtt", "blast", strconv.Itoa(runID), strconv.Itoa(smallBytes)),
		sample: perCPU("lab-mqtt-receive", "paho-mqtt-receive"),
	},
	{
		name: "nats publish / nats.go", want: 2,
		setUp: peerSite("nats", "drain", "nats"), sample: perCPU("lab-nats-publish", "nats-publish"),
	},
	{
		name: "amqp publish / amqp091-go", want: 50,
		setUp: peerSite("amqp", "drain", "amqp"), sample: perCPU("lab-amqp-publish", "amqp-publish"),
	},
	{ // what is left of it where the lab, too, writes every message by itself: the kernel takes four fifths of the lab's time
		name: "amqp one message a write", want: 3,
		needs: missing(rabbitmq), setUp: brokerSite(rabbitmq), sample: perCPU("lab-amqp-apart", "amqp-publish"),
	},
	{
		name: "redis deep / go-redis", want: 3,
		needs: missing(redis), setUp: brokerSite(redis), sample: perCPU("lab-redis-deep", "redis-deep"),
	},
	{ // both wait for the server after every few messages, which costs both the same
		name: "redis shallow / go-redis", want: 1.5,
		needs: missing(redis), setUp: brokerSite(redis), sample: perCPU("lab-redis-shallow", "redis-shallow"),
	},
	{
		name: "idle mqtt connection", unit: "B", want: 512, atMost: true,
		needs: filesMissing, setUp: peerSite("mqtt", "drain", "mqtt"), sample: idleMemory,
	},
	{
		name: "response p50 / C", want: 1.3, atMost: true,
		needs: missing(mosquitto), setUp: brokerSite(mosquitto), sample: responseToC,
	},
	{
		name: "lateness p50", unit: "µs", want: 5, atMost: true,
		setUp: peerSite("mqtt", "drain", "mqtt"), sample: lateness,
	},
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
	return fmt.Sprintf("%-26s %s %s%s [%s–%s] want %s %g%s %s", c.name, kind, digits(median), unit,
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

func peerSite(scheme string, args ...string) func(ctx context.Context, r *rig) (site, error) {
	return func(ctx context.Context, r *rig) (site, error) {
		address, stop, err := r.peer(ctx, args...)
		return site{scheme + "://" + address, stop}, err
	}
}

func brokerSite(s plan.Subject) func(ctx context.Context, r *rig) (site, error) {
	return func(ctx context.Context, r *rig) (site, error) {
		url, stop, err := r.broker(ctx, s)
		return site{url, stop}, err
	}
}

// filesMissing tells whether a process may open as many connections as wanted.
func filesMissing(context.Context) string {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil || l.Max < manyIdle+100 {
		return fmt.Sprintf("a process may open %d files, which %d connections exceed: raise the hard limit (ulimit -Hn)", l.Max, manyIdle)
	}
	return ""
}

func missing(s plan.Subject) func(ctx context.Context) string {
	return func(ctx context.Context) string {
		if f := broker.Find(ctx, s); !f.OK {
			return f.Why
		}
		return ""
	}
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

// perCPU compares two generators by messages per CPU second of their own process.
func perCPU(lab, library string) func(ctx context.Context, r *rig, s site, round int) (float64, error) {
	return func(ctx context.Context, r *rig, s site, round int) (float64, error) {
		speed := func(name string, into *float64) func() error {
			return func() error {
				f, err := r.run(ctx, name, s.url)
				if err != nil {
					return err
				}
				*into, err = f.perCPUSecond()
				return err
			}
		}
		var ours, theirs float64
		err := alternate(round, speed(lab, &ours), speed(library, &theirs))
		r.say("  %s: %.3g M, %s: %.3g M messages per CPU second", lab, ours/1e6, library, theirs/1e6)
		return ours / theirs, err
	}
}

// idleMemory is what each further idle connection adds to the generator's memory.
func idleMemory(ctx context.Context, r *rig, s site, round int) (float64, error) {
	var few, many figures
	err := alternate(round,
		func() (err error) {
			few, err = r.run(ctx, "lab-few-idle", s.url)
			return err
		},
		func() (err error) {
			many, err = r.run(ctx, "lab-many-idle", s.url)
			return err
		})
	r.say("  %d connections: %d kB, %d: %d kB", fewIdle, few.Memory>>10, manyIdle, many.Memory>>10)
	return (float64(many.Memory) - float64(few.Memory)) / (manyIdle - fewIdle), err
}

func lateness(ctx context.Context, r *rig, s site, _ int) (float64, error) {
	f, err := r.run(ctx, "lab-lateness", s.url)
	return float64(f.Lateness) / 1e3, err
}

// responseToC compares the median response time with that of the C client, through the same broker.
func responseToC(ctx context.Context, r *rig, s site, round int) (float64, error) {
	u, err := url.Parse(s.url)
	if err != nil {
		return 0, err
	}
	_, port, err := net.SplitHostPort(u.Host)
	if err != nil {
		return 0, err
	}
	var ours, plain figures
	err = alternate(round,
		func() error {
			ours, err = r.run(ctx, "lab-latency", s.url)
			return err
		},
		func() error {
			plain, err = r.ask(ctx, "latency", filepath.Join(r.dir, "latency"), port, strconv.Itoa(runID), strconv.Itoa(largeBytes),
				strconv.Itoa(latencyRate), strconv.FormatInt(int64(warmUp), 10), strconv.FormatInt(int64(r.span), 10))
			return err
		})
	r.say("  lab: %v (late %v), C: %v (late %v)", ours.Response, ours.Lateness, plain.Response, plain.Lateness)
	return float64(ours.Response) / float64(plain.Response), err
}
