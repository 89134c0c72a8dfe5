//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/pprof"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mqlab/mqlab/internal/plan"
)

// childVerb makes this program a generator under test: each runs alone in a process, so that its CPU time and memory are its own.
const childVerb = "generate"

// figures are what a generator tells of itself; which ones depends on what it does.
type figures struct {
	Messages uint64        `json:"messages,omitempty"`
	CPU      time.Duration `json:"cpu_ns,omitempty"` // of the process, user and system, while Messages were handled
	Response time.Duration `json:"response_p50_ns,omitempty"`
	Kernel   time.Duration `json:"kernel_p50_ns,omitempty"` // of the response: until the bytes were at the receiving host
	Lateness time.Duration `json:"lateness_p50_ns,omitempty"`
	Memory   uint64        `json:"memory_bytes,omitempty"`    // resident, of its own
	Held     uint64        `json:"held_bytes,omitempty"`      // all that is resident, pages of the program's file included
	Peak     uint64        `json:"peak_held_bytes,omitempty"` // the most that was ever
}

// perCPUSecond is how many messages one second of CPU time buys.
func (f figures) perCPUSecond() (float64, error) {
	if f.Messages == 0 || f.CPU <= 0 {
		return 0, fmt.Errorf("nothing was measured: %+v", f)
	}
	return float64(f.Messages) / f.CPU.Seconds(), nil
}

// child is a generator: it works against the broker at url for a span.
type child func(url string, span time.Duration) (figures, error)

var children = map[string]child{
	"lab-mqtt-publish":  labPublish(plan.MQTT311, plan.Params{}),
	"lab-devices":       labDevices(devices, plan.SendRing),
	"lab-devices-few":   labDevices(fewDevices, plan.SendRing),
	"lab-devices-many":  labDevices(manyDevices, plan.SendRing),
	"lab-devices-write": labDevices(devices, plan.SendWrite),
	"lab-paced":         labPaced(plan.SendRing),
	"lab-mqtt-receive":  labReceive,
	"lab-nats-publish":  labPublish(plan.NATS, plan.Params{}),
	"lab-amqp-publish":  labPublish(plan.AMQP091, plan.Params{}),
	"lab-amqp-apart":    labPublish(plan.AMQP091, plan.Params{Writes: plan.WritesMessage}),
	"lab-amqp-devices":  labAMQPDevices,
	"lab-redis-deep":    labPublish(plan.Redis, plan.Params{QoS: 1, Window: deep}),
	"lab-redis-shallow": labPublish(plan.Redis, plan.Params{QoS: 1, Window: shallow}),
	"lab-latency":       labLatency,
	"lab-lateness":      labLateness,
	"lab-few-idle":      labIdle(fewIdle),
	"lab-many-idle":     labIdle(manyIdle),
	"lab-most-idle":     labIdle(mostIdle),
	"lab-crew-idle":     labCrew(crewIdle, crewSize),
	"lab-crowd":         labCrowd,
	"paho-mqtt-publish": pahoPublish,
	"paho-mqtt-receive": pahoReceive,
	"nats-publish":      natsPublish,
	"nats-bench":        natsBench,
	"amqp-publish":      amqpPublish,
	"amqp-devices":      amqpDevices,
	"redis-deep":        redisPublish(deep),
	"redis-shallow":     redisPublish(shallow),
}

// childMain runs the generator that args name: NAME URL SPAN [CPUPROFILE].
func childMain(args []string, _ io.Reader, out io.Writer) int {
	if err := generate(args, out); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	return 0
}

func generate(args []string, out io.Writer) error {
	if len(args) < 3 || children[args[0]] == nil {
		return fmt.Errorf("want NAME URL SPAN, not %q", args)
	}
	span, err := strconv.ParseInt(args[2], 10, 64)
	if err != nil {
		return err
	}
	if len(args) > 3 {
		f, err := os.Create(args[3])
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	f, err := children[args[0]](args[1], time.Duration(span))
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(f)
}

// run runs a generator in a process of its own.
func (r *rig) run(ctx context.Context, name, url string) (figures, error) {
	exe, err := os.Executable()
	if err != nil {
		return figures{}, err
	}
	args := []string{childVerb, name, url, strconv.FormatInt(int64(r.span), 10)}
	if r.profiles != "" {
		args = append(args, r.profiles+"/"+name+".pprof")
	}
	return r.ask(ctx, name, exe, args...)
}

// patience is how much longer than its span a generator may take.
const patience = 30 * time.Second

// ask runs a program that prints figures.
func (r *rig) ask(ctx context.Context, name, program string, args ...string) (figures, error) {
	ctx, cancel := context.WithTimeout(ctx, r.span+patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	var f figures
	if err = errors.Join(err, ctx.Err()); err == nil {
		err = json.Unmarshal(out, &f)
	}
	if err != nil {
		return f, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

// cpuTime is the user and system time of this process so far.
func cpuTime() time.Duration {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
