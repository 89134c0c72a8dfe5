package search_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mqlab/mqlab/internal/search"
)

func TestGrid(t *testing.T) {
	for _, c := range []struct {
		grid search.Grid
		want []float64
	}{
		{search.Grid{From: 1, To: 4, Step: 0.05}, []float64{1, 2, 3, 4}},
		{search.Grid{From: 100, To: 150, Step: 0.1}, []float64{100, 110, 121, 133, 146, 150}},
		{search.Grid{From: 1000, To: 1000, Step: 0.1}, []float64{1000}},
		{search.Grid{From: 3, To: 11, Step: 0.5, Unit: 2}, []float64{4, 6, 10}},
		{search.Grid{From: 10, To: 5, Step: 0.5}, []float64{10}},
		{search.Grid{From: 123456, To: 140000, Step: 0.1}, []float64{123456, 136000, 140000}},
	} {
		if got := c.grid.Values(); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, want %v", c.grid, got, c.want)
		}
	}
	long := search.Grid{From: 1, To: 1e9, Step: 1e-9}.Values()
	if len(long) > 10_001 || !slices.IsSorted(long) {
		t.Errorf("%d values", len(long))
	}
}

// run searches with outcomes that follow from the value, and returns the values probed.
func run(c search.Config, outcome func(value float64) search.Outcome) (s *search.Search, probed []float64) {
	s = search.New(c)
	for {
		p, more := s.Next()
		if !more {
			return s, probed
		}
		probed = append(probed, p.Value)
		s.Report(p.Index, outcome(p.Value))
	}
}

func below(limit float64) func(float64) search.Outcome {
	return func(v float64) search.Outcome {
		if v <= limit {
			return search.Held
		}
		return search.Failed
	}
}

// TestExact: without noise the edge is found for every place it can be at, within the number of probes foretold.
func TestExact(t *testing.T) {
	for _, margin := range []int{1, 2, 3} {
		c := search.Config{Values: search.Grid{From: 1000, To: 100_000, Step: 0.05}.Values(), Climb: 2, Margin: margin}
		for best := -1; best < len(c.Values); best++ {
			limit := 0.0
			if best >= 0 {
				limit = c.Values[best]
			}
			s, probed := run(c, below(limit))
			r := s.Result()
			want := search.AtLimit
			switch best {
			case -1:
				want = search.AtBottom
			case len(c.Values) - 1:
				want = search.AtTop
			}
			if r.Best != best || r.End != want || !r.Settled || r.Probes != len(probed) || len(probed) > c.About() {
				t.Errorf("margin %d, best %d: %+v after %v, at most %d", margin, best, r, probed, c.About())
			}
			if r.Low != best || best+1 < len(c.Values) && (r.High != best+1 || r.Next != best+1) {
				t.Errorf("margin %d, best %d: interval %d to %d", margin, best, r.Low, r.High)
			}
		}
	}
}

func TestOrder(t *testing.T) {
	c := search.Config{Values: []float64{100, 200, 300, 400, 500, 600, 700, 800, 900}, Climb: 2, Margin: 2}
	_, probed := run(c, below(500))
	want := []float64{100, 200, 400, 800, 600, 500, 600, 500}
	if !slices.Equal(probed, want) {
		t.Errorf("%v, want %v", probed, want)
	}
}

// TestGeneratorEndsIt: what cannot be measured is no failure, and the answer says so.
func TestGeneratorEndsIt(t *testing.T) {
	c := search.Config{Values: []float64{1, 2, 3, 4, 5, 6, 7, 8}, Climb: 2, Margin: 2}
	s, _ := run(c, func(v float64) search.Outcome {
		if v > 5 {
			return search.Unmeasured
		}
		return search.Held
	})
	if r := s.Result(); r.Best != 4 || r.End != search.NotTested || r.Next != 5 {
		t.Errorf("%+v", r)
	}
}

// TestOneErrorMovesNothing: whatever single outcome is false, the answer is the same.
func TestOneErrorMovesNothing(t *testing.T) {
	c := search.Config{Values: search.Grid{From: 100, To: 10_000, Step: 0.1}.Values(), Climb: 2, Margin: 3}
	honest := below(2000)
	s, probed := run(c, honest)
	want := s.Result().Best
	for lie := range probed {
		n := -1
		s, _ := run(c, func(v float64) search.Outcome {
			n++
			o := honest(v)
			if n == lie && o == search.Held {
				return search.Failed
			} else if n == lie {
				return search.Held
			}
			return o
		})
		if r := s.Result(); r.Best != want || r.End != search.AtLimit {
			t.Errorf("outcome %d false: %+v, want %d", lie, r, want)
		}
	}
}

// TestReplay: what is next follows from the outcomes alone.
func TestReplay(t *testing.T) {
	c := search.Config{Values: search.Grid{From: 100, To: 10_000, Step: 0.1}.Values(), Climb: 2, Margin: 2}
	type told struct {
		index int
		o     search.Outcome
	}
	var log []told
	s := search.New(c)
	for {
		again := search.New(c)
		for _, x := range log {
			again.Report(x.index, x.o)
		}
		p, more := s.Next()
		if q, m := again.Next(); p != q || m != more {
			t.Fatalf("%+v %v, replayed %+v %v", p, more, q, m)
		}
		if !more {
			return
		}
		o := below(3300)(p.Value)
		log = append(log, told{p.Index, o})
		s.Report(p.Index, o)
	}
}

func TestCutShort(t *testing.T) {
	c := search.Config{Values: []float64{1, 2, 3, 4}, Climb: 2, Margin: 2}
	s := search.New(c)
	if r := s.Result(); r.Best != -1 || r.Settled || r.End != search.AtNoEnd {
		t.Errorf("%+v", r)
	}
	s.Report(0, search.Held)
	s.Report(1, search.Held)
	s.Report(3, search.Failed)
	if r := s.Result(); r.Best != 1 || r.Next != 3 || r.Settled || r.End != search.AtNoEnd || r.Low != 1 || r.High != 3 {
		t.Errorf("%+v", r)
	}
}

// noisy is a broker as they are on machines with neighbours: its capacity is another one in each probe, and now and then
// something disturbs a probe that would have held.
type noisy struct {
	capacity, spread, disturbed float64
	random                      *rand.Rand
}

// probe: latency grows as in a queue with one server, p99 = 4.6/(capacity-rate) (M/M/1, ln 100), and breaks down above.
func (b *noisy) probe(rate float64) search.Outcome {
	capacity := b.capacity * (1 + b.spread*b.random.NormFloat64())
	if b.random.Float64() < b.disturbed || rate >= capacity || 4.6/(capacity-rate) > 0.005 {
		return search.Failed
	}
	return search.Held
}

// truth is the rate at which half of the undisturbed probes hold.
func (b *noisy) truth() float64 { return b.capacity - 4.6/0.005 }

// TestNoise: the answer is within 10 % of the truth in at least 95 % of the searches, at every level of noise that a lab may meet,
// and costs a fraction of trying every value.
func TestNoise(t *testing.T) {
	const searches = 2000
	for _, n := range []struct{ spread, disturbed float64 }{{0, 0}, {0.01, 0.01}, {0.03, 0.03}, {0.05, 0.05}, {0.03, 0.1}} {
		t.Run(fmt.Sprintf("spread %g disturbed %g", n.spread, n.disturbed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			c := search.Config{Values: search.Grid{From: 1000, To: 200_000, Step: 0.05}.Values(), Climb: 2, Margin: 3}
			good, cost, unsettled := 0, 0, 0
			for range searches {
				b := &noisy{capacity: math.Exp(math.Log(3000) + random.Float64()*math.Log(50)), spread: n.spread, disturbed: n.disturbed, random: random}
				s, probed := run(c, b.probe)
				cost += len(probed)
				r := s.Result()
				if !r.Settled {
					unsettled++
				}
				if r.Best >= 0 && math.Abs(c.Values[r.Best]/b.truth()-1) <= 0.10 {
					good++
				}
			}
			t.Logf("%.1f %% within 10 %%; %.1f probes each, of %d values; %.1f %% not settled", 100*float64(good)/searches, float64(cost)/searches, len(c.Values), 100*float64(unsettled)/searches)
			if good < searches*95/100 {
				t.Errorf("%d of %d searches within 10 %%", good, searches)
			}
			if cost > searches*len(c.Values)/3 {
				t.Errorf("%d probes for %d searches over %d values", cost, searches, len(c.Values))
			}
		})
	}
}

func FuzzSearch(f *testing.F) {
	f.Add(uint16(20), uint8(2), []byte("\x00\x01\x02"))
	f.Fuzz(func(t *testing.T, n uint16, margin uint8, outcomes []byte) {
		c := search.Config{Climb: 2, Margin: int(margin%5) + 1}
		for i := range int(n%500) + 1 {
			c.Values = append(c.Values, float64(i+1))
		}
		s := search.New(c)
		for i := 0; ; i++ {
			p, more := s.Next()
			if !more {
				break
			}
			if p.Index < 0 || p.Index >= len(c.Values) || p.Value != c.Values[p.Index] || p.Repetition < 1 || i >= c.Most() {
				t.Fatalf("probe %d: %+v of %d values, most %d", i, p, len(c.Values), c.Most())
			}
			o := search.Held
			if i < len(outcomes) {
				o = []search.Outcome{search.Held, search.Failed, search.Unmeasured}[outcomes[i]%3]
			}
			s.Report(p.Index, o)
		}
		r := s.Result()
		if r.Best < -1 || r.Best >= len(c.Values) || r.Next == r.Best && r.Best >= 0 || r.Low >= 0 && r.High >= 0 && r.Low >= r.High {
			t.Fatalf("%+v", r)
		}
	})
}
