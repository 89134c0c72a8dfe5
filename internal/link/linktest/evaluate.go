package linktest

import (
	"fmt"
	"math"
	"time"

	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/stat"
)

// confident is how many standard errors a 95 % interval reaches to each side.
const confident = 1.959964

// missing is the delay of a packet that did not arrive.
const missing = time.Duration(-1)

// checkDelays holds the delays of packets, in the order in which they were sent, against the configuration.
func checkDelays(way link.Direction, p link.Params, t Tolerance, delays []time.Duration) []Check {
	var x []float64
	for _, d := range delays {
		if d != missing {
			x = append(x, float64(d))
		}
	}
	if len(x) < 2 {
		return nil
	}
	mean, sd, kurtosis := moments(x)
	wantMean, wantSd := p.Travel()
	// Neighbours that resemble each other tell less than as many independent ones (Bartlett).
	r := p.Correlation
	if p.Mode == link.NetEm {
		r = 0 // its correlation is undone by the modulus
	}
	n := float64(len(x))
	meanError := sd / math.Sqrt(n*(1-r)/(1+r))
	sdError := sd * math.Sqrt(max(kurtosis-1, 0)/4/(n*(1-r*r)/(1+r*r)))
	return []Check{
		check(way, Delay, float64(wantMean), mean, meanError, max(float64(t.Time), t.Delay*float64(wantMean)), len(x)),
		check(way, Deviation, float64(wantSd), sd, sdError, max(float64(t.Time), t.Sd*float64(wantSd)), len(x)),
	}
}

// check compares a figure with a standard error.
func check(way link.Direction, what string, want, got, standardError, tolerance float64, samples int) Check {
	half := confident * standardError
	return Check{
		Direction: way.String(), What: what, Configured: want, Achieved: got,
		Interval: stat.Interval{Low: got - half, High: got + half}, Tolerance: tolerance, Samples: samples,
		Pass: math.Abs(got-want) <= tolerance+half,
	}
}

// moments returns mean, standard deviation and kurtosis (3 for a normal distribution).
func moments(x []float64) (mean, sd, kurtosis float64) {
	n := float64(len(x))
	for _, v := range x {
		mean += v / n
	}
	var second, fourth float64
	for _, v := range x {
		d := (v - mean) * (v - mean)
		second += d / n
		fourth += d * d / n
	}
	if second == 0 {
		return mean, 0, 1
	}
	return mean, math.Sqrt(second * n / (n - 1)), fourth / second / second
}

// deviations is how many standard errors a share of losses and a length of bursts may be away: beyond three there is less than
// one chance in 300 that it is chance.
const deviations = 3

// checkLosses holds losses against the configuration.
func checkLosses(way link.Direction, p link.Params, delays []time.Duration) []Check {
	n := len(delays)
	if n == 0 {
		return nil
	}
	lost, bursts := 0, 0
	for i, d := range delays {
		if d != missing {
			continue
		}
		lost++
		if i == 0 || delays[i-1] != missing {
			bursts++
		}
	}
	share := float64(lost) / float64(n)
	standardError := p.LossError(n)
	tolerance := (deviations - confident) * standardError
	if p.LossCorrelation > 0 {
		tolerance = 1 // what the kernel's formula makes of it has no closed form
	}
	checks := []Check{check(way, Loss, p.Loss, share, standardError, tolerance, n)}
	if bursts < 10 || p.Loss == 0 || p.LossCorrelation > 0 {
		return checks // too few to speak of their length
	}
	want := p.MeanBurst()
	standardError = math.Sqrt(want*(want-1)) / math.Sqrt(float64(bursts)) // lengths are geometric
	tolerance = (deviations-confident)*standardError + 1/float64(bursts)  // the last may be cut off
	return append(checks, check(way, Burst, want, float64(lost)/float64(bursts), standardError, tolerance, bursts))
}

// arrival is a packet that came through a link at capacity.
type arrival struct {
	at    int64         // monotonic, in nanoseconds
	delay time.Duration // since it was sent
	bits  float64       // with what the link adds
}

// enough is how many arrivals it takes to tell a rate.
const enough = 5

// checkRate holds arrivals at a saturated link against its rate and queue. It is the slope of the bits that have come over time;
// that of the first packet was sent before its arrival.
func checkRate(way link.Direction, p link.Params, t Tolerance, got []arrival) []Check {
	if len(got) < enough {
		return nil
	}
	var x, y []float64
	sum := 0.0
	waited := time.Duration(0)
	for _, a := range got {
		x, y = append(x, float64(a.at-got[0].at)/1e9), append(y, sum)
		waited = max(waited, a.delay)
		sum += a.bits
	}
	for i := range y {
		y[i] += got[i].bits
	}
	slope, slopeError := regression(x, y)
	checks := []Check{check(way, Rate, float64(p.Rate), slope, slopeError, t.Rate*float64(p.Rate), len(got))}
	packet := got[0].bits / float64(p.Rate) * 1e9
	full := float64(room(p, int(got[0].bits/8)-p.OverheadBytes))
	return append(checks, check(way, Queue, full, float64(waited), 0, packet+float64(t.Time)+t.Queue*full, len(got)))
}

// regression returns the slope of y over x by least squares, and its standard error.
func regression(x, y []float64) (slope, standardError float64) {
	n := float64(len(x))
	var meanX, meanY float64
	for i := range x {
		meanX += x[i] / n
		meanY += y[i] / n
	}
	var xx, xy float64
	for i := range x {
		xx += (x[i] - meanX) * (x[i] - meanX)
		xy += (x[i] - meanX) * (y[i] - meanY)
	}
	if xx == 0 {
		return math.Inf(1), 0 // all at once
	}
	slope = xy / xx
	var rest float64
	for i := range x {
		r := y[i] - meanY - slope*(x[i]-meanX)
		rest += r * r
	}
	return slope, math.Sqrt(rest / max(n-2, 1) / xx)
}

// Limits of lateness, at the 99th percentile: of the delay, of the jitter, and what does no harm to any link.
const (
	lateOfDelay  = 0.05
	lateOfJitter = 0.10
	lateHarmless = 2 * time.Millisecond
)

// judge decides whether a report passes.
func (r *Report) judge(p link.Profile) {
	for _, c := range r.Checks {
		if !c.Pass {
			r.Why = append(r.Why, fmt.Sprintf("%s %s is %s, configured %s", c.Direction, c.What, figure(c.What, c.Achieved), figure(c.What, c.Configured)))
		}
	}
	if r.Overrun > 0 {
		r.Why = append(r.Why, fmt.Sprintf("the emulator was too slow for %d packets", r.Overrun))
	}
	for _, way := range []link.Direction{link.Up, link.Down} {
		limit := max(lateHarmless, time.Duration(lateOfDelay*float64(p.Params(way).Delay)), time.Duration(lateOfJitter*float64(p.Params(way).Jitter)))
		if r.Late.P99 > limit {
			r.Why = append(r.Why, fmt.Sprintf("packets were up to %v late (99th percentile), more than %v", r.Late.P99.Round(time.Microsecond), limit))
			break
		}
	}
	if len(r.Checks) == 0 {
		r.Why = append(r.Why, "nothing could be checked")
	}
	r.Pass = len(r.Why) == 0
}

// figure prints a value in its unit.
func figure(what string, v float64) string {
	switch what {
	case Loss:
		return fmt.Sprintf("%.3g %%", v*100)
	case Burst:
		return fmt.Sprintf("%.3g packets", v)
	case Rate:
		return fmt.Sprintf("%.5g kbit/s", v/1000)
	}
	return fmt.Sprintf("%.5g ms", v/1e6)
}
