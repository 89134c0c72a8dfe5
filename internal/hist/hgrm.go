package hist

import (
	"bufio"
	"fmt"
	"io"
	"math"
)

// WriteHGRM writes the percentile distribution over expected messages in the text form of HdrHistogram's tools (its
// outputPercentileDistribution, with five ticks for each halving of the distance to 1), values in microseconds. Where nothing is
// missing it is the distribution that those tools print. Where some of the expected messages did not arrive, percentiles are of
// all of them and end where the lost begin; there is no mean and no maximum then.
func (h *Hist) WriteHGRM(w io.Writer, expected int64) error {
	if expected < h.total {
		return fmt.Errorf("%d values of %d expected", h.total, expected)
	}
	b := bufio.NewWriter(w)
	fmt.Fprint(b, " Value\tPercentile\tTotalCount\t1/(1-Percentile)\n\n")
	row := func(value int64, percent float64, count int64) {
		q := percent / 100
		inverse := fmt.Sprintf("%12.2f", 1/(1-q))
		if q >= 1 {
			inverse = fmt.Sprintf("%12s", "inf")
		}
		fmt.Fprintf(b, "%12.3f %12f %12d %s\n", micros(float64(value)), q, count, inverse)
	}
	h.ticks(expected, row)
	if h.total > 0 {
		row(h.Max(), 100*float64(h.total)/float64(expected), h.total)
	}
	if h.total == expected {
		fmt.Fprintf(b, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n", micros(h.Mean()), micros(h.StdDev()))
		fmt.Fprintf(b, "#[Max     = %12.3f, Total count    = %12d]\n", micros(float64(h.Max())), h.total)
	} else {
		fmt.Fprintf(b, "#[Lost    = %12d, Total count    = %12d]\n", expected-h.total, h.total)
	}
	fmt.Fprintf(b, "#[Buckets = %12d, SubBuckets     = %12d]\n", segments-1, 2*segmentLen)
	return b.Flush()
}

func micros(ns float64) float64 { return ns / 1000 }

// ticks calls f for every tick of the percentile axis that is reached: with the value that reaches it, the tick in percent, and the
// number of values so far. The ticks lie as in HdrHistogram's percentile iterator: five for each halving of what is left to 100.
func (h *Hist) ticks(expected int64, f func(value int64, percent float64, count int64)) {
	tick, seen := 0.0, int64(0)
	h.each(func(slot int, n int64) bool {
		seen += n
		for tick <= 100*float64(seen)/float64(expected) && tick < 100 {
			f(highest(slot), tick, seen)
			halvings := math.Trunc(math.Log2(100/(100-tick))) + 1
			tick += 100 / (ticksPerHalving * math.Exp2(halvings))
			if seen == h.total {
				return false // the rest is the maximum, or lost
			}
		}
		return true
	})
}

// CountAtMost returns how many of the values recorded lie in slots that end at or below v.
func (h *Hist) CountAtMost(v int64) (count int64) {
	h.each(func(slot int, n int64) bool {
		if highest(slot) > v {
			return false
		}
		count += n
		return true
	})
	return count
}

// Sum returns the sum of the values recorded, each taken as the middle of its slot.
func (h *Hist) Sum() float64 { return h.Mean() * float64(h.total) }
