package diagnose

import (
	"math/rand/v2"
	"testing"
	"time"
)

// planted are messages over a way of 5 to 6 ms, each later by what extra says.
func planted(n int, every time.Duration, extra func(i int, sent time.Duration) time.Duration) *Input {
	chance := rand.New(rand.NewPCG(1, 2))
	in := &Input{Sources: []Source{Times}}
	for i := range n {
		sent := time.Duration(i) * every
		way := 5*time.Millisecond + time.Duration(chance.Int64N(int64(time.Millisecond)))
		in.Messages = append(in.Messages, Message{Sent: int64(sent), Recv: int64(sent + way + extra(i, sent))})
	}
	return in
}

// Over a way that is longer than what is slow on a host, causes are found all the same, and what has none is described.
func TestPlanted(t *testing.T) {
	const ms = time.Millisecond
	chance := rand.New(rand.NewPCG(3, 4))
	later := func(by time.Duration, when bool) time.Duration {
		if when {
			return by
		}
		return 0
	}
	for _, c := range []struct {
		name  string
		every time.Duration
		extra func(i int, sent time.Duration) time.Duration
		cause Cause
		key   string // of an evidence
	}{
		{"period", 100 * ms, func(i int, _ time.Duration) time.Duration { return later(30*ms, i%25 == 0) }, Periodic, "floor_assumed"},
		{"period, sent as far apart as an acknowledgement is delayed", 37 * ms, func(_ int, sent time.Duration) time.Duration {
			return later(60*ms, sent%(7000*ms) < 100*ms)
		}, Periodic, "floor_assumed"},
		{"delayed acknowledgement of half", 100 * ms, func(int, time.Duration) time.Duration { return later(40*ms, chance.IntN(2) == 0) }, DelayedAck, "floor_assumed"},
		{"pauses", 10 * ms, func(_ int, sent time.Duration) time.Duration {
			return max(0, 80*ms-sent%(3300*ms))
		}, Periodic, "floor_assumed"},
		{"one outlier", 100 * ms, func(i int, _ time.Duration) time.Duration { return later(900*ms, i == 1234) }, None, "single_events"},
		{"two levels", 100 * ms, func(int, time.Duration) time.Duration { return later(20*ms, chance.IntN(5) < 2) }, Unexplained, "shape_levels"},
		{"trend", 100 * ms, func(i int, _ time.Duration) time.Duration { return time.Duration(i) * ms / 50 }, Unexplained, "shape_climbs"},
		{"sawtooth", 100 * ms, func(i int, _ time.Duration) time.Duration { return time.Duration(i%50) * ms }, Unexplained, "shape_sawtooth"},
		{"step", 100 * ms, func(i int, _ time.Duration) time.Duration { return later(25*ms, i > 1100) }, Unexplained, "shape_step"},
		{"gap", 100 * ms, func(_ int, sent time.Duration) time.Duration {
			return later(57*time.Second-sent, sent >= 51*time.Second && sent < 57*time.Second)
		}, Unexplained, "shape_stood"},
		{"noise", 100 * ms, func(int, time.Duration) time.Duration { return time.Duration(chance.ExpFloat64() * float64(8*ms)) }, Unexplained, "floor_unknown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := Diagnose(planted(2000, c.every, c.extra)).Findings[0]
			if f.Cause != c.cause {
				t.Errorf("%s, want %s", f.Cause, c.cause)
			}
			var keys []string
			for _, e := range f.Evidence {
				if e.Key == c.key {
					return
				}
				keys = append(keys, e.Key)
			}
			t.Errorf("evidence %v, want %s", keys, c.key)
		})
	}
}

// Noise without a shape is given none.
func TestNoShape(t *testing.T) {
	chance := rand.New(rand.NewPCG(5, 6))
	in := planted(2000, 100*time.Millisecond, func(int, time.Duration) time.Duration {
		return time.Duration(chance.ExpFloat64() * float64(8*time.Millisecond))
	})
	if e := newSeries(in).shape(); len(e) > 0 {
		t.Errorf("%+v", e)
	}
}

// A path that is told is not assumed.
func TestFloorToldIsNotAssumed(t *testing.T) {
	in := planted(2000, 100*time.Millisecond, func(i int, _ time.Duration) time.Duration { return time.Duration(i%2) * 20 * time.Millisecond })
	in.Floor = time.Millisecond
	for _, e := range Diagnose(in).Findings[0].Evidence {
		if e.Key == "floor_assumed" || e.Key == "floor_unknown" {
			t.Errorf("%s", e.Key)
		}
	}
}

// Messages that never arrived are told, though the others were fast.
func TestNeverArrived(t *testing.T) {
	in := planted(2000, 100*time.Millisecond, func(int, time.Duration) time.Duration { return 0 })
	for i := 500; i < 560; i++ {
		in.Messages[i].Lost = true
	}
	in.Messages[900].Lost = true
	f := Diagnose(in).Findings[0]
	if got := f.In("en").Evidence; f.Cause != Lost || got[0] != "61 of 2000 messages never arrived" ||
		got[1] != "the longest row: 60 messages, sent within 5.9 s, from 50 s after the first message on" {
		t.Errorf("%s %q", f.Cause, got)
	}
}
