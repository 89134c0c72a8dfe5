//go:build unix

package agent_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mqlab/mqlab/agents/golang"
	"github.com/mqlab/mqlab/internal/agent"
	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/guard/guardtest"
	"github.com/mqlab/mqlab/internal/instrument"
	"github.com/mqlab/mqlab/internal/needs"
	"github.com/mqlab/mqlab/internal/selfsigned"
)

// TestMain lets the test program be run again as the guard, as an agent in Go, and as agents that misbehave.
func TestMain(m *testing.M) {
	guardtest.Main(m, guard.Verbs{golang.Verb: golang.Main})
}

// folder is where agents are built: the user's cache, so that they are built once.
func folder(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		return t.TempDir()
	}
	return filepath.Join(cache, "mqlab")
}

// built builds an agent. In CI what Debian packages must be there; what scripts/agents fetches may be refused by registries.
func built(t *testing.T, a agent.Agent) *agent.Built {
	t.Helper()
	b, err := agent.Build(t.Context(), a, folder(t))
	if errors.Is(err, agent.ErrMissing) && (!needs.CI() || strings.Contains(err.Error(), "scripts/agents")) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestAgents: every library gets every message once, in each QoS that it has, and what it recorded is true.
func TestAgents(t *testing.T) {
	g := guardtest.Start(t)
	for _, a := range agent.All() {
		qos := []uint8{0}
		if a.Protocol == agent.MQTT {
			qos = []uint8{0, 1, 2}
		}
		if a.Protocol == agent.AMQP091 {
			qos = []uint8{0, 1}
		}
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			b := built(t, a)
			for _, q := range qos {
				exchange(t, g, b, agent.Job{QoS: int(q)}, 200, 256)
			}
			exchange(t, g, b, agent.Job{}, 5, 1<<20)
			for _, job := range claims(a) {
				exchange(t, g, b, job, 50, 256)
			}
		})
	}
}

// claims are jobs with each option that an agent says it has.
func claims(a agent.Agent) (jobs []agent.Job) {
	o := a.Options()
	for _, c := range o.Callback {
		jobs = append(jobs, agent.Job{Callback: c, WorkNS: 1000})
	}
	for _, l := range o.Loop {
		jobs = append(jobs, agent.Job{Loop: l, SleepUS: 100})
	}
	for _, by := range o.By {
		jobs = append(jobs, agent.Job{By: by, Connections: 3})
	}
	if o.NoDelay {
		jobs = append(jobs, agent.Job{NoDelay: 1})
	}
	if o.Log {
		jobs = append(jobs, agent.Job{Log: 1})
	}
	if o.TLS {
		jobs = append(jobs, agent.Job{TLSCA: "wanted"})
	}
	if o.GC {
		for _, gc := range []string{"thresholds", "frozen", "off"} {
			jobs = append(jobs, agent.Job{GC: gc, Retain: 10})
		}
	}
	return jobs
}

// exchange sends n messages to an agent, to its connections in turn, and checks its record.
func exchange(t *testing.T, g *guard.Guard, b *agent.Built, job agent.Job, n, size int) *agent.Done {
	t.Helper()
	if lacks := b.Lacks(&job); lacks != "" {
		t.Fatalf("%+v: %s", job, lacks)
	}
	var config *tls.Config
	if job.TLSCA != "" {
		c, err := selfsigned.New(time.Hour, instrument.Host)
		if err != nil {
			t.Fatal(err)
		}
		job.TLSCA, config = filepath.Join(t.TempDir(), "ca.pem"), c.Server
		if err := os.WriteFile(job.TLSCA, c.PEM, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	broker, err := instrument.Listen(b.Protocol, config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = broker.Close() }()
	job.Host, job.Port, job.Topic, job.ClientID, job.KeepAlive, job.Capacity = instrument.Host, broker.Port(), "sensor", "mqlab", 600, n+100
	p, err := agent.Start(t.Context(), g, b, job)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Kill() }()
	var list []*instrument.Client
	for range max(job.Connections, 1) {
		client, err := broker.Accept(t.Context(), 15*time.Second)
		if err != nil {
			t.Fatal(fmt.Errorf("%+v: %w", job, err))
		}
		defer func() { _ = client.Close() }()
		list = append(list, client)
	}
	if err := p.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	sent, err := instrument.Spread(t.Context(), list, instrument.Load{Messages: n, Payload: size, QoS: uint8(job.QoS)}, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	p.Settle(t.Context(), uint64(n))
	done, samples, err := p.End(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seen := make([]bool, n)
	next := uint32(0)
	for _, r := range samples.Records {
		if r.Kind != agent.Received {
			continue
		}
		if int(r.Seq) >= n || seen[r.Seq] || r.C != uint64(size) || int64(r.A) < sent[r.Seq] || len(list) == 1 && r.Seq != next {
			t.Fatalf("%+v, %d B: record %+v, want number %d", job, size, r, next)
		}
		seen[r.Seq] = true
		next++
	}
	if int(next) != n {
		t.Errorf("%+v, %d B: %d of %d messages", job, size, next, n)
	}
	return done
}

// TestAllocations: what a program allocates is counted where it can be, each message anew.
func TestAllocations(t *testing.T) {
	g := guardtest.Start(t)
	for _, name := range []string{"c-floor", "c-libmosquitto", "cpp-paho", "python-floor"} {
		t.Run(name, func(t *testing.T) {
			a, _ := agent.Named(name)
			b, err := agent.Counting(t.Context(), built(t, a), folder(t))
			if err != nil {
				t.Fatal(err)
			}
			const n, from = 300, 100
			done := exchange(t, g, b, agent.Job{CountFrom: from}, n, 256)
			if done.Allocations == nil || done.AllocatedBytes == nil {
				t.Fatal("nothing was counted")
			}
			if each := float64(*done.Allocations) / (n - from); a.Floor && a.Language == agent.C && each > 0.1 || !a.Floor && each < 1 {
				t.Errorf("%.2f allocations for each message", each)
			}
		})
	}
	if _, err := agent.Allocator("jmalloc"); err == nil {
		t.Error("an allocator that does not exist was found")
	}
}

// TestMisbehaviour: an agent that crashes, hangs, speaks nonsense or lies is an error in words, and nothing is left of it.
func TestMisbehaviour(t *testing.T) {
	g := guardtest.Start(t)
	for name, c := range map[string]struct{ script, want string }{
		"does not start":  {"", "no such file"},
		"ends at once":    {"exit 3", "ended before it said hello"},
		"last words":      {"echo no libfoo.so >&2; exit 127", "ended before it said hello: no libfoo.so"},
		"fails":           {`read job; echo '{"event":"error","what":"no broker","code":7}'; sleep 60`, "no broker (7)"},
		"another version": {`read job; echo '{"event":"hello","protocol":9}'; sleep 60`, "version 9 of the agent protocol"},
		"nonsense":        {"read job; echo hello world; exit", "ended before it said hello: hello world"},
	} {
		t.Run(name, func(t *testing.T) {
			b := &agent.Built{Agent: agent.Agent{Name: "test"}, Command: []string{"/bin/sh", "-c", c.script}}
			if c.script == "" {
				b.Command = []string{"/nonexistent/agent"}
			}
			_, err := agent.Start(t.Context(), g, b, agent.Job{Capacity: 10})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	t.Run("lies", func(t *testing.T) {
		b := &agent.Built{Agent: agent.Agent{Name: "test"}, Command: []string{"/bin/sh", "-c", `read job; echo '{"event":"hello","protocol":1}'; read stop; echo '{"event":"done","samples":5}'`}}
		p, err := agent.Start(t.Context(), g, b, agent.Job{Capacity: 10})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := p.End(t.Context()); err == nil {
			t.Error("samples that do not exist were believed")
		}
	})
	t.Run("killed", func(t *testing.T) {
		b := &agent.Built{Agent: agent.Agent{Name: "test"}, Command: []string{"/bin/sh", "-c", `read job; echo '{"event":"hello","protocol":1}'; exec sleep 60`}}
		p, err := agent.Start(t.Context(), g, b, agent.Job{Capacity: 10})
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if err := p.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "ended before it said ready") {
			t.Errorf("%v", err)
		}
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
	})
}

// TestKilledWithAChild: an agent that is killed is noticed although a child of it keeps its output open.
func TestKilledWithAChild(t *testing.T) {
	g := guardtest.Start(t)
	b := &agent.Built{Agent: agent.Agent{Name: "test"}, Command: []string{"/bin/sh", "-c", `read job; echo '{"event":"hello","protocol":1}'; sleep 60 & wait`}}
	p, err := agent.Start(t.Context(), g, b, agent.Job{Capacity: 10})
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	err = p.Ready(t.Context())
	if err == nil || !strings.Contains(err.Error(), "ended before it said ready") {
		t.Errorf("%v", err) // and not: it did not say ready within 15 s
	}
	if err := p.Kill(); err != nil {
		t.Error(err)
	}
}

// TestMissing: what is not installed is told in one line, with the package.
func TestMissing(t *testing.T) {
	a, _ := agent.Named("python-paho")
	t.Setenv("MQLAB_PYTHON", "/nonexistent/python")
	_, err := agent.Build(t.Context(), a, t.TempDir())
	if !errors.Is(err, agent.ErrMissing) || !strings.Contains(err.Error(), "install python3-paho-mqtt") || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
}
