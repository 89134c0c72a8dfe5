package stat

import (
	"math"
	"slices"
)

// Mode is a place at which values gather.
type Mode struct {
	At        float64 // the median of its values
	Low, High float64 // the least and the largest of them
	Count     int
}

// What makes two gatherings of values two modes.
const (
	modeStep = 1.02 // from one bin to the next: places are told apart on a scale of ratios
	modeBins = 5    // that are taken together, so that the noise of single bins is no mode
	// deepValley: between two modes there are at most this part of the lower one,
	deepValley = 0.5
	// sureValley: and so few that chance does not make them, in standard deviations of the counts (Poisson).
	sureValley = 4
	// leastMode is the part of all values that a mode has at least.
	leastMode = 0.01
)

// Modes finds where positive values gather, ascending by place. Values are counted in bins of 2 %; two gatherings are two modes if the
// counts between them fall to half of the smaller one and by more than chance would. Values that are not positive belong to the lowest
// bin. One mode, or none without values, is what cannot be divided.
func Modes(values []float64) []Mode {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return nil
	}
	bin := func(v float64) int { return int(math.Floor(math.Log(v) / math.Log(modeStep))) }
	i := 0 // of the first that is positive
	for i < len(sorted)-1 && sorted[i] <= 0 {
		i++
	}
	if sorted[i] <= 0 {
		return []Mode{modeOf(sorted)}
	}
	first := bin(sorted[i])
	counts := make([]int, bin(sorted[len(sorted)-1])-first+1)
	for _, v := range sorted {
		if v <= 0 {
			counts[0]++
			continue
		}
		counts[bin(v)-first]++
	}
	var modes []Mode
	from := 0
	for _, cut := range valleys(smooth(counts), len(sorted)) {
		edge := math.Pow(modeStep, float64(first+cut))
		to := from
		for to < len(sorted) && sorted[to] < edge {
			to++
		}
		if to > from {
			modes = append(modes, modeOf(sorted[from:to]))
		}
		from = to
	}
	return append(modes, modeOf(sorted[from:]))
}

func modeOf(sorted []float64) Mode {
	return Mode{At: Median(sorted), Low: sorted[0], High: sorted[len(sorted)-1], Count: len(sorted)}
}

// smooth sums each bin with those around it.
func smooth(counts []int) []int {
	sums := make([]int, len(counts))
	for i := range counts {
		for k := max(0, i-modeBins/2); k <= min(len(counts)-1, i+modeBins/2); k++ {
			sums[i] += counts[k]
		}
	}
	return sums
}

// valleys are the bins that divide n values into modes, ascending: it climbs from peak to peak, and takes a valley for one once a peak
// behind it is high enough.
func valleys(counts []int, n int) (cuts []int) {
	least := max(1, int(leastMode*float64(n)))
	peak, low, at := counts[0], counts[0], 0
	for i, c := range counts {
		switch {
		case c < low:
			low, at = c, i
		case c == low && c == 0:
			at = i // the end of an empty stretch
		}
		if deep(peak, low, least) && deep(c, low, least) {
			cuts = append(cuts, at)
			peak, low, at = c, c, i
			continue
		}
		if c > peak && !deep(peak, low, least) {
			peak, low, at = c, c, i
		}
		peak = max(peak, c)
	}
	return cuts
}

// deep tells whether a valley is deep beside a peak.
func deep(peak, valley, least int) bool {
	fall := float64(peak - valley)
	return peak >= least && float64(valley) <= deepValley*float64(peak) && fall > sureValley*math.Sqrt(float64(peak+valley))
}
