package engine

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// dues walks a schedule of all publishers and returns every due time in order.
func dues(s Schedule, seed uint64) []int64 {
	var all []int64
	for i := range s.Publishers {
		p := NewPacer(s, i, seed)
		last := int64(-1)
		for {
			due, ok := p.Next()
			if !ok {
				break
			}
			if due < last {
				panic("due times go backwards")
			}
			last = due
			all = append(all, due)
		}
	}
	slices.Sort(all)
	return all
}

func within(from, to time.Duration, all []int64) (n int) {
	for _, d := range all {
		if d >= int64(from) && d < int64(to) {
			n++
		}
	}
	return n
}

func TestConstantScheduleKeepsItsRateWithoutDrift(t *testing.T) {
	const hour = time.Hour
	s := Schedule{RatePerS: 100, End: hour, Publishers: 7}
	all := dues(s, 1)
	if len(all) < 360_000-7 || len(all) > 360_000+7 {
		t.Fatalf("%d messages in an hour at 100/s", len(all))
	}
	p := NewPacer(Schedule{RatePerS: 1000, End: hour, Publishers: 1}, 0, 3)
	first, _ := p.Next()
	var last int64
	n := int64(1)
	for due, ok := p.Next(); ok; due, ok = p.Next() {
		last = due
		n++
	}
	if drift := last - first - (n-1)*int64(time.Millisecond); drift < -1 || drift > 1 {
		t.Errorf("after %d messages the schedule is off by %d ns", n, drift)
	}
}

func TestPublishersHaveDifferentPhases(t *testing.T) {
	s := Schedule{RatePerS: 10, End: time.Second, Publishers: 10}
	seen := map[int64]bool{}
	for i := range 10 {
		p := NewPacer(s, i, 5)
		due, _ := p.Next()
		if due < 0 || due >= int64(time.Second) {
			t.Errorf("first message of publisher %d is due at %d", i, due)
		}
		seen[due] = true
	}
	if len(seen) != 10 {
		t.Errorf("only %d different phases among 10 publishers", len(seen))
	}
}

func TestSameSeedSameSchedule(t *testing.T) {
	for _, s := range []Schedule{
		{RatePerS: 500, End: time.Second, Publishers: 3},
		{RatePerS: 500, Poisson: true, End: time.Second, Publishers: 3},
	} {
		if !slices.Equal(dues(s, 9), dues(s, 9)) {
			t.Errorf("%+v: two walks differ", s)
		}
		if slices.Equal(dues(s, 9), dues(s, 10)) {
			t.Errorf("%+v: another seed changes nothing", s)
		}
	}
}

func TestPoissonGapsAreExponential(t *testing.T) {
	const rate = 1000.0
	all := dues(Schedule{RatePerS: rate, Poisson: true, End: 100 * time.Second, Publishers: 1}, 4)
	n := float64(len(all))
	if math.Abs(n-100*rate) > 5*math.Sqrt(100*rate) {
		t.Errorf("%v arrivals, want about %v", n, 100*rate)
	}
	var sum, squares float64
	for i := 1; i < len(all); i++ {
		gap := float64(all[i]-all[i-1]) / 1e9 * rate
		sum += gap
		squares += gap * gap
	}
	mean := sum / (n - 1)
	if variance := squares/(n-1) - mean*mean; math.Abs(mean-1) > 0.02 || math.Abs(variance-1) > 0.05 {
		t.Errorf("gaps have mean %.3f and variance %.3f, want 1 and 1", mean, variance)
	}
}

func TestRampIsLinear(t *testing.T) {
	s := Schedule{RatePerS: 100, RampTo: 300, RampFrom: time.Second, End: 11 * time.Second, Publishers: 4}
	all := dues(s, 2)
	for _, c := range []struct {
		from, to time.Duration
		want     int
	}{
		{0, time.Second, 100},
		{time.Second, 2 * time.Second, 110},       // mean of 100 and 120
		{6 * time.Second, 7 * time.Second, 210},   // mean of 200 and 220
		{10 * time.Second, 11 * time.Second, 290}, // mean of 280 and 300
	} {
		if n := within(c.from, c.to, all); n < c.want-4 || n > c.want+4 {
			t.Errorf("%v–%v: %d messages, want %d ± 4", c.from, c.to, n, c.want)
		}
	}
	down := dues(Schedule{RatePerS: 300, RampTo: 100, End: 10 * time.Second, Publishers: 1}, 2)
	if n := len(down); n < 1999 || n > 2001 {
		t.Errorf("falling ramp: %d messages, want 2000", n)
	}
}

func TestBurstComesOnTop(t *testing.T) {
	s := Schedule{RatePerS: 10, RampFrom: time.Second, End: 4 * time.Second, Burst: 100, BurstGap: time.Second, Publishers: 3}
	all := dues(s, 8)
	for _, at := range []time.Duration{2 * time.Second, 3 * time.Second} {
		if n := within(at, at+1, all); n != 100 {
			t.Errorf("%d messages at %v, want 100", n, at)
		}
	}
	if n := len(all) - 200; n < 37 || n > 43 {
		t.Errorf("%d messages besides the bursts, want about 40", n)
	}
}

func TestTimersGiveClientsInOrder(t *testing.T) {
	clients := make([]client, 200)
	h := timers{clients: &clients}
	for i := range clients {
		clients[i] = client{id: int32(i), slot: -1, at: math.MaxInt64}
		h.set(&clients[i], int64((i*7919)%199))
	}
	for i := range clients {
		if i%3 == 0 {
			h.set(&clients[i], math.MaxInt64)
		}
		if i%3 == 1 {
			h.set(&clients[i], int64((i*104729)%211))
		}
	}
	last, n := int64(math.MinInt64), 0
	for h.next() < math.MaxInt64 {
		for _, cl := range h.popDue(h.next(), nil) {
			if cl.at < last || cl.id%3 == 0 {
				t.Fatalf("client %d at %d after %d", cl.id, cl.at, last)
			}
			last = cl.at
			n++
		}
	}
	if want := 200 - 67; n != want {
		t.Errorf("%d clients came out, want %d", n, want)
	}
}

// Whatever deadlines are set, and of whom, clients come out in order, each once, with the deadline that was set last.
func TestTimersAgreeWithAModel(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 3))
		n := 1 + rng.IntN(60)
		clients, model := make([]client, n), make([]int64, n)
		h := timers{clients: &clients}
		for i := range clients {
			clients[i] = client{id: int32(i), slot: nowhere, at: math.MaxInt64}
			if rng.IntN(4) > 0 {
				clients[i].pub = &publisher{}
			}
			model[i] = math.MaxInt64
		}
		set := func(i int, at int64) {
			h.set(&clients[i], at)
			model[i] = at
		}
		now, period := int64(0), int64(1+rng.IntN(50))
		for range 400 {
			switch rng.IntN(8) {
			case 0:
				set(rng.IntN(n), math.MaxInt64)
			case 1:
				set(rng.IntN(n), math.MinInt64)
			case 2, 3:
				set(rng.IntN(n), now+int64(rng.IntN(1000)))
			}
			if next := h.next(); next != slices.Min(model) {
				t.Fatalf("seed %d: next %d, not %d", seed, next, slices.Min(model))
			}
			now += int64(rng.IntN(20))
			last := int64(math.MinInt64)
			due := h.popDue(now, nil)
			for _, cl := range due {
				if cl.at < last || cl.at > now || model[cl.id] != cl.at || cl.slot != nowhere {
					t.Fatalf("seed %d: client %d at %d after %d, want it at %d", seed, cl.id, cl.at, last, model[cl.id])
				}
				last, model[cl.id] = cl.at, math.MaxInt64
			}
			if len(due) < turn && slices.Min(model) <= now {
				t.Fatalf("seed %d: one at %d is left at %d", seed, slices.Min(model), now)
			}
			for _, cl := range due {
				set(int(cl.id), now+period)
			}
		}
	}
}

func TestWindowsEndAtWholeSecondsAndAtTheEnd(t *testing.T) {
	const s = int64(time.Second)
	r := recorder{measure: 10 * s, end: 12*s + s/2}
	for _, c := range []struct{ at, want int64 }{
		{9*s + 300_000_000, 10 * s},
		{9 * s, 10 * s},
		{10*s - 1, 10 * s},
		{10 * s, 11 * s},
		{12 * s, 12*s + s/2},
		{12*s + s/2, 13 * s},
		{13 * s, 14 * s},
	} {
		if got := r.after(c.at); got != c.want {
			t.Errorf("window that begins at %d ends at %d, want %d", c.at, got, c.want)
		}
	}
}
