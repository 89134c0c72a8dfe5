package hist

import "math"

// Quantile returns the value below or at which the fraction q of the recorded values lies: the highest value that shares a
// slot with the one of rank ceil(q × Count), counted from 1. A q beyond 0 or 1 is taken as 0 or 1. It returns 0 if nothing was recorded: test
// Count first.
func (h *Hist) Quantile(q float64) int64 {
	if h.total == 0 {
		return 0
	}
	return h.atRank(rank(q, h.total))
}

// QuantileOf is the quantile over expected messages of which Count arrived: a lost message is later than every other. ok is
// false when it falls among the lost, and when there is no answer: q is not within 0 and 1, nothing was expected, or more
// was recorded than expected.
func (h *Hist) QuantileOf(q float64, expected int64) (v int64, ok bool) {
	if !(q >= 0 && q <= 1) || expected < 1 || expected < h.total {
		return 0, false
	}
	r := rank(q, expected)
	if r > h.total {
		return 0, false
	}
	return h.atRank(r), true
}

// rank returns ceil(q × n) within 1 and n. A decimal fraction such as 0.07 is not exact in binary, and 0.07 × 100 is
// 7.000000000000001: the product is made smaller by four times its possible error, so that this is rank 7. The rank is that of the decimal
// fraction as long as n has no more than about 14 digits together with those of q.
func rank(q float64, n int64) int64 {
	r := math.Ceil(q * float64(n) * (1 - 0x1p-51))
	switch {
	case q >= 1 || r >= float64(n):
		return n
	case !(r > 1): // also if q is not a number
		return 1
	}
	return int64(r)
}

func (h *Hist) atRank(r int64) (v int64) {
	h.each(func(slot int, n int64) bool {
		r -= n
		v = highest(slot)
		return r > 0
	})
	return v
}

// Point says that the fraction Quantile of all messages took at most Value.
type Point struct {
	Quantile float64 `json:"quantile"`
	Value    int64   `json:"value_ns"`
}

// ticksPerHalving is how many points a curve has at most each time the distance to 1 halves.
const ticksPerHalving = 5

// Curve returns the percentile curve over expected messages of which Count arrived: distinct points, ascending in both
// coordinates, denser towards 1 as HdrHistogram's percentile output is, and at most about 200 of them. Every point is exact for its value. The last is the
// largest value recorded; its quantile is below 1 if messages were lost. It is nil when nothing was recorded or when more was
// recorded than expected.
func (h *Hist) Curve(expected int64) []Point {
	if h.total == 0 || expected < h.total {
		return nil
	}
	var points []Point
	var seen, want int64
	h.each(func(slot int, n int64) bool {
		seen += n
		if seen < want && seen < h.total {
			return true
		}
		points = append(points, Point{float64(seen) / float64(expected), highest(slot)})
		want = nextTick(seen, expected)
		return true
	})
	return points
}

// nextTick returns the rank of the first tick above rank seen. Between the quantiles 1-2^-k and 1-2^-(k+1) there are
// ticksPerHalving ticks at equal distances.
func nextTick(seen, n int64) int64 {
	left := float64(n-seen) / float64(n)
	if left <= 0 {
		return n
	}
	half := math.Exp2(math.Ceil(math.Log2(left))) // smallest power of two not below left
	step := half / (2 * ticksPerHalving)
	return max(seen+1, int64(math.Ceil(float64(n)*(1-(math.Ceil(left/step)-1)*step))))
}
