//go:build linux

package jitter

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/agent"
	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/summary"
)

// stand is an embedded broker and a client in Go, which are always there.
func stand(t *testing.T) (*guard.Guard, Options) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	g, err := guard.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	i, err := broker.Start(t.Context(), plan.Subject{Broker: "mochi", Runtime: broker.Embedded, Variant: broker.AsShipped, Protocol: plan.MQTT311}, broker.Options{Guard: g})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	a, _ := agent.Named("go-paho3")
	b, err := agent.Build(t.Context(), a, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return g, Options{Client: b, Broker: i.URL, Echo: true, KeepAlive: time.Minute, Job: agent.Job{Count: 60, IntervalNS: 5e6, PayloadBytes: 256}}
}

// TestEchoElsewhere: an echo that is not the measurement's own sends all back; without one nothing comes, and that is no result.
func TestEchoElsewhere(t *testing.T) {
	g, o := stand(t)
	o.Elsewhere, o.Topics = true, Topics{"there", "back"}
	r, err := Run(t.Context(), g, o)
	if err != nil {
		t.Fatal(err)
	}
	c := R1()
	c.Count = 60
	if v := newRound(&c, 1, r); r.Sent != 60 || r.Answered != 0 || v.Validity != summary.Invalid {
		t.Errorf("without an echo: %d of %d answered, %s", r.Answered, r.Sent, v.Validity)
	}
	ctx, stop := context.WithCancel(t.Context())
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- Echo(ctx, o.Broker, "", o.Topics, func() { close(ready) }) }()
	<-ready
	if r, err = Run(t.Context(), g, o); err != nil || r.Sent != 60 || r.Answered != 60 || r.Strays != (Strays{}) {
		t.Errorf("%v: %+v", err, r)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestEverythingIsCounted: two messages at a time and a burst, each once.
func TestEverythingIsCounted(t *testing.T) {
	g, o := stand(t)
	for name, change := range map[string]func(){
		"round trip": func() { o.Job.QoS, o.Job.Mix, o.Job.Burst, o.Job.BurstAt = 1, 1, 50, 30 },
		"one way":    func() { o.OneWay = true },
	} {
		change()
		r, err := Run(t.Context(), g, o)
		if err != nil {
			t.Fatal(err)
		}
		if want := 60 * (1 + o.Job.Mix); r.Sent != want+o.Job.Burst || r.Answered != r.Sent || r.Strays.Duplicates+r.Strays.Foreign > 0 || len(r.Input.Messages) != r.Sent {
			t.Errorf("%s: %+v, want %d", name, r, want+o.Job.Burst)
		}
		c := Case{Count: 60, Mix: o.Job.Mix == 1, Burst: o.Job.Burst, Interval: 5 * time.Millisecond}
		s := newSeries(&c, r.Input)
		for i, m := range s.all {
			if i > 0 && m.Due < s.all[i-1].Due || c.inBurst(i) && m.Due != s.begin+30*o.Job.IntervalNS {
				t.Fatalf("%s: message %d was due at %d", name, i, m.Due-s.begin)
			}
		}
	}
}

// TestInterrupted: what was measured until then is kept.
func TestInterrupted(t *testing.T) {
	g, o := stand(t)
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	o.Job.Count = 100_000
	o.Disturb = func(context.Context, int) {
		<-time.After(startIn + time.Second)
		cancel(why)
	}
	r, err := Run(ctx, g, o)
	if !errors.Is(err, why) || r == nil || !r.Cut || r.Sent == 0 || r.Sent >= o.Job.Count || len(r.Input.Messages) != r.Sent {
		t.Fatalf("%v: %+v", err, r)
	}
}
