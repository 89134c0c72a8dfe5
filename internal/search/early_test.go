package search_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/search"
)

// played is a probe of five seconds: what came within each, and how late.
type played struct {
	rate  float64
	times [][]time.Duration // of the deliveries that come in each second, from when they were due
}

// tell plays the probe until Early decides.
func (p *played) tell(e *search.Early) (second int, why string) {
	e.Expected, e.Length = p.rate*float64(len(p.times)), time.Duration(len(p.times))*time.Second
	var sum search.Progress
	for i, times := range p.times {
		sum.At += time.Second
		sum.Due += p.rate
		sum.Inside += float64(len(times))
		sum.Recorded += float64(len(times))
		late := make([]float64, len(e.Bounds))
		for k, b := range e.Bounds {
			if sum.Late != nil {
				late[k] = sum.Late[k]
			}
			for _, d := range times {
				if int64(d) > b.Within {
					late[k]++
				}
			}
		}
		sum.Late = late
		if why = e.Second(sum); why != "" {
			return i + 1, why
		}
	}
	return 0, ""
}

func alike(n int, d time.Duration) []time.Duration { return slices.Repeat([]time.Duration{d}, n) }

func TestEarly(t *testing.T) {
	p99 := []search.Bound{{Quantile: 0.99, Within: int64(50 * time.Millisecond)}}
	for _, c := range []struct {
		name   string
		early  search.Early
		probe  played
		second int
	}{
		{"all in time", search.Early{Bounds: p99, Achieved: 0.98}, played{1000, [][]time.Duration{alike(1000, 1e6), alike(1000, 1e6), alike(1000, 1e6)}}, 0},
		{"as many late as allowed", search.Early{Bounds: p99}, played{1000, [][]time.Duration{append(alike(970, 1e6), alike(30, 1e9)...), alike(1000, 1e6), alike(1000, 1e6)}}, 0},
		{"too many late", search.Early{Bounds: p99}, played{1000, [][]time.Duration{append(alike(960, 1e6), alike(40, 1e9)...), alike(1000, 1e6), alike(1000, 1e6)}}, 1},
		{"nothing comes", search.Early{Bounds: p99}, played{1000, [][]time.Duration{nil, nil, nil}}, 2},
		{"half comes", search.Early{Achieved: 0.98}, played{1000, [][]time.Duration{alike(500, 1e6), alike(500, 1e6), alike(500, 1e6), alike(500, 1e6)}}, 2},
		{"may catch up", search.Early{Achieved: 0.98}, played{1000, [][]time.Duration{alike(1500, 1e6), alike(500, 1e6), alike(500, 1e6), alike(1500, 1e6)}}, 0},
		{"no limit", search.Early{}, played{1000, [][]time.Duration{nil, nil, nil}}, 0},
	} {
		second, why := c.probe.tell(&c.early)
		if second != c.second || (why == "") != (second == 0) {
			t.Errorf("%s: decided after %d s, want %d: %s", c.name, second, c.second, why)
		}
	}
}

// TestWarmUpIsSeen: the pace of the warm-up counts as a second, its latency does not.
func TestWarmUpIsSeen(t *testing.T) {
	e := search.Early{Expected: 3000, Length: 3 * time.Second, Achieved: 0.98, Bounds: []search.Bound{{Quantile: 0.5, Within: 1}}}
	if why := e.Second(search.Progress{At: 0, Inside: 400, Late: []float64{400}}); why != "" {
		t.Error(why)
	}
	if why := e.Second(search.Progress{At: time.Second, Inside: 400, Due: 1000, Recorded: 400, Late: []float64{0}}); why == "" {
		t.Error("400 of 1000 a second are not seen to be too few")
	}
}

// TestEarlyIsNeverWrong: a probe that would have held to its end is never stopped for its percentile.
func TestEarlyIsNeverWrong(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	stopped, failed := 0, 0
	for range 2000 {
		p := played{rate: 200}
		tail, late, all := random.Float64()*0.03, 0, 0
		for range 5 {
			var times []time.Duration
			for range 200 {
				d := time.Millisecond
				if random.Float64() < tail {
					d = time.Second / 2
					late++
				}
				all++
				times = append(times, d)
			}
			p.times = append(p.times, times)
		}
		second, _ := p.tell(&search.Early{Bounds: []search.Bound{{Quantile: 0.99, Within: int64(100 * time.Millisecond)}}})
		holds := float64(late) <= 0.01*float64(all)
		if second > 0 && holds {
			t.Fatalf("stopped after %d s with %d late of %d in the end", second, late, all)
		}
		if !holds {
			failed++
		}
		if second > 0 {
			stopped++
		}
	}
	if stopped < failed/2 {
		t.Errorf("%d of %d that failed were stopped", stopped, failed)
	}
}
