package link

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		p    Params
		want string // part of the error; empty = none
	}{
		{Params{}, ""},
		{Params{Loss: 1}, ""},
		{Params{Loss: 0.05, Burst: 4, Rate: 256_000, QueueBytes: 32_000, Distribution: Pareto, Order: OrderFlow}, ""},
		{Params{Mode: NetEm, Loss: 0.05, LossCorrelation: 0.25, QueuePackets: 50}, ""},
		{Params{Loss: -0.1}, "loss is -0.1"},
		{Params{Loss: math.NaN()}, "loss is NaN"},
		{Params{Duplicate: 1.5}, "duplicate is 1.5"},
		{Params{Corrupt: 2}, "corrupt is 2"},
		{Params{Correlation: 1}, "correlation is 1"},
		{Params{Delay: -1}, "delay_ns is -1"},
		{Params{Delay: 2 * time.Hour}, "delay_ns is 2h0m0s"},
		{Params{Jitter: 2 * time.Hour}, "jitter_ns"},
		{Params{Rate: -1}, "rate_bits_per_second"},
		{Params{Rate: 7}, "the lowest is 8"},
		{Params{Rate: 1 << 60}, "the highest is"},
		{Params{OverheadBytes: -1}, "overhead_bytes"},
		{Params{QueueBytes: -1}, "queue_bytes"},
		{Params{QueueBytes: 1}, "nothing ever waits"},
		{Params{Burst: 0.5}, "burst is 0.5"},
		{Params{Burst: math.NaN()}, "burst is NaN"},
		{Params{Loss: 0.9, Burst: 2}, "at most 0.667"},
		{Params{LossCorrelation: 0.1}, "mode netem only"},
		{Params{QueuePackets: 1}, "mode netem only"},
		{Params{Mode: NetEm, Rate: 100, QueueBytes: 1}, "mode physical only"},
		{Params{Mode: NetEm, Order: OrderLink}, "mode physical only"},
		{Params{Mode: NetEm, Jitter: 3 * time.Second}, "wraps beyond"},
		{Params{Mode: NetEm, Loss: 0.1, Burst: 2, LossCorrelation: 0.1}, "exclude each other"},
		{Params{Distribution: "gamma"}, `distribution is "gamma"`},
		{Params{Order: "some"}, `order is "some"`},
		{Params{Mode: "fast"}, `mode is "fast"`},
	} {
		err := c.p.Validate()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, expected %q", c.p, err, c.want)
		}
	}
}

func TestQueue(t *testing.T) {
	for _, c := range []struct {
		p              Params
		bytes, packets int
	}{
		{Params{}, 0, 0},
		{Params{Rate: 256_000}, 32_000, 0},
		{Params{Rate: 1000}, 3000, 0},
		{Params{Rate: 1000, QueueBytes: 100}, 100, 0},
		{Params{Mode: NetEm, Rate: 1000}, 0, 1000},
		{Params{Mode: NetEm, QueuePackets: 7}, 0, 7},
	} {
		if c.p.Queue() != c.bytes || c.p.QueueLimit() != c.packets {
			t.Errorf("%+v: %d bytes, %d packets", c.p, c.p.Queue(), c.p.QueueLimit())
		}
	}
}

func TestAirTime(t *testing.T) {
	if d := (Params{Rate: 256_000, OverheadBytes: 12}).AirTime(500); d != 16*time.Millisecond {
		t.Errorf("512 bytes take %v", d)
	}
	if d := (Params{}).AirTime(500); d != 0 {
		t.Errorf("without a rate %v", d)
	}
}
