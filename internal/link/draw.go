package link

import (
	"math"
	"math/rand/v2"
)

// sequence is a source of chance that no other property draws from.
func sequence(seed uint64, of string) *rand.Rand {
	var name uint64
	for _, c := range of {
		name = name<<8 | uint64(c)
	}
	return rand.New(rand.NewPCG(seed, name))
}

// losses decides which packets are lost: independently, or by the two-state chain of Gilbert (1960), in whose bad state all are
// lost. The chain leaves the bad state with probability 1/burst and the good one so that the share of the bad one is loss.
type losses struct {
	chance          *rand.Rand
	share           float64
	chain           bool
	toBad, toGood   float64
	bad, afterFirst bool
}

func (l *losses) set(p Params) {
	l.share, l.chain = p.Loss, p.Burst > 0 && p.Loss > 0
	if l.chain {
		l.toGood = 1 / p.Burst
		l.toBad = p.Loss * l.toGood / (1 - p.Loss)
	} else {
		l.afterFirst = false
	}
}

// next draws exactly once for each packet, whatever the parameters, so that the sequence depends on nothing but the packet's number.
func (l *losses) next() bool {
	x := l.chance.Float64()
	if !l.chain {
		return x < l.share
	}
	switch {
	case !l.afterFirst:
		l.bad, l.afterFirst = x < l.share, true
	case l.bad:
		l.bad = x >= l.toGood
	default:
		l.bad = x < l.toBad
	}
	return l.bad
}

// delays draws the time that packets travel.
type delays struct {
	chance       *rand.Rand
	mean, jitter float64
	distribution Distribution
	rho, rest    float64 // weight of the last draw and of a new one
	z            float64 // the last draw, of a standard normal distribution
	afterFirst   bool
}

func (d *delays) set(p Params) {
	d.mean, d.jitter, d.distribution = float64(p.Delay), float64(p.Jitter), p.Distribution
	d.rho, d.rest = p.Correlation, math.Sqrt(1-p.Correlation*p.Correlation)
}

// next returns a delay in nanoseconds. None is below 0: a packet cannot arrive before it left.
func (d *delays) next() int64 {
	if d.jitter == 0 {
		return int64(d.mean)
	}
	var x float64
	switch {
	case d.rho > 0:
		z := d.normal()
		x = standard(d.distribution, z, upperTail(z))
	case d.distribution == Normal:
		x = d.chance.NormFloat64()
	case d.distribution == ParetoNormal:
		z := d.chance.NormFloat64()
		x = standard(ParetoNormal, z, upperTail(z))
	default:
		x = standard(d.distribution, 0, 1-d.chance.Float64())
	}
	return max(0, int64(d.mean+x*d.jitter))
}

// normal is an autoregressive sequence of standard normal variables. That delays are a function of it, a Gaussian copula, makes
// them correlated and leaves their distribution as it is.
func (d *delays) normal() float64 {
	e := d.chance.NormFloat64()
	if d.afterFirst {
		e = d.rho*d.z + d.rest*e
	}
	d.z, d.afterFirst = e, true
	return e
}

// upperTail returns how likely a standard normal variable exceeds z.
func upperTail(z float64) float64 { return 0.5 * math.Erfc(z/math.Sqrt2) }

// cut is the share of the Pareto distribution's tail that is left out, from ten times its least value on: with it, the deviation
// seen in any measurement would be far from that of the distribution, and some packets would never come.
const cut = 0.001

var (
	// Mean and deviation of a Pareto distribution of shape 3 and least value 1 without its tail: the moments are integrals of
	// u^(-1/3) and u^(-2/3) over u from cut to 1.
	paretoMean      = 1.5 * (1 - math.Pow(cut, 2.0/3)) / (1 - cut)
	paretoDeviation = math.Sqrt(3*(1-math.Cbrt(cut))/(1-cut) - paretoMean*paretoMean)
	// mixDeviation is that of 0.75 times the standardised Pareto plus 0.25 times the normal quantile: their covariance is
	// 0.780804 by numerical integration.
	mixDeviation = math.Sqrt(0.75*0.75 + 0.25*0.25 + 2*0.75*0.25*0.780804)
)

// standard returns the value of a distribution, scaled to mean 0 and jitter 1, that is exceeded with probability tail, in (0,1]; z is the
// value of the standard normal distribution for which that holds, where the distribution needs it.
func standard(d Distribution, z, tail float64) float64 {
	switch d {
	case Normal:
		return z
	case Pareto:
		return pareto(tail)
	case ParetoNormal:
		return (0.75*pareto(tail) + 0.25*z) / mixDeviation
	default:
		return 1 - 2*tail
	}
}

func pareto(tail float64) float64 {
	return (1/math.Cbrt(cut+(1-cut)*tail) - paretoMean) / paretoDeviation
}
