//go:build linux

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/diagnose"
)

// wayScenarios are causes on the way between a client and its broker, in what it publishes, and in clocks.
var wayScenarios = []scenario{
	{name: "Nagle twice, by a gateway", want: diagnose.DelayedAck, needs: brokerMissing("mosquitto"), check: saying("delayed_ack_80", "delayed_ack_both"), run: func(ctx context.Context, l *lab, set int) (*diagnose.Result, error) {
		p := &probe{count: 52, interval: 100*ms + time.Duration(set)*3*ms, confirm: true, split: true}
		in, err := l.over(ctx, &relay{gateway: true}, p)
		if err != nil {
			return nil, err
		}
		in.Facts.ClientNoDelay = new(false)
		return diagnose.Diagnose(in), nil
	}},
	{name: "messages are gathered", want: diagnose.Coalescing, needs: brokerMissing("mosquitto"), run: func(ctx context.Context, l *lab, set int) (*diagnose.Result, error) {
		r := l.random(set)
		mean := float64([...]time.Duration{4 * ms, 5 * ms, 3 * ms, 6 * ms, 4 * ms}[set])
		p := &probe{count: int(3.5e9 / mean), gap: func(int) time.Duration { return time.Duration(r.ExpFloat64() * mean) }}
		return l.diagnosedOver(ctx, &relay{up: gathering([...]time.Duration{25 * ms, 30 * ms, 20 * ms, 50 * ms, 33 * ms}[set])}, p) // 40 ms would be Linux's delayed acknowledgement, to all who see times only
	}},
	{name: "window full", want: diagnose.WindowFull, needs: brokerMissing("mosquitto"), run: func(ctx context.Context, l *lab, set int) (*diagnose.Result, error) {
		// Messages come in bursts, on average fewer than the window lets through.
		window, burst, way := [...]int{2, 4, 1, 8, 3}[set], [...]int{12, 20, 5, 40, 18}[set], [...]time.Duration{8 * ms, 10 * ms, 12 * ms, 9 * ms, 7 * ms}[set]
		rest := time.Duration(3*burst/window) * way
		p := &probe{window: window, count: burst * int(3500*ms/rest), gap: func(i int) time.Duration {
			if (i+1)%burst == 0 {
				return rest
			}
			return ms / 2
		}}
		return l.diagnosedOver(ctx, &relay{up: after(way / 2), down: after(way / 2)}, p)
	}},
	{name: "Wi-Fi power save", want: diagnose.PowerSave, needs: brokerMissing("mosquitto"), run: func(ctx context.Context, l *lab, set int) (*diagnose.Result, error) {
		p := &probe{interval: [...]time.Duration{17 * ms, 23 * ms, 31 * ms, 41 * ms, 13 * ms}[set]}
		p.count = int(4000 * ms / p.interval)
		return l.diagnosedOver(ctx, &relay{down: atBeacons(102_400 * time.Microsecond)}, p)
	}},
	{name: "a fixed period, of something", want: diagnose.Periodic, needs: brokerMissing("mosquitto"), run: func(ctx context.Context, l *lab, set int) (*diagnose.Result, error) {
		p := &probe{interval: intervals[set]}
		p.count = int(4500 * ms / p.interval)
		return l.diagnosedOver(ctx, &relay{up: standing([...]time.Duration{700 * ms, 850 * ms, 600 * ms, 1010 * ms, 930 * ms}[set], [...]time.Duration{50 * ms, 70 * ms, 40 * ms, 90 * ms, 60 * ms}[set])}, p)
	}},
	{name: "first messages connect", want: diagnose.Handshake, needs: brokerMissing("mosquitto"), run: func(ctx context.Context, l *lab, set int) (*diagnose.Result, error) {
		way := [...]time.Duration{30 * ms, 20 * ms, 40 * ms, 15 * ms, 50 * ms}[set]
		p := &probe{interval: way / 2, early: true, count: int(7000 * ms / way)}
		in, err := l.over(ctx, &relay{up: after(way / 2), down: after(way / 2)}, p)
		if err != nil {
			return nil, err
		}
		in.Floor = way
		return diagnose.Diagnose(in), nil
	}},
	{name: "sent late", want: diagnose.GeneratorLate, needs: brokerMissing("mosquitto"), run: func(ctx context.Context, l *lab, set int) (*diagnose.Result, error) {
		r := l.random(set)
		p := &probe{interval: intervals[set]}
		p.count = int(3500 * ms / p.interval)
		work := [...]time.Duration{60 * ms, 90 * ms, 45 * ms, 120 * ms, 150 * ms}[set]
		p.late = func(i int) time.Duration {
			if i > 10 && r.IntN(p.count/8) == 0 {
				return work
			}
			return 0
		}
		return l.diagnosedOver(ctx, &relay{}, p)
	}},
	{name: "two clocks", want: diagnose.ClockSkew, needs: brokerMissing("mosquitto"), run: func(ctx context.Context, l *lab, set int) (*diagnose.Result, error) {
		p := &probe{interval: intervals[set], skew: [...]time.Duration{-5 * ms, -40 * ms, -2 * ms, -time.Second, -10 * ms}[set]}
		p.count = int(2500 * ms / p.interval)
		in, err := l.over(ctx, &relay{}, p)
		if err != nil {
			return nil, err
		}
		return fromTable(in.Messages)
	}},
	{name: "peer gone, in a capture", want: diagnose.DeadPeer, with: diagnose.PacketLoss, needs: tunMissing("c-libmosquitto"), run: func(ctx context.Context, l *lab, set int) (*diagnose.Result, error) {
		return l.outage(ctx, 5400*ms, &probe{interval: intervals[set] * 2, count: int(6500 * ms / (intervals[set] * 2)), acks: true})
	}},
	{name: "resource alarm", want: diagnose.ResourceAlarm, needs: brokerMissing("rabbitmq"), run: func(ctx context.Context, l *lab, set int) (*diagnose.Result, error) {
		return l.alarmed(ctx, [...]time.Duration{150 * ms, 200 * ms, 250 * ms, 120 * ms, 300 * ms}[set], [...]time.Duration{600 * ms, 700 * ms, 650 * ms, 500 * ms, 800 * ms}[set], &probe{interval: intervals[set], count: int(4500 * ms / intervals[set]), acks: true})
	}},
}

// over lets a probe of ours talk to a tuned broker through a relay.
func (l *lab) over(ctx context.Context, r *relay, p *probe) (*diagnose.Input, error) {
	address, err := l.through(ctx, broker.Tuned, r)
	if err != nil {
		return nil, err
	}
	defer r.close()
	p.dial = to(address)
	return p.run(ctx)
}

func (l *lab) diagnosedOver(ctx context.Context, r *relay, p *probe) (*diagnose.Result, error) {
	in, err := l.over(ctx, r, p)
	if err != nil {
		return nil, err
	}
	return diagnose.Diagnose(in), nil
}

// saying: the evidence has one of the keys.
func saying(keys ...string) func(*diagnose.Result) string {
	return func(r *diagnose.Result) string {
		for i := range r.Findings {
			for _, e := range r.Findings[i].Evidence {
				if slices.Contains(keys, e.Key) {
					return ""
				}
			}
		}
		return fmt.Sprintf("not by %s", strings.Join(keys, " or "))
	}
}
