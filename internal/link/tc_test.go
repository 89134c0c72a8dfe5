package link

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestParseTC(t *testing.T) {
	for text, want := range map[string]Params{
		"delay 300ms 50ms loss 5% rate 256kbit":     {Mode: NetEm, Delay: 300 * time.Millisecond, Jitter: 50 * time.Millisecond, Loss: 0.05, Rate: 256_000},
		"tc qdisc add dev eth0 root netem delay 1s": {Mode: NetEm, Delay: time.Second},
		"delay 100": {Mode: NetEm, Delay: 100 * time.Microsecond},
		"delay 10ms 2ms 25% distribution normal limit 50": {Mode: NetEm, Delay: 10 * time.Millisecond, Jitter: 2 * time.Millisecond, Correlation: 0.25, Distribution: Normal, QueuePackets: 50},
		"loss 0.3% 25%":                           {Mode: NetEm, Loss: 0.003, LossCorrelation: 0.25},
		"loss random 10%":                         {Mode: NetEm, Loss: 0.1},
		"loss gemodel 1% 25%":                     {Mode: Physical, Loss: 0.01 / 0.26, Burst: 4},
		"loss gemodel 5%":                         {Mode: Physical, Loss: 0.05, Burst: 1 / 0.95},
		"rate 1mbps 14 duplicate 1% corrupt 0.1%": {Mode: NetEm, Rate: 8_000_000, OverheadBytes: 14, Duplicate: 0.01, Corrupt: 0.001},
		"rate 1Mibit":                             {Mode: NetEm, Rate: 1 << 20},
		"netem latency 5ms drop 1%":               {Mode: NetEm, Delay: 5 * time.Millisecond, Loss: 0.01},
		"tc qdisc change dev lo root handle 1: netem delay 20msec 1msec 0.5 ": {Mode: NetEm, Delay: 20 * time.Millisecond, Jitter: time.Millisecond, Correlation: 0.5},
		"delay 0.5s distribution pareto":                                      {Mode: NetEm, Delay: 500 * time.Millisecond, Distribution: Pareto},
	} {
		p, said, err := ParseTC(text)
		same := math.Abs(p.Loss-want.Loss) < 1e-12 && math.Abs(p.Burst-want.Burst) < 1e-9
		want.Loss, want.Burst = p.Loss, p.Burst
		if err != nil || p != want || !same || len(said) == 0 {
			t.Errorf("%s: %+v, %v\nwant %+v", text, p, err, want)
		}
	}
}

func TestParseTCRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "there are no options of netem",
		"tc qdisc add netem":        "there are no options of netem",
		"delays 5ms":                `"delays" is no option of netem`,
		"delay":                     `delay: no value follows it, such as 300ms, 5% or 256kbit`,
		"delay 5 parsecs":           `"parsecs" is no option`,
		"delay 5fortnights":         `delay: "5fortnights" is no time`,
		"delay 5h":                  "is no time",
		"delay 7200s":               "is too long",
		"loss 105%":                 `loss: "105%" is more than all`,
		"loss 5pct":                 "is no share",
		"loss state 1%":             `loss: "state" is not read here`,
		"loss gemodel 1% 10% 70%":   "only p and r",
		"loss gemodel 1% 0%":        "never come back",
		"rate 1kB":                  `rate: "1kB" is no rate`,
		"rate 1bit":                 "out of range",
		"rate 256kbit 10 48":        "cells are not read",
		"reorder 25% 50%":           "reorder: is not read here",
		"slot 20ms":                 "slot: is not read here",
		"duplicate 1% 25%":          "its correlation is not read",
		"limit 0":                   "limit: is a number of packets",
		"distribution experimental": `"experimental" is not known`,
		"delay 10ms 1ms 100%":       "correlation is 1",
		"delay 1e400s":              `"1e400s" is no time`,
	} {
		if _, _, err := ParseTC(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestTCSays: what surprises users is said, with the kernel's own figures.
func TestTCSays(t *testing.T) {
	for text, wants := range map[string][]string{
		"delay 300ms 50ms loss 5% rate 256kbit": {
			"one direction of one interface", "evenly from 250ms to 350ms (standard deviation 28.9ms)", "5 % of the packets are lost, each by itself",
			"At 256 kbit/s a packet of 1500 bytes takes 46.88ms", "the longer of the two, not their sum", "holds 1000 packets unless limit", "up to 46.88s of waiting",
		},
		"loss 5% 25%":                            {"not 5 % of the packets but 0.1", "counted over 1000000"},
		"loss 5% 75%":                            {"not 5 % of the packets but 0 %"},
		"delay 10ms 2ms distribution normal":     {"Delays follow normal", "overtake each other"},
		"delay 10ms limit 10":                    {"Every packet travels 10ms", "holds 10 packets (limit)"},
		"loss gemodel 1% 25%":                    {"3.85 % of the packets are lost, on average 4 in a row"},
		"duplicate 1% corrupt 0.1%":              {"1 % of the packets come twice", "checksum finds it"},
		"delay 10ms 2ms 25% distribution pareto": {"The correlation of delays is undone"},
	} {
		_, said, err := ParseTC(text)
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Join(said, "\n")
		for _, want := range wants {
			if !strings.Contains(all, want) {
				t.Errorf("%s: %q is not said:\n%s", text, want, all)
			}
		}
	}
}

// FuzzParseTC: whatever the text, what comes out is valid.
func FuzzParseTC(f *testing.F) {
	for _, s := range []string{"delay 300ms 50ms loss 5% rate 256kbit", "loss gemodel 1% 25%", "netem duplicate 1% limit 9 distribution normal", "rate 9bps 3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Count(text, "loss")+strings.Count(text, "drop") > 1 {
			return // each is counted over a million packets
		}
		p, said, err := ParseTC(text)
		if err != nil {
			return
		}
		if p.Validate() != nil || len(said) == 0 || p.Physical().Validate() != nil {
			t.Errorf("%q: %+v: %v, %v", text, p, p.Validate(), p.Physical().Validate())
		}
	})
}
