//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/mqlab/mqlab/internal/agent"
	"github.com/mqlab/mqlab/internal/diagnose"
	"github.com/mqlab/mqlab/internal/link"
)

// scenario is a cause that is made to happen.
type scenario struct {
	name  string
	want  diagnose.Cause
	with  diagnose.Cause // that may be named before it, as it holds, too
	needs func(ctx context.Context) (missing string)
	run   func(ctx context.Context, l *lab, set int) (*diagnose.Result, error)
	check func(r *diagnose.Result) (why string) // what a right name must say, too; nil = nothing
}

const ms = time.Millisecond

// every is a client's schedule.
func every(interval time.Duration, seconds float64) agent.Job {
	return agent.Job{IntervalNS: int64(interval), Count: int(seconds * float64(time.Second) / float64(interval)), NoDelay: 1}
}

// intervals and payloads of the sets, where nothing else is said.
var (
	intervals = [allSets]time.Duration{10 * ms, 20 * ms, 8 * ms, 14 * ms, 25 * ms}
	payloads  = [allSets]int{256, 64, 1024, 512, 4096}
)

// healthy is a client without a fault.
func healthy(set int, seconds float64) agent.Job {
	j := every(intervals[set], seconds)
	j.PayloadBytes, j.PublishQoS, j.QoS = payloads[set], set%2, set%2
	return j
}

var scenarios = append(clientScenarios, wayScenarios...)

// clientScenarios are causes in a client library's program, its host or its broker.
var clientScenarios = []scenario{
	{name: "healthy C", want: diagnose.None, needs: agentMissing("c-libmosquitto"), run: simply("c-libmosquitto")},
	{name: "healthy Python", want: diagnose.None, needs: agentMissing("python-paho"), run: simply("python-paho")},
	{name: "healthy Go", want: diagnose.None, needs: agentMissing("go-paho3"), run: simply("go-paho3")},
	{name: "healthy Node", want: diagnose.None, needs: agentMissing("node-mqttjs"), run: simply("node-mqttjs")},

	{name: "loop and sleep", want: diagnose.LoopSleep, needs: agentMissing("c-libmosquitto"), check: periodSaid, run: func(ctx context.Context, l *lab, set int) (*diagnose.Result, error) {
		j := every(loopPeriods[set], 3)
		j.Loop, j.PublishQoS = "sleep", set%2
		in, err := l.measure(ctx, client{name: "c-libmosquitto", job: j})
		if err != nil {
			return nil, err
		}
		if set == allSets-1 { // the times alone, as a program logs them
			return fromTable(in.Messages)
		}
		return diagnose.Diagnose(in), nil
	}},
	{name: "polling every so often", want: diagnose.PollSleep, needs: agentMissing("python-paho"), run: func(ctx context.Context, l *lab, set int) (*diagnose.Result, error) {
		j := every([...]time.Duration{53 * ms, 47 * ms, 61 * ms, 44 * ms, 58 * ms}[set], 3.4)
		j.Loop, j.SleepUS = "sleep", [...]int{30_000, 25_000, 40_000, 20_000, 35_000}[set]
		return l.diagnosed(ctx, client{name: "python-paho", job: j})
	}},

	{name: "Nagle: QoS 0, then QoS 1", want: diagnose.DelayedAck, needs: agentMissing("c-libmosquitto"), run: mixed(0)},
	{name: "the same with TCP_NODELAY", want: diagnose.None, needs: agentMissing("c-libmosquitto"), run: mixed(1)},
	{name: "Nagle, in a capture", want: diagnose.DelayedAck, needs: captureMissing, run: func(ctx context.Context, l *lab, set int) (*diagnose.Result, error) {
		return l.captured(ctx, mix(set, 0))
	}},
	{name: "keepalive of a publisher", want: diagnose.KeepAlivePeriod, with: diagnose.DelayedAck, needs: agentMissing("python-paho"), run: func(ctx context.Context, l *lab, set int) (*diagnose.Result, error) {
		j := every([...]time.Duration{22 * ms, 20 * ms, 30 * ms, 27 * ms, 25 * ms}[set], 4.8) // faster ones wait for each other all the time
		j.NoDelay, j.PayloadBytes = 0, payloads[set]
		return l.diagnosed(ctx, client{name: "python-paho", job: j, oneWay: true, nagle: set%2 == 1, keepAlive: time.Second})
	}},

	{name: "blocked callback", want: diagnose.BlockedCallback, needs: agentMissing("c-libmosquitto"), run: func(ctx context.Context, l *lab, set int) (*diagnose.Result, error) {
		j := every([...]time.Duration{10 * ms, 8 * ms, 15 * ms, 10 * ms, 12 * ms}[set], 3.5)
		j.WorkNS, j.WorkEvery = int64([...]time.Duration{80 * ms, 60 * ms, 120 * ms, 45 * ms, 90 * ms}[set]), [...]int{40, 50, 30, 60, 35}[set]
		return l.diagnosed(ctx, client{name: []string{"c-libmosquitto", "python-paho"}[set%2], job: j})
	}},
	{name: "callback beyond keepalive", want: diagnose.CallbackKeepAlive, needs: agentMissing("python-paho"), run: func(ctx context.Context, l *lab, set int) (*diagnose.Result, error) {
		j := every(intervals[set], 3.5)
		j.WorkNS, j.WorkEvery = int64(1150*ms+time.Duration(set)*50*ms), j.Count*2/3
		return l.diagnosed(ctx, client{name: "python-paho", job: j, keepAlive: time.Second})
	}},
	{name: "backlog", want: diagnose.Backlog, needs: agentMissing("c-libmosquitto"), run: func(ctx context.Context, l *lab, set int) (*diagnose.Result, error) {
		interval := [...]time.Duration{10 * ms, 8 * ms, 12 * ms, 16 * ms, 20 * ms}[set]
		j := every(interval, 2.5)
		j.WorkNS = int64(float64(interval) * [...]float64{1.4, 1.2, 1.6, 1.3, 1.5}[set])
		return l.diagnosed(ctx, client{name: "c-libmosquitto", job: j})
	}},
	{name: "Python, containers retained", want: diagnose.GCPause, needs: agentMissing("python-paho"), run: func(ctx context.Context, l *lab, set int) (*diagnose.Result, error) {
		j := every([...]time.Duration{10 * ms, 10 * ms, 12 * ms, 8 * ms, 15 * ms}[set], 4)
		// A full collection waits until what is new is a quarter of what is old.
		j.Retain, j.Churn = [...]int{1_500_000, 1_000_000, 1_200_000, 800_000, 1_800_000}[set], [...]int{2000, 1500, 2000, 1000, 4000}[set]
		return l.diagnosed(ctx, client{name: "python-paho", job: j})
	}},
	{name: "memory grows", want: diagnose.MemoryGrowth, with: diagnose.CPUContention, needs: agentMissing("python-paho"), run: func(ctx context.Context, l *lab, set int) (*diagnose.Result, error) {
		j := every(intervals[set], 10)
		j.GC, j.Churn = "off", int(intervals[set]/ms)*[...]int{150, 200, 250, 300, 400}[set]
		return l.growing(ctx, client{name: "python-paho", job: j}, 3*time.Second)
	}},
	{name: "callback waits for the disk", want: diagnose.DiskWrite, needs: agentMissing("c-libmosquitto"), run: func(ctx context.Context, l *lab, set int) (*diagnose.Result, error) {
		file, err := l.diskFile()
		if err != nil {
			return nil, err
		}
		defer func() { _ = os.Remove(file) }()
		j := every([...]time.Duration{10 * ms, 12 * ms, 15 * ms, 10 * ms, 20 * ms}[set], 3.3)
		j.DiskFile, j.DiskBytes, j.WorkEvery = file, [...]int{20, 16, 24, 14, 30}[set]<<20, [...]int{60, 50, 60, 40, 50}[set]
		return l.diagnosed(ctx, client{name: "c-libmosquitto", job: j})
	}},

	{name: "hog on the client's core", want: diagnose.CPUContention, needs: priorityMissing, run: func(ctx context.Context, l *lab, set int) (*diagnose.Result, error) {
		return l.diagnosed(ctx, client{name: []string{"c-libmosquitto", "python-paho"}[set%2], job: every(intervals[set], 3), disturb: contended(busyFor[set], restFor[set], 0)})
	}},
	{name: "hog on the broker's core", want: diagnose.CPUContention, needs: priorityMissing, run: func(ctx context.Context, l *lab, set int) (*diagnose.Result, error) {
		b, err := l.ownMosquitto(ctx, "persistence false\n") // it stays on its core
		if err != nil {
			return nil, err
		}
		return l.diagnosed(ctx, client{name: "c-libmosquitto", job: every(intervals[set], 3), disturb: contended(busyFor[set], restFor[set], b.pid), on: b})
	}},
	{name: "CPU quota", want: diagnose.Throttling, needs: quotaMissing, run: func(ctx context.Context, l *lab, set int) (*diagnose.Result, error) {
		j := every(10*ms, 3.5)
		j.WorkNS, j.WorkEvery = int64([...]time.Duration{60 * ms, 50 * ms, 70 * ms, 45 * ms, 80 * ms}[set]), [...]int{40, 30, 50, 35, 45}[set]
		return l.diagnosed(ctx, client{name: "c-libmosquitto", job: j, cpus: [...]float64{0.1, 0.08, 0.12, 0.1, 0.1}[set]})
	}},
	{name: "noisy host", want: diagnose.HostNoise, with: diagnose.CPUContention, needs: agentMissing("c-libmosquitto"), run: func(ctx context.Context, l *lab, set int) (*diagnose.Result, error) {
		return l.diagnosed(ctx, client{name: "c-libmosquitto", job: every(intervals[set], 3), disturb: func(ctx context.Context, _ int) { hogs(ctx, 8+4*set) }})
	}},

	{name: "broker stands still", want: diagnose.BrokerStall, needs: agentMissing("c-libmosquitto"), run: func(ctx context.Context, l *lab, set int) (*diagnose.Result, error) {
		b, err := l.ownMosquitto(ctx, "persistence false\n")
		if err != nil {
			return nil, err
		}
		r := l.random(set)
		length := [...]time.Duration{60 * ms, 100 * ms, 150 * ms, 80 * ms, 250 * ms}[set]
		return l.diagnosed(ctx, client{name: "c-libmosquitto", job: every(intervals[set], 4), on: b, disturb: func(ctx context.Context, _ int) {
			for ctx.Err() == nil {
				once, cancel := context.WithTimeout(ctx, time.Duration(300+r.IntN(700))*ms+length+ms)
				stops(b.pid, time.Duration(300+r.IntN(400))*ms, length)(once, 0)
				cancel()
			}
		}})
	}},
	{name: "broker keeps all on disk", want: diagnose.BrokerStall, needs: agentMissing("c-libmosquitto"), run: func(ctx context.Context, l *lab, set int) (*diagnose.Result, error) {
		b, err := l.ownMosquitto(ctx, "persistence true\nautosave_interval 3600\nmax_queued_messages 0\n")
		if err != nil {
			return nil, err
		}
		if err := l.fill(ctx, b, 6000, 4<<10); err != nil { // once more in each set
			return nil, err
		}
		return l.diagnosed(ctx, client{name: "c-libmosquitto", job: every(intervals[set], 4), on: b, disturb: signals(b.pid, [...]time.Duration{700 * ms, 900 * ms, 600 * ms, 800 * ms, 1000 * ms}[set], syscall.SIGUSR1)})
	}},
	{name: "packets are lost", want: diagnose.PacketLoss, needs: tunMissing("c-libmosquitto"), run: func(ctx context.Context, l *lab, set int) (*diagnose.Result, error) {
		p := link.Params{Delay: [...]time.Duration{ms, 2 * ms, 500 * time.Microsecond, ms, 2 * ms}[set], Loss: [...]float64{0.02, 0.03, 0.02, 0.04, 0.03}[set]}
		return l.lossy(ctx, p, set, client{name: "c-libmosquitto", job: every([...]time.Duration{20 * ms, 25 * ms, 10 * ms, 30 * ms, 15 * ms}[set], 4.5)})
	}},
}

// simply measures a healthy client.
func simply(name string) func(context.Context, *lab, int) (*diagnose.Result, error) {
	return func(ctx context.Context, l *lab, set int) (*diagnose.Result, error) {
		return l.diagnosed(ctx, client{name: name, job: healthy(set, 2)})
	}
}

// mix publishes two messages at once, of QoS 0 and of QoS 1, one way. Nagle's algorithm is off in the broker and the subscriber.
func mix(set, noDelay int) client {
	j := every([...]time.Duration{60 * ms, 70 * ms, 80 * ms, 90 * ms, 100 * ms}[set], 3.3)
	j.Mix, j.NoDelay, j.PayloadBytes = 1, noDelay, payloads[set]
	return client{name: "c-libmosquitto", job: j, oneWay: true}
}

func mixed(noDelay int) func(context.Context, *lab, int) (*diagnose.Result, error) {
	return func(ctx context.Context, l *lab, set int) (*diagnose.Result, error) {
		return l.diagnosed(ctx, mix(set, noDelay))
	}
}

// busyFor and restFor are the turns of a program that takes a core.
var (
	busyFor = [allSets]time.Duration{40 * ms, 60 * ms, 30 * ms, 80 * ms, 50 * ms}
	restFor = [allSets]time.Duration{60 * ms, 80 * ms, 50 * ms, 90 * ms, 70 * ms}
)

// loopPeriods are how long a client sleeps between two turns of its loop.
var loopPeriods = [allSets]time.Duration{10 * ms, 20 * ms, 13 * ms, 16 * ms, 25 * ms}

// periodSaid: the evidence names a period of one of loopPeriods, up to what usleep takes longer.
func periodSaid(r *diagnose.Result) string {
	for i := range r.Findings {
		for _, e := range r.Findings[i].Evidence {
			if e.Key != "loop_sleep" || len(e.Args) < 2 {
				continue
			}
			said, ok := e.Args[1].(time.Duration)
			for _, p := range loopPeriods {
				if ok && said >= p && said < p+max(ms, p/10) {
					return ""
				}
			}
			return fmt.Sprintf("a period of %v", said)
		}
	}
	return "no period"
}
