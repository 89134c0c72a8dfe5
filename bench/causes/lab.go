//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/mqlab/mqlab/internal/agent"
	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/cgroup"
	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/link/tun"
	"github.com/mqlab/mqlab/internal/netns"
	"github.com/mqlab/mqlab/internal/plan"
)

// lab is what scenarios are made with.
type lab struct {
	guard   *guard.Guard
	cache   string // folder of agents, on a disk
	seed    uint64
	agents  map[string]*agent.Built
	brokers map[string]*site
}

// site is a broker that runs.
type site struct {
	*broker.Instance        // nil for one that the broker package did not start
	url              string // mqtt://host:port
	pid              int
	stop             func(context.Context) error
}

func (s *site) address() string {
	u, err := url.Parse(s.url)
	if err != nil {
		return ""
	}
	return u.Host
}

func (s *site) port() uint16 {
	a, err := netip.ParseAddrPort(s.address())
	if err != nil {
		return 0
	}
	return a.Port()
}

func newLab(seed uint64) (*lab, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	g, err := guard.Start()
	if err != nil {
		return nil, err
	}
	return &lab{guard: g, cache: filepath.Join(cache, "mqlab"), seed: seed, agents: map[string]*agent.Built{}, brokers: map[string]*site{}}, nil
}

// random is what chance decides in a scenario's set.
func (l *lab) random(set int) *rand.Rand { return rand.New(rand.NewPCG(l.seed, uint64(set))) }

func (l *lab) close() error {
	l.release()
	return l.guard.Close()
}

// release ends all brokers.
func (l *lab) release() {
	for name, s := range l.brokers {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		_ = s.stop(ctx) // the guard ends what does not end
		cancel()
		delete(l.brokers, name)
	}
}

// agent is a client library's program.
func (l *lab) agent(ctx context.Context, name string) (*agent.Built, error) {
	if b := l.agents[name]; b != nil {
		return b, nil
	}
	a, ok := agent.Named(name)
	if !ok {
		return nil, fmt.Errorf("there is no agent %s", name)
	}
	b, err := agent.Build(ctx, a, l.cache)
	if err == nil {
		l.agents[name] = b
	}
	return b, err
}

// agentMissing tells why a client library's program cannot be had.
func agentMissing(name string) func(context.Context) string {
	return func(ctx context.Context) string {
		cache, err := os.UserCacheDir()
		if err != nil {
			return err.Error()
		}
		a, _ := agent.Named(name)
		if _, err := agent.Build(ctx, a, filepath.Join(cache, "mqlab")); err != nil {
			return err.Error()
		}
		return brokerMissing("mosquitto")(ctx)
	}
}

func subject(name, variant string) plan.Subject {
	protocol := plan.MQTT311
	if name == "rabbitmq" {
		protocol = plan.AMQP091
	}
	return plan.Subject{Broker: name, Runtime: broker.Process, Variant: variant, Protocol: protocol}
}

func brokerMissing(name string) func(context.Context) string {
	return func(ctx context.Context) string {
		if f := broker.Find(ctx, subject(name, broker.Tuned)); !f.OK {
			return f.Why
		}
		return ""
	}
}

// mosquitto is one that runs until the scenario is over: tuned has TCP_NODELAY on, shipped has it off.
func (l *lab) mosquitto(ctx context.Context, variant string) (*site, error) {
	return l.broker(ctx, variant, subject("mosquitto", variant), broker.Options{Guard: l.guard})
}

// broker starts one, or takes the one of that key that runs.
func (l *lab) broker(ctx context.Context, key string, s plan.Subject, o broker.Options) (*site, error) {
	if b := l.brokers[key]; b != nil {
		return b, nil
	}
	i, err := broker.Start(ctx, s, o)
	if err != nil {
		return nil, err
	}
	b := &site{Instance: i, url: i.URL, pid: i.PIDs[0], stop: i.Stop}
	l.brokers[key] = b
	return b, nil
}

// ownMosquitto runs one with settings that no variant has.
func (l *lab) ownMosquitto(ctx context.Context, settings string) (s *site, err error) {
	if b := l.brokers[settings]; b != nil {
		return b, nil
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := listener.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	dir, err := os.MkdirTemp(l.cache, "causes-") // a disk; the system's folder for temporary files may be none
	if err := errors.Join(err, listener.Close()); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "mosquitto.conf")
	text := "listener " + port + " 127.0.0.1\nallow_anonymous true\nuser root\nset_tcp_nodelay true\npersistence_location " + dir + "/\n" + settings
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	program, err := exec.LookPath("mosquitto")
	if err != nil {
		program = "/usr/sbin/mosquitto"
	}
	cmd := exec.Command(program, "-c", path)
	if err := l.guard.Spawn(cmd); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s = &site{url: "mqtt://" + address, pid: cmd.Process.Pid, stop: func(context.Context) error {
		err := l.guard.End(cmd.Process.Pid)
		_ = cmd.Wait()
		return errors.Join(err, os.RemoveAll(dir))
	}}
	l.brokers[settings] = s
	return s, answers(ctx, address)
}

// answers waits until somebody listens.
func answers(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for tick := time.NewTicker(10 * time.Millisecond); ; {
		conn, err := netns.Host.Dial(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return err
		}
	}
}

// startIn starts a tuned Mosquitto elsewhere.
func (l *lab) startIn(ctx context.Context, p netns.Place) (*site, error) {
	i, err := broker.Start(ctx, subject("mosquitto", broker.Tuned), broker.Options{Guard: l.guard, Place: p})
	if err != nil {
		return nil, err
	}
	return &site{Instance: i, url: i.URL, pid: i.PIDs[0], stop: i.Stop}, nil
}

// tunMissing tells why there can be no link between namespaces, or no agent.
func tunMissing(name string) func(context.Context) string {
	return func(ctx context.Context) string {
		if err := tun.Supported(); err != nil {
			return err.Error()
		}
		return agentMissing(name)(ctx)
	}
}

// quotaMissing tells why a process cannot be held to a part of a core.
func quotaMissing(ctx context.Context) string {
	g, err := cgroup.Make(fmt.Sprintf("causes-%d", os.Getpid()), cgroup.Limits{CPUs: 1}, func(string) {})
	if err != nil {
		return err.Error()
	}
	if err := g.Remove(); err != nil {
		return err.Error()
	}
	return agentMissing("c-libmosquitto")(ctx)
}

// diskFile is a new file on a disk.
func (l *lab) diskFile() (string, error) {
	f, err := os.CreateTemp(l.cache, "causes-")
	if err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}
