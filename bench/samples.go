//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// generator works against a site and tells its figures.
type generator struct {
	name string
	run  func(ctx context.Context, r *rig, s site) (figures, error)
}

// own is this program's child of a name.
func own(name string) generator {
	return generator{name, func(ctx context.Context, r *rig, s site) (figures, error) { return r.run(ctx, name, s.url) }}
}

// pinned is a generator on a core of its own.
func pinned(g generator) generator {
	return generator{g.name, func(ctx context.Context, r *rig, s site) (f figures, err error) {
		err = onCore(generatorCore, func() error {
			f, err = g.run(ctx, r, s)
			return err
		})
		return f, err
	}}
}

// toC compares a child with what the C program busy does, on the same core. more is what busy is told besides.
func toC(child, what string, more ...string) func(ctx context.Context, r *rig, s site, round int) (float64, error) {
	return against(pinned(own(child)), pinned(plain(what, more...)))
}

// devicesToC is toC of n connections that publish in turn.
func devicesToC(child, what string, n int) func(ctx context.Context, r *rig, s site, round int) (float64, error) {
	return toC(child, what, strconv.Itoa(n))
}

// plain is what the C program busy does.
func plain(what string, more ...string) generator {
	return generator{"C " + what, func(ctx context.Context, r *rig, s site) (figures, error) {
		port, err := s.port()
		if err != nil {
			return figures{}, err
		}
		args := append([]string{
			what, port, strconv.Itoa(runID), strconv.Itoa(smallBytes),
			strconv.FormatInt(int64(warmUp), 10), strconv.FormatInt(int64(r.span), 10),
		}, more...)
		return r.ask(ctx, "busy", filepath.Join(r.dir, "busy"), args...)
	}}
}

// port is where the site listens.
func (s site) port() (string, error) {
	u, err := url.Parse(s.url)
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(u.Host)
	return port, err
}

// mosquittoPub is mosquitto_pub -l, which publishes each line of its input.
var mosquittoPub = generator{"mosquitto_pub -l", func(ctx context.Context, r *rig, s site) (figures, error) {
	const perSecond = 500_000 // about what it does on one core
	port, err := s.port()
	if err != nil {
		return figures{}, err
	}
	lines := int(r.span.Seconds()*perSecond) + 1
	line := append(bytes.Repeat([]byte("x"), smallBytes), '\n')
	in := io.LimitReader(&repeated{line: line}, int64(lines*len(line)))
	return r.tool(ctx, uint64(lines), in, "mosquitto_pub", "-h", "127.0.0.1", "-p", port, "-t", topic, "-l")
}}

// repeated reads a line again and again.
type repeated struct {
	line []byte
	at   int
}

func (r *repeated) Read(b []byte) (n int, err error) {
	for n < len(b) {
		k := copy(b[n:], r.line[r.at:])
		n, r.at = n+k, (r.at+k)%len(r.line)
	}
	return n, nil
}

// redisBenchmark is redis-benchmark with one connection and pipelines of so many commands.
func redisBenchmark(depth int) generator {
	return generator{"redis-benchmark", func(ctx context.Context, r *rig, s site) (figures, error) {
		const perSecond = 1_000_000
		port, err := s.port()
		if err != nil {
			return figures{}, err
		}
		n := int(r.span.Seconds()*perSecond) + 1
		return r.tool(ctx, uint64(n), nil, "redis-benchmark", "-h", "127.0.0.1", "-p", port, "-c", "1", "-P", strconv.Itoa(depth),
			"-n", strconv.Itoa(n), "-q", "PUBLISH", topic, string(bytes.Repeat([]byte("x"), smallBytes)))
	}}
}

// tool runs somebody else's generator of so many messages. Its CPU time is that of its whole life, the start included.
func (r *rig) tool(ctx context.Context, messages uint64, in io.Reader, name string, args ...string) (figures, error) {
	ctx, cancel := context.WithTimeout(ctx, r.span+patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin, cmd.Stderr = in, os.Stderr
	if err := cmd.Run(); err != nil {
		return figures{}, fmt.Errorf("%s: %w", name, err)
	}
	return figures{Messages: messages, CPU: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}, nil
}

// perCPU compares two of this program's children.
func perCPU(lab, library string) func(ctx context.Context, r *rig, s site, round int) (float64, error) {
	return against(own(lab), own(library))
}

// against compares two generators by messages per CPU second of their own process.
func against(lab, other generator) func(ctx context.Context, r *rig, s site, round int) (float64, error) {
	return func(ctx context.Context, r *rig, s site, round int) (float64, error) {
		speed := func(g generator, into *float64) func() error {
			return func() error {
				f, err := g.run(ctx, r, s)
				if err != nil {
					return err
				}
				*into, err = f.perCPUSecond()
				return err
			}
		}
		var ours, theirs float64
		err := alternate(round, speed(lab, &ours), speed(other, &theirs))
		r.say("  %s: %.3g M, %s: %.3g M messages per CPU second", lab.name, ours/1e6, other.name, theirs/1e6)
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

// heldMemory is what a child's process with idle connections holds.
func heldMemory(child string) func(ctx context.Context, r *rig, s site, _ int) (float64, error) {
	return func(ctx context.Context, r *rig, s site, _ int) (float64, error) {
		const mib = 1 << 20
		f, err := r.run(ctx, child, s.url)
		r.say("  %.1f MiB resident, %.1f MiB of it its own; %.1f MiB at most while connecting", float64(f.Held)/mib, float64(f.Memory)/mib, float64(f.Peak)/mib)
		return float64(f.Held) / mib, err
	}
}

// lateness is how late a child's messages left, in microseconds.
func lateness(child string) func(ctx context.Context, r *rig, s site, _ int) (float64, error) {
	return func(ctx context.Context, r *rig, s site, _ int) (float64, error) {
		f, err := r.run(ctx, child, s.url)
		return float64(f.Lateness) / 1e3, err
	}
}

// latencyToC compares a median time with that of the C client, through the same broker.
func latencyToC(of func(figures) time.Duration) func(ctx context.Context, r *rig, s site, round int) (float64, error) {
	return func(ctx context.Context, r *rig, s site, round int) (float64, error) {
		port, err := s.port()
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
		r.say("  lab: %v (kernel %v, late %v), C: %v (kernel %v, late %v)",
			ours.Response, ours.Kernel, ours.Lateness, plain.Response, plain.Kernel, plain.Lateness)
		return float64(of(ours)) / float64(of(plain)), err
	}
}
