package jitter

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/diagnose"
	"github.com/mqlab/mqlab/internal/summary"
)

const ms = int64(time.Millisecond)

func TestFiguresAreExact(t *testing.T) {
	list := make([]int64, 1000)
	for i := range list {
		list[i] = int64(1000 - i) // 1 … 1000
	}
	f := figuresOf(list, 1000)
	if *f.P50 != 500 || *f.P90 != 900 || *f.P99 != 990 || f.P999 != nil || *f.Min != 1 || *f.Max != 1000 || *f.Mean != 501 || f.Arrived.Mean != 500.5 {
		t.Errorf("%+v", f.Quantiles)
	}
	if want := math.Sqrt((1000*1000 - 1) / 12.0); math.Abs(f.Arrived.Deviation-want) > 1e-9 {
		t.Errorf("deviation %v, want %v", f.Arrived.Deviation, want)
	}
	// A lost message is later than any other: of 1,000 expected and 20 lost p99 is lost, p95 is not.
	f = figuresOf(list[:980], 1000)
	if f.P99 != nil || *f.P95 != 970 || f.Max != nil || f.Mean != nil || *f.LostFrom != 0.98 || *f.HighestKnown != 1000 || f.Arrived.Max != 1000 {
		t.Errorf("with losses: %+v", f.Quantiles)
	}
	f = figuresOf(nil, 0)
	if f.Arrived != nil || f.Max != nil || f.LostFrom != nil {
		t.Errorf("of nothing: %+v", f)
	}
	if f = figuresOf(nil, 100); f.P50 != nil || *f.LostFrom != 0 || f.HighestKnown != nil {
		t.Errorf("all lost: %+v", f.Quantiles)
	}
}

func TestHistogramHoldsEverything(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	list := []int64{0, 1, 9, 10, 11, 999, 1000, 1001, math.MaxInt64 / 1000}
	for range 5000 {
		list = append(list, int64(math.Exp(rng.Float64()*25)))
	}
	bins := histogramOf(list)
	total := 0
	for i, b := range bins {
		if total += b.Count; b.To < b.From || i > 0 && bins[i-1].To != b.From {
			t.Fatalf("bin %d: %+v", i, b)
		}
		in := 0
		for _, x := range list {
			if x = max(x, 1); x >= b.From && x < b.To {
				in++
			}
		}
		if in != b.Count {
			t.Fatalf("bin %+v holds %d", b, in)
		}
	}
	if total != len(list) || bins[0].Count == 0 || bins[len(bins)-1].Count == 0 {
		t.Errorf("%d of %d, ends %d and %d", total, len(list), bins[0].Count, bins[len(bins)-1].Count)
	}
	if histogramOf(nil) != nil {
		t.Error("a histogram of nothing")
	}
}

// schedule makes the messages of a case; took says how long each takes, below zero = lost.
func schedule(c *Case, took func(seq int) int64) *diagnose.Input {
	in := &diagnose.Input{Sources: []diagnose.Source{diagnose.Times, diagnose.Schedule, diagnose.Control}}
	seq := 0
	for i := range c.Count {
		due := int64(time.Hour) + int64(i)*int64(c.Interval)
		n := 1
		if c.Burst > 0 && i == c.burstAt() {
			n += c.Burst
		}
		for range n {
			d := took(seq)
			in.Messages = append(in.Messages, diagnose.Message{Due: due, Sent: due + 1000, Recv: due + 1000 + d, Lost: d < 0})
			seq++
		}
	}
	return in
}

func TestBurst(t *testing.T) {
	c := R1()
	c.Count, c.Burst = 400, 100
	base := func(int) int64 { return ms }
	for name, x := range map[string]struct {
		took    func(seq int) int64
		recover int64 // ms; -1 = never
	}{
		"unfelt": {base, 1},
		"felt for a second": {func(seq int) int64 {
			switch {
			case seq > 200 && seq <= 300:
				return int64(seq-200) * 2 * ms // the last of the burst after 200 ms
			case seq > 300 && seq <= 310: // ten more, the last sent after 1 s
				return 50 * ms
			}
			return ms
		}, 1050},
		"never": {func(seq int) int64 {
			if seq > 200 {
				return 400 * ms
			}
			return ms
		}, -1},
		"lost after it": {func(seq int) int64 {
			if seq > 300 && seq%5 == 0 {
				return -1
			}
			return ms
		}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSeries(&c, schedule(&c, x.took))
			b := s.burst()
			if b == nil || b.Messages != 100 || b.Usual != ms || b.At != 200*int64(c.Interval) {
				t.Fatalf("%+v", b)
			}
			if (b.Recover == nil) != (x.recover < 0) || b.Recover != nil && *b.Recover != x.recover*ms {
				t.Errorf("recovered after %v, want %d ms", b.Recover, x.recover)
			}
			if n := len(s.steady()); n != 400 {
				t.Errorf("%d messages besides the burst", n)
			}
		})
	}
}

func TestTimeline(t *testing.T) {
	c := R1()
	c.Count = 1000
	slots := newSeries(&c, schedule(&c, func(seq int) int64 {
		if seq == 500 {
			return -1
		}
		return int64(seq+1) * 1000
	})).timeline()
	count, lost := 0, 0
	for i, s := range slots {
		count, lost = count+s.Count, lost+s.Lost
		if i > 0 && (s.From != slots[i-1].To || s.Min <= slots[i-1].Max) || s.Min > s.P50 || s.P50 > s.Max {
			t.Fatalf("slot %d: %+v", i, s)
		}
	}
	if count != 999 || lost != 1 || len(slots) != mostSlots {
		t.Errorf("%d came, %d lost in %d slots", count, lost, len(slots))
	}
}

// TestCutCountsNothingLost: what was under way when a round was ended is not lost; what is missing before the last answer is.
func TestCutCountsNothingLost(t *testing.T) {
	c := R1()
	c.Count = 200
	r := result(&c, func(seq int) int64 {
		if seq == 100 || seq >= 197 {
			return -1
		}
		return ms
	})
	if o := newRound(&c, 1, r); o.Counts.Lost != 4 || o.Counts.UnderWay != 0 || o.Service.Expected != 200 {
		t.Errorf("to its end: %+v", o.Counts)
	}
	r.Cut = true
	if o := newRound(&c, 1, r); o.Counts.Lost != 1 || o.Counts.UnderWay != 3 || o.Service.Expected != 197 {
		t.Errorf("cut: %+v", o.Counts)
	}
}

// result is a round whose messages took what took says.
func result(c *Case, took func(int) int64) *Result {
	in := schedule(c, took)
	r := &Result{Sent: len(in.Messages), Control: Control{Probes: 100}, Input: in}
	for _, m := range in.Messages {
		if !m.Lost {
			r.Answered++
		}
	}
	return r
}

func TestRoundsAreJudged(t *testing.T) {
	c := R1()
	c.Count = 1000
	rng := rand.New(rand.NewPCG(2, 2))
	quiet := func(int) int64 { return 300_000 + rng.Int64N(100_000) }
	spikes := func(seq int) int64 {
		if seq%50 == 7 {
			return 20 * ms
		}
		return quiet(seq)
	}
	noise := func(r *Result, part int) { // a probe that was slow beside every part-th spike
		var spans []diagnose.Span
		for seq, m := range r.Input.Messages {
			if seq%(50*part) == 7 {
				spans = append(spans, diagnose.Span{From: m.Sent, To: m.Recv})
			}
		}
		r.Input.Signals = []diagnose.Signal{{Cause: diagnose.HostNoise, Side: "host", Spans: spans}}
	}
	for name, x := range map[string]struct {
		result func() *Result
		want   summary.Validity
		code   string
	}{
		"quiet": {func() *Result { return result(&c, quiet) }, summary.Valid, ""},
		"the host is slow, too": {func() *Result {
			r := result(&c, spikes)
			noise(r, 1)
			return r
		}, summary.Invalid, "host_noise"},
		"the host is slow sometimes": {func() *Result {
			r := result(&c, spikes)
			noise(r, 3)
			return r
		}, summary.Warning, "host_noise"},
		"the client alone is slow": {func() *Result { return result(&c, spikes) }, summary.Valid, ""},
		"nothing came":             {func() *Result { return result(&c, func(int) int64 { return -1 }) }, summary.Invalid, "no_answer"},
		"nothing was sent": {func() *Result {
			return &Result{Input: &diagnose.Input{}}
		}, summary.Invalid, "nothing_sent"},
		"cut": {func() *Result {
			r := result(&c, quiet)
			r.Cut, r.Sent = true, 900
			return r
		}, summary.Warning, "interrupted"},
		"it stopped": {func() *Result {
			r := result(&c, quiet)
			r.Sent = 900
			return r
		}, summary.Invalid, "not_all_sent"},
		"records are missing": {func() *Result {
			r := result(&c, quiet)
			r.Strays.Dropped = 1
			return r
		}, summary.Invalid, "samples_dropped"},
		"no probe": {func() *Result {
			r := result(&c, quiet)
			r.Control.Probes = 0
			return r
		}, summary.Warning, "no_control"},
	} {
		t.Run(name, func(t *testing.T) {
			o := newRound(&c, 1, x.result())
			if o.Validity != x.want || (len(o.Reasons) == 0) != (x.code == "") || x.code != "" && o.Reasons[0].Code != x.code {
				t.Errorf("%s %+v, want %s %s", o.Validity, o.Reasons, x.want, x.code)
			}
		})
	}
}
