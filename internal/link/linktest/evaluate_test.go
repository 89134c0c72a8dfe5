package linktest

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/link"
)

// through sends n packets through a machine in virtual time, one each gap, and returns the delays by number, and what arrived.
func through(p link.Params, seed uint64, n, size int, gap time.Duration) (delays []time.Duration, got []arrival) {
	m := link.New(p, seed)
	for range n {
		delays = append(delays, missing)
	}
	out := func(until int64) {
		for at, ok := m.Next(); ok && at <= until; at, ok = m.Next() {
			b, _ := m.Pop(at)
			i := int64(binary.BigEndian.Uint32(b))
			delays[i] = time.Duration(at - i*int64(gap))
			got = append(got, arrival{at, delays[i], float64(size+p.OverheadBytes) * 8})
		}
	}
	b := make([]byte, size)
	for i := range n {
		now := int64(i) * int64(gap)
		out(now)
		binary.BigEndian.PutUint32(b, uint32(i))
		m.Push(now, b, 0)
	}
	out(1 << 62)
	return delays, got
}

// problems are the checks that do not pass.
func problems(checks []Check) string {
	var all []string
	for _, c := range checks {
		if !c.Pass {
			all = append(all, c.What)
		}
	}
	return strings.Join(all, " ")
}

// TestEveryProfilePassesInVirtualTime: what a machine does is what it was told, by the judgement of this package.
func TestEveryProfilePassesInVirtualTime(t *testing.T) {
	for _, profile := range link.Profiles() {
		for _, way := range []link.Direction{link.Up, link.Down} {
			p := profile.Params(way)
			delays, _ := through(travelOnly(p), 7, 6000, 100, time.Millisecond)
			checks := append(checkDelays(way, travelOnly(p), Strict, delays), checkLosses(way, p, delays)...)
			if p.Rate > 0 {
				full := rateOnly(p)
				const lasts = 4 * time.Second
				size := floodSize(full, lasts)
				n := int(float64(lasts)/float64(full.AirTime(size))*over) + full.Queue()/size
				_, got := through(full, 7, n, size, time.Duration(float64(full.AirTime(size))/3))
				rated := checkRate(way, full, Strict, got)
				if len(rated) != 2 {
					t.Errorf("%s %s: the rate is not checked", profile.Name, way)
				}
				checks = append(checks, rated...)
			}
			if bad := problems(checks); bad != "" {
				t.Errorf("%s %s: %s: %+v", profile.Name, way, bad, checks)
			}
		}
	}
}

// TestWrongLinksFail: each figure that is not as configured is found, and nothing else.
func TestWrongLinksFail(t *testing.T) {
	want := link.Params{Delay: 300 * time.Millisecond, Jitter: 50 * time.Millisecond, Loss: 0.05, Burst: 4}
	for _, c := range []struct {
		name   string
		change func(*link.Params)
		bad    string
	}{
		{"as configured", func(*link.Params) {}, ""},
		{"delay", func(p *link.Params) { p.Delay += 4 * time.Millisecond }, Delay},
		{"jitter", func(p *link.Params) { p.Jitter += 4 * time.Millisecond }, Deviation},
		{"distribution", func(p *link.Params) { p.Distribution = link.Normal }, Deviation},
		{"loss", func(p *link.Params) { p.Loss = 0.1 }, Loss},
		{"no loss", func(p *link.Params) { p.Loss, p.Burst = 0, 0 }, Loss},
		{"burst", func(p *link.Params) { p.Burst = 2 }, Burst},
	} {
		given := want
		c.change(&given)
		delays, _ := through(given, 7, 6000, 100, time.Millisecond)
		checks := append(checkDelays(link.Up, want, Strict, delays), checkLosses(link.Up, want, delays)...)
		if bad := problems(checks); bad != c.bad {
			t.Errorf("%s: %q does not pass, expected %q: %+v", c.name, bad, c.bad, checks)
		}
	}
}

func TestWrongRatesFail(t *testing.T) {
	want := link.Params{Rate: 256_000, QueueBytes: 32_000}
	for _, c := range []struct {
		name  string
		given link.Params
		bad   string
	}{
		{"as configured", want, ""},
		{"rate", link.Params{Rate: 262_000, QueueBytes: 32_750}, Rate},
		{"queue", link.Params{Rate: 256_000, QueueBytes: 16_000}, Queue},
		{"overhead not asked for", link.Params{Rate: 256_000, QueueBytes: 32_000, OverheadBytes: 38}, Rate},
	} {
		_, got := through(c.given, 7, 200, 1500, want.AirTime(1500)/2)
		for i := range got {
			got[i].bits = 1500 * 8
		}
		if bad := problems(checkRate(link.Up, want, Strict, got)); bad != c.bad {
			t.Errorf("%s: %q does not pass, expected %q", c.name, bad, c.bad)
		}
	}
	if checks := checkRate(link.Up, want, Strict, make([]arrival, enough-1)); checks != nil {
		t.Errorf("too few packets give %+v", checks)
	}
	if bad := problems(checkRate(link.Up, want, Strict, make([]arrival, 10))); !strings.Contains(bad, Rate) {
		t.Errorf("all at once: %q does not pass", bad)
	}
}

// TestIntervalsCover: of a hundred links as configured, some 95 intervals have the truth in them.
func TestIntervalsCover(t *testing.T) {
	for _, p := range []link.Params{
		{Delay: 300 * time.Millisecond, Jitter: 50 * time.Millisecond, Loss: 0.05, Burst: 4},
		{Delay: 300 * time.Millisecond, Jitter: 50 * time.Millisecond, Loss: 0.1, Distribution: link.Normal, Correlation: 0.5},
	} {
		in := map[string]int{}
		const links = 100
		for seed := range uint64(links) {
			delays, _ := through(p, seed, 4000, 100, time.Millisecond)
			for _, c := range append(checkDelays(link.Up, p, Strict, delays), checkLosses(link.Up, p, delays)...) {
				if c.Interval.Low <= c.Configured && c.Configured <= c.Interval.High {
					in[c.What]++
				}
			}
		}
		for _, what := range []string{Delay, Deviation, Loss, Burst} {
			if in[what] < 88 {
				t.Errorf("%+v: %d of %d intervals of the %s cover it", p, in[what], links, what)
			}
		}
	}
}

func TestJudge(t *testing.T) {
	profile := link.Profile{Up: link.Params{Delay: 300 * time.Millisecond}, Down: link.Params{Delay: 300 * time.Millisecond}}
	fine := Check{Direction: "up", What: Loss, Configured: 0.05, Achieved: 0.0512, Pass: true}
	for _, c := range []struct {
		name string
		r    Report
		why  string
	}{
		{"fine", Report{Checks: []Check{fine}, Late: link.Lateness{P99: 14 * time.Millisecond}}, ""},
		{"a figure", Report{Checks: []Check{fine, {Direction: "down", What: Rate, Configured: 256_000, Achieved: 300_123}}}, "[down rate is 300.12 kbit/s, configured 256 kbit/s]"},
		{"overrun", Report{Checks: []Check{fine}, Overrun: 3}, "[the emulator was too slow for 3 packets]"},
		{"late", Report{Checks: []Check{fine}, Late: link.Lateness{P99: 16 * time.Millisecond}}, "[packets were up to 16ms late (99th percentile), more than 15ms]"},
		{"nothing", Report{}, "[nothing could be checked]"},
	} {
		c.r.judge(profile)
		if got := fmt.Sprint(c.r.Why); c.r.Pass != (c.why == "") || c.why != "" && got != c.why {
			t.Errorf("%s: pass %v, because %s", c.name, c.r.Pass, got)
		}
	}
	for what, want := range map[string]string{Loss: "5 %", Burst: "0.05 packets", Delay: "5e-08 ms"} {
		if got := figure(what, 0.05); got != want {
			t.Errorf("%s: %s", what, got)
		}
	}
}
