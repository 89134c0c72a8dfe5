package stat

// Knee returns the index of the point at which a curve that grows ever faster takes off: the last load at which latency was still
// cheap. x must be ascending. ok is false for fewer than four points, and for a curve that has no knee: one that falls, or is a straight line.
//
// It is the rule of Kneedle (Satopää, Albrecht, Irwin, Raghavan: "Finding a Kneedle in a Haystack", 2011) for a convex, growing
// curve: both axes are scaled to 0…1, and the knee is where the curve lies deepest below the diagonal. Smoothing and sensitivity
// belong to streams of noisy points and are left out; instead the knee must lie below the diagonal by kneeDepth.
func Knee(x, y []float64) (index int, ok bool) {
	n := len(x)
	if n < leastPoints || len(y) != n {
		return 0, false
	}
	low, high := y[0], y[0]
	for _, v := range y {
		low, high = min(low, v), max(high, v)
	}
	width, height := x[n-1]-x[0], high-low
	if !(width > 0) || !(height > 0) || y[n-1] < y[0] {
		return 0, false
	}
	deepest := kneeDepth
	for i := range x {
		if depth := (x[i]-x[0])/width - (y[i]-low)/height; depth >= deepest {
			index, deepest, ok = i, depth, true
		}
	}
	return index, ok
}

const (
	leastPoints = 4
	kneeDepth   = 0.1
)
