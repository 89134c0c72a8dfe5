package link

import (
	"math"
	"testing"
	"time"
)

// travelled returns the delays in seconds of n packets that are far apart, in the order in which they were sent.
func travelled(p Params, n int) []float64 {
	got, _ := drive(New(p, 11), n, 100, longest+time.Hour)
	var s []float64
	for _, a := range got {
		s = append(s, float64(a.at-int64(a.number)*int64(longest+time.Hour))/1e9)
	}
	return s
}

func moments(x []float64) (mean, deviation float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		deviation += (v - mean) * (v - mean) / float64(len(x))
	}
	return mean, math.Sqrt(deviation)
}

// lag1 is the correlation of each value with the next.
func lag1(x []float64) (r float64) {
	mean, deviation := moments(x)
	for i := range x[1:] {
		r += (x[i] - mean) * (x[i+1] - mean)
	}
	return r / deviation / deviation / float64(len(x)-1)
}

func within(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %.6g, not %.6g ± %.2g", what, got, want, tolerance)
	}
}

// TestDelays: mean within 0.2 %, deviation within 1 % (2 % with a tail whose fourth moment is infinite), and the correlation asked
// for, at 200,000 packets.
func TestDelays(t *testing.T) {
	const n = 200_000
	for _, c := range []struct {
		d                 Distribution
		deviation, spread float64
	}{{Uniform, 50 / math.Sqrt(3), 0.01}, {Normal, 50, 0.01}, {Pareto, 50, 0.02}, {ParetoNormal, 50, 0.02}} {
		for _, correlation := range []float64{0, 0.8} {
			p := Params{Delay: 300 * time.Millisecond, Jitter: 50 * time.Millisecond, Distribution: c.d, Correlation: correlation}
			x := travelled(p, n)
			mean, deviation := moments(x)
			name := string(c.d)
			if correlation > 0 {
				name += " correlated"
			}
			within(t, name+" mean", mean, 0.3, 0.3*0.002)
			spread := c.spread
			if correlation > 0 {
				spread *= 3 // far fewer independent values
			}
			within(t, name+" deviation", deviation*1000, c.deviation, c.deviation*spread)
			tolerance := 0.01
			if correlation > 0 && c.d != Normal {
				tolerance = 0.1 // the copula correlates normal variables exactly, functions of them nearly
			}
			within(t, name+" correlation", lag1(x), correlation, tolerance)
		}
	}
}

// TestTravel: what is expected beforehand, also where delays end at 0, and in mode netem.
func TestTravel(t *testing.T) {
	for _, mode := range []Mode{Physical, NetEm} {
		for _, d := range []Distribution{Uniform, Normal, Pareto, ParetoNormal} {
			for _, delay := range []time.Duration{0, 20 * time.Millisecond, 100 * time.Millisecond} {
				p := Params{Mode: mode, Delay: delay, Jitter: 30 * time.Millisecond, Distribution: d}
				mean, deviation := moments(travelled(p, 100_000))
				wantMean, wantDeviation := p.Travel()
				name := string(mode) + " " + string(d) + " " + delay.String()
				within(t, name+" mean", mean, wantMean.Seconds(), 0.0004)
				within(t, name+" deviation", deviation, wantDeviation.Seconds(), 0.001)
			}
		}
	}
	if mean, deviation := (Params{Delay: time.Second}).Travel(); mean != time.Second || deviation != 0 {
		t.Errorf("without jitter: %v, %v", mean, deviation)
	}
}

// TestTablesAreThoseOfIproute2: mean, deviation, lowest and highest entries of the files in /usr/lib/tc, in units of the jitter.
func TestTablesAreThoseOfIproute2(t *testing.T) {
	for _, c := range []struct {
		d                    Distribution
		mean, deviation, low float64
	}{{Normal, 0, 1, -4}, {Pareto, -0.0335, 0.8197, -2.0 / 3}, {ParetoNormal, -0.0253, 0.8339, -1.5}} {
		table := newNetem(Params{Mode: NetEm, Distribution: c.d}, 1).table
		mean, deviation := moments(table)
		within(t, string(c.d)+" mean", mean, c.mean, 0.002)
		within(t, string(c.d)+" deviation", deviation, c.deviation, 0.002)
		within(t, string(c.d)+" lowest", table[0], c.low, 0.5)
	}
}

// lossOf returns the share of losses, and the mean length of their runs.
func lossOf(verdicts []Verdict) (share, burst float64) {
	runs, lost := 0, 0
	for i, v := range verdicts {
		if v != LostOnAir {
			continue
		}
		lost++
		if i == 0 || verdicts[i-1] != LostOnAir {
			runs++
		}
	}
	return float64(lost) / float64(len(verdicts)), float64(lost) / float64(runs)
}

// TestLoss: share within three standard errors and burst length within 1 %, at two million packets.
func TestLoss(t *testing.T) {
	const n = 2_000_000
	for _, c := range []struct{ loss, burst float64 }{{0.05, 0}, {0.15, 0}, {0.05, 1}, {0.05, 2}, {0.05, 4}, {0.05, 10}, {0.15, 3}, {1, 0}} {
		p := Params{Loss: c.loss, Burst: c.burst}
		m := New(p, 5)
		verdicts := make([]Verdict, n)
		for i := range verdicts {
			verdicts[i] = m.Push(0, nil, 0)
			m.Pop(0)
		}
		share, burst := lossOf(verdicts)
		within(t, "loss", share, c.loss, 3*p.LossError(n))
		if c.loss < 1 {
			within(t, "burst", burst, p.MeanBurst(), p.MeanBurst()*0.01)
		}
	}
}

// TestNetemCorrelationHidesLosses shows why loss_correlation is not what users want: figures of the kernel's own formula.
func TestNetemCorrelationHidesLosses(t *testing.T) {
	for _, c := range []struct{ correlation, share, tolerance float64 }{{0, 0.05, 0.001}, {0.25, 0.00197, 0.0002}, {0.5, 0.00002, 0.00002}, {0.75, 0, 0}} {
		m := New(Params{Mode: NetEm, Loss: 0.05, LossCorrelation: c.correlation}, 5)
		lost := 0
		const n = 500_000
		for range n {
			if m.Push(0, nil, 0) == LostOnAir {
				lost++
			}
			m.Pop(0)
		}
		within(t, "loss", float64(lost)/n, c.share, c.tolerance)
	}
}

// TestRate: at 1.5 times the capacity a link carries its capacity and no more, and what waits is as much as its queue.
func TestRate(t *testing.T) {
	p := Params{Rate: 256_000, QueueBytes: 32_000}
	const size, n = 500, 20_000
	got, _ := drive(New(p, 1), n, size, p.AirTime(size)*2/3)
	seconds := float64(got[len(got)-1].at) / 1e9
	within(t, "rate", float64(len(got)*size*8)/seconds, 256_000, 256_000*0.0001)
	m := New(p, 1)
	drive(m, n, size, p.AirTime(size)*2/3)
	if c := m.Counters(); c.LongestWait > time.Second || c.LongestWait < 980*time.Millisecond {
		t.Errorf("longest wait %v, not the queue's second", c.LongestWait)
	}
}

// TestDuplicates: as many as asked for, each with a delay of its own.
func TestDuplicates(t *testing.T) {
	p := Params{Delay: 100 * time.Millisecond, Jitter: 50 * time.Millisecond, Duplicate: 0.1}
	m := New(p, 1)
	got, _ := drive(m, 100_000, 100, time.Millisecond)
	c := m.Counters()
	within(t, "duplicates", float64(c.Duplicated.Packets), 10_000, 3*95)
	if len(got) != 100_000+int(c.Duplicated.Packets) {
		t.Errorf("%d arrived", len(got))
	}
}
