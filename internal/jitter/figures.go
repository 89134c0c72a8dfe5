package jitter

import (
	"math"
	"slices"

	"github.com/mqlab/mqlab/internal/stat"
	"github.com/mqlab/mqlab/internal/summary"
)

// Figures describe times exactly: from every message's own, not from a histogram. Percentiles are over the messages expected.
type Figures struct {
	summary.Quantiles
	Arrived *Arrived `json:"arrived,omitempty"` // nil = none did
}

// Arrived are figures of the messages that came, whatever was lost.
type Arrived struct {
	Mean      float64 `json:"mean_ns"`
	Deviation float64 `json:"stddev_ns"`
	Max       int64   `json:"max_ns"`
}

// figuresOf describes times, of which there should be expected.
func figuresOf(times []int64, expected int) Figures {
	sorted := slices.Sorted(slices.Values(times))
	n := len(sorted)
	f := Figures{Quantiles: summary.Quantiles{Count: uint64(n), Expected: uint64(expected)}}
	for _, p := range summary.Percentiles {
		if uint64(expected) < p.Need {
			f.TooFew = append(f.TooFew, p.Name)
		} else if i := int(math.Ceil(p.Q * float64(expected))); i <= n {
			*p.Of(&f.Quantiles) = &sorted[i-1]
		}
	}
	if n > 0 {
		mean, deviation := moments(sorted)
		f.Min, f.Arrived = &sorted[0], &Arrived{mean, deviation, sorted[n-1]}
	}
	switch {
	case expected > 0 && n < expected:
		f.LostFrom = new(float64(n) / float64(expected))
		if n > 0 {
			f.HighestKnown = &sorted[n-1]
		}
	case n > 0:
		f.Max, f.Mean, f.StdDev = &sorted[n-1], new(int64(math.Round(f.Arrived.Mean))), new(int64(math.Round(f.Arrived.Deviation)))
	}
	return f
}

// moments are the mean and the deviation of all of a population.
func moments(list []int64) (mean, deviation float64) {
	for i, x := range list {
		mean += (float64(x) - mean) / float64(i+1)
	}
	for _, x := range list {
		deviation += (float64(x) - mean) * (float64(x) - mean) / float64(len(list))
	}
	return mean, math.Sqrt(deviation)
}

// rank is the quantile q of an ascending list that is not empty, by nearest rank.
func rank(sorted []int64, q float64) int64 {
	return sorted[max(1, int(math.Ceil(q*float64(len(sorted)))))-1]
}

// Mode is a place at which round trips gather.
type Mode struct {
	At    int64   `json:"at_ns"` // the median of its messages
	Low   int64   `json:"low_ns"`
	High  int64   `json:"high_ns"`
	Count int     `json:"count"`
	Share float64 `json:"share_ratio"` // of the messages that came
}

func modesOf(times []int64) (modes []Mode) {
	values := make([]float64, len(times))
	for i, t := range times {
		values[i] = float64(t)
	}
	for _, m := range stat.Modes(values) {
		modes = append(modes, Mode{int64(m.At), int64(m.Low), int64(m.High), m.Count, float64(m.Count) / float64(len(times))})
	}
	return modes
}

// Bin is a part of a histogram: times from From to below To.
type Bin struct {
	From  int64 `json:"from_ns"`
	To    int64 `json:"to_ns"`
	Count int   `json:"count"`
}

// binsPerDecade of a histogram.
const binsPerDecade = 24

// histogramOf counts times in bins that are even on a scale of ratios, from the first that is not empty to the last.
func histogramOf(times []int64) (bins []Bin) {
	if len(times) == 0 {
		return nil
	}
	edge := func(i int) int64 { return int64(math.Round(math.Pow(10, float64(i)/binsPerDecade))) }
	bin := func(t int64) int {
		i := int(math.Floor(math.Log10(float64(max(t, 1))) * binsPerDecade))
		for edge(i) > max(t, 1) {
			i--
		}
		for edge(i+1) <= max(t, 1) {
			i++
		}
		return i
	}
	first, last := bin(slices.Min(times)), bin(slices.Max(times))
	for i := first; i <= last; i++ {
		bins = append(bins, Bin{From: edge(i), To: edge(i + 1)})
	}
	for _, t := range times {
		bins[bin(t)-first].Count++
	}
	return bins
}

// Rhythm tells how alike the round trips are to those some messages before.
type Rhythm struct {
	Bound float64   `json:"bound"` // what chance alone exceeds in one case of twenty, at any lag
	Lags  []float64 `json:"lags"`  // the autocorrelation at lag 1, 2, …
	Peaks []Beat    `json:"peaks"` // the strongest first
}

// Beat is a lag at which latencies return.
type Beat struct {
	Lag   int     `json:"lag"`
	After int64   `json:"after_ns"` // the time that the lag is
	R     float64 `json:"r"`
}

// mostLags reach beyond a keepalive of two minutes at ten messages a second.
const mostLags = 1300

// rhythmOf looks for what returns in a series of one latency each interval; NaN = lost.
func rhythmOf(series []float64, interval int64) *Rhythm {
	a := stat.Autocorrelate(series, mostLags)
	if a == nil {
		return nil
	}
	r := &Rhythm{Bound: a.Bound, Lags: a.Lags, Peaks: []Beat{}}
	for i := range r.Lags {
		r.Lags[i] = math.Round(r.Lags[i]*1e4) / 1e4
	}
	for _, lag := range a.Peaks {
		r.Peaks = append(r.Peaks, Beat{lag, int64(lag) * interval, r.Lags[lag-1]})
	}
	return r
}
