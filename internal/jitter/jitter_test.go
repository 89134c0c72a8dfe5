//go:build linux

package jitter

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mqlab/mqlab/agents/golang"
	"github.com/mqlab/mqlab/internal/agent"
	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/broker/brokertest"
	"github.com/mqlab/mqlab/internal/diagnose"
	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/guard/guardtest"
	"github.com/mqlab/mqlab/internal/needs"
	"github.com/mqlab/mqlab/internal/plan"
)

// TestMain lets the test program be run again as the guard, a broker, and an agent in Go.
func TestMain(m *testing.M) {
	guardtest.Main(m, guard.Verbs{
		golang.Verb: golang.Main,
		broker.Verb: broker.Main,
	})
}

// TestCauses: cases of R1, live, against a real broker: every message is accounted for, and causes whose mark no noise of the host can
// hide are named. bench/causes judges all of them, on a quiet machine.
func TestCauses(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	g := guardtest.Start(t)
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		client, variant string
		job             agent.Job
		echo, oneWay    bool
		keepAlive       time.Duration
		disturb         func(context.Context, int)
		want            diagnose.Cause // "" = depends on what else this machine does
	}{
		"loop and sleep":   {client: "c-libmosquitto", variant: broker.Tuned, echo: true, job: agent.Job{Loop: "sleep", NoDelay: 1}, want: diagnose.LoopSleep},
		"Nagle":            {client: "c-libmosquitto", variant: broker.Tuned, oneWay: true, job: agent.Job{Mix: 1, IntervalNS: 50e6, Count: 80}},
		"healthy thread":   {client: "c-libmosquitto", variant: broker.Tuned, echo: true, job: agent.Job{NoDelay: 1}},
		"healthy Python":   {client: "python-paho", variant: broker.Tuned, echo: true, job: agent.Job{NoDelay: 1}},
		"healthy Go":       {client: "go-paho3", variant: broker.Tuned, echo: true},
		"blocked callback": {client: "c-libmosquitto", variant: broker.Tuned, echo: true, job: agent.Job{NoDelay: 1, WorkNS: 80e6, WorkEvery: 40}},
		"backlog":          {client: "c-libmosquitto", variant: broker.Tuned, echo: true, job: agent.Job{NoDelay: 1, WorkNS: 14e6}, want: diagnose.Backlog},
		"collections":      {client: "python-paho", variant: broker.Tuned, echo: true, job: agent.Job{NoDelay: 1, Retain: 1_500_000, Churn: 700, Count: 600}},
		"CPU":              {client: "c-libmosquitto", variant: broker.Tuned, echo: true, job: agent.Job{NoDelay: 1}, disturb: hog},
	} {
		t.Run(name, func(t *testing.T) {
			a, _ := agent.Named(c.client)
			b, err := agent.Build(t.Context(), a, filepath.Join(cache, "mqlab"))
			if errors.Is(err, agent.ErrMissing) && !needs.CI() {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			r := measure(t, g, b, c.variant, Options{Job: c.job, Echo: c.echo, OneWay: c.oneWay, KeepAlive: c.keepAlive, Disturb: c.disturb})
			d := diagnose.Diagnose(r.Input)
			if c.want != "" && d.Verdict() != c.want {
				t.Errorf("%s, want %s: %+v", d.Verdict(), c.want, d.In("en").Findings)
			}
			t.Logf("%d of %d answered, p50 %v, p99 %v: %s", r.Answered, r.Sent, time.Duration(d.P50), time.Duration(d.P99), d.Verdict())
			if r.Sent == 0 || r.Answered < r.Sent*9/10 {
				t.Errorf("%d of %d answered", r.Answered, r.Sent)
			}
		})
	}
}

// hog takes the core that the client is on, and holds the client there.
func hog(ctx context.Context, pid int) {
	var set unix.CPUSet
	set.Set(0)
	tasks, _ := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	for _, task := range tasks {
		if thread, err := strconv.Atoi(task.Name()); err == nil {
			_ = unix.SchedSetaffinity(thread, &set)
		}
	}
	for range 3 {
		cmd := exec.CommandContext(ctx, "taskset", "-c", "0", "sh", "-c", "while :; do :; done")
		if cmd.Start() == nil {
			defer func() { _ = cmd.Wait() }()
		}
	}
	<-ctx.Done()
}

func measure(t *testing.T, g *guard.Guard, b *agent.Built, variant string, o Options) *Result {
	t.Helper()
	s := plan.Subject{Broker: "mosquitto", Runtime: broker.Process, Variant: variant, Protocol: plan.MQTT311}
	brokertest.Need(t, s)
	i, err := broker.Start(t.Context(), s, broker.Options{Guard: g})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := i.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	o.Client, o.Broker, o.BrokerPID, o.Job.PayloadBytes = b, i.URL, i.PIDs[0], 256
	o.Job.Count, o.Job.IntervalNS = cmp.Or(o.Job.Count, 250), cmp.Or(o.Job.IntervalNS, 10e6)
	r, err := Run(t.Context(), g, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
