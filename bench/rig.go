//go:build linux

package main

import (
	"bufio"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/plan"
)

// What every claim is measured with.
const (
	smallBytes  = 64   // payload where throughput is compared
	largeBytes  = 1024 // payload where latency is compared
	latencyRate = 1000 // messages per second
	fewIdle     = 1000 // connections
	manyIdle    = 9000
	mostIdle    = 19_000 // what a limit of 20,000 open files leaves room for
	crewIdle    = 50_000 // of several processes
	crewSize    = 3
	devices     = 1000 // connections that publish in turn
	fewDevices  = 100
	manyDevices = 4000
	devicesRate = 20_000 // messages per second of all of them, where they keep a schedule; the C client has it as RATE
	carriers    = 20     // AMQP connections that publish in turn
	crowd       = 10_000
	shallow     = 64 // commands of a pipeline
	deep        = 512
	warmUp      = 200 * time.Millisecond

	devicesQuantum = time.Millisecond // the C client has it as QUANTUM_NS

	peerCore, generatorCore = 0, 1 // where a generator is compared with plain C
)

//go:embed c
var sources embed.FS

// rig holds what all measurements need: the compiled C programs, and the guard that ends what they leave.
type rig struct {
	options
	dir   string
	guard *guard.Guard
}

// newRig compiles the C programs in a temporary folder.
func newRig(ctx context.Context, o options) (*rig, error) {
	g, err := guard.Start()
	if err != nil {
		return nil, err
	}
	r := &rig{options: o, guard: g}
	if r.dir, err = g.MkdirTemp("bench"); err == nil {
		err = os.CopyFS(r.dir, sources)
	}
	for _, name := range []string{"peer", "latency", "busy"} {
		if err == nil {
			err = r.compile(ctx, name)
		}
	}
	if err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return r, nil
}

func (r *rig) compile(ctx context.Context, name string) error {
	source := filepath.Join(r.dir, "c", name+".c")
	cmd := exec.CommandContext(ctx, "cc", "-O2", "-march=native", "-Wall", "-Wextra", "-o", filepath.Join(r.dir, name), source)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cc %s: %w\n%s", name, err, out)
	}
	return nil
}

// say prints how an alternation went, if that is wanted.
func (r *rig) say(format string, args ...any) {
	if r.verbose {
		fmt.Fprintf(r.out, format+"\n", args...)
	}
}

// close ends whatever is left.
func (r *rig) close() error { return r.guard.Close() }

// peer starts the C program peer on a core and returns the address it listens on; stop ends it.
func (r *rig) peer(ctx context.Context, core int, args ...string) (address string, stop func(), err error) {
	cmd := exec.CommandContext(ctx, filepath.Join(r.dir, "peer"), args...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := onCore(core, cmd.Start); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = in.Close()
		_ = cmd.Wait()
	}
	port, err := bufio.NewReader(out).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) || port == "" {
		stop()
		return "", nil, fmt.Errorf("peer %s: did not start", strings.Join(args, " "))
	}
	return "127.0.0.1:" + strings.TrimSpace(port), stop, nil
}

// broker starts an installed broker.
func (r *rig) broker(ctx context.Context, s plan.Subject) (url string, stop func(), err error) {
	i, err := broker.Start(ctx, s, broker.Options{Guard: r.guard})
	if err != nil {
		return "", nil, err
	}
	return i.URL, func() { _ = i.Stop(context.WithoutCancel(ctx)) }, nil
}

// mosquitto is tuned: TCP_NODELAY on, nothing dropped.
var mosquitto = plan.Subject{
	Name: "mosquitto:tuned", Broker: "mosquitto", Variant: broker.Tuned, Protocol: plan.MQTT311, Runtime: broker.Process,
}

var rabbitmq = plan.Subject{
	Name: "rabbitmq/amqp091", Broker: "rabbitmq", Variant: broker.AsShipped, Protocol: plan.AMQP091, Runtime: broker.Process,
}

var redis = plan.Subject{Name: "redis", Broker: "redis", Variant: broker.AsShipped, Protocol: plan.Redis, Runtime: broker.Process}
