package summary

import (
	"slices"
	"time"

	"github.com/mqlab/mqlab/internal/monitor"
)

const (
	// shortestInterval is between two samples of which a load is computed: CPU time is counted in ticks of 10 ms.
	shortestInterval = int64(100 * time.Millisecond)
	// leastCovered is the part of the measure window that must lie between samples; the rest is taken to be alike.
	leastCovered = 0.95
)

// resourcesOf is what broker and host used over the measure window, as far as samples cover it.
func (f *folded) resourcesOf() (Broker, *HostLoad) {
	r := f.rec
	b := Broker{Config: r.Broker.Config, Limits: r.Broker.Limits, Stderr: r.Broker.Stderr, MemoryPeakBytes: r.Broker.MemoryPeak}
	if t := r.Broker.Throttling; t != nil {
		b.ThrottledTime = &t.Time
		if t.Periods > 0 {
			b.ThrottledRatio = new(float64(t.Throttled) / float64(t.Periods))
		}
	}
	if r.MeasureStart == 0 || r.Checks.Measured <= 0 {
		return b, nil
	}
	w := window{r.MeasureStart, r.MeasureStart + r.Checks.Measured}
	watched := f.rec.Watched(monitor.Broker)
	f.brokerCPU(&b, watched, w)
	brokerMemory(&b, watched, w)
	b.ThreadBusy, b.ThreadWaited, b.ThreadName = busiestThread(watched, w)
	return b, hostLoad(f.rec.Watched(monitor.Host), watched, f.rec.Watched(monitor.Generator), w)
}

func (f *folded) brokerCPU(b *Broker, samples []monitor.Sample, w window) {
	load := w.perSecond(samples, cpuSeconds)
	if load == nil {
		return
	}
	b.CPUSeconds = new(*load * w.seconds())
	b.CPUPercentMean = new(100 * *load)
	b.CPUPercentMax = w.busiest(samples)
	if f.span > 0 && f.in.Delivered > 0 {
		b.CPUPerDelivery = new(*load * 1e9 / *perSecond(f.in.Delivered, f.span))
	}
}

func brokerMemory(b *Broker, samples []monitor.Sample, w window) {
	var sum, n uint64
	for _, s := range samples {
		if s.T < w.from || s.T > w.to {
			continue
		}
		if s.PSSBytes > 0 { // costly trees are not measured in every sample
			sum, n = sum+s.PSSBytes, n+1
			b.PSSBytesMax = largest(b.PSSBytesMax, s.PSSBytes)
		}
		if s.RSSBytes > 0 {
			b.RSSBytesMax = largest(b.RSSBytesMax, s.RSSBytes)
		}
		if s.Threads > 0 {
			b.ThreadsMax = largest(b.ThreadsMax, s.Threads)
		}
		if s.FDs > 0 {
			b.FDsMax = largest(b.FDsMax, s.FDs)
		}
	}
	if n > 0 {
		b.PSSBytesMean = new(sum / n)
	}
}

func largest[T int | uint64](a *T, b T) *T {
	if a != nil {
		b = max(*a, b)
	}
	return &b
}

// hostLoad is the load of the machine, and how much of it neither broker nor generator made. The last is unknown for a
// broker elsewhere, and where the counters' grain makes it negative.
func hostLoad(host, broker, generator []monitor.Sample, w window) *HostLoad {
	if len(host) == 0 || host[0].Cores == 0 {
		return nil
	}
	cores := float64(host[0].Cores)
	busy := w.perSecond(host, func(s *monitor.Sample) float64 { return s.HostBusySeconds })
	steal := w.perSecond(host, func(s *monitor.Sample) float64 { return s.StealSeconds })
	if busy == nil || steal == nil {
		return nil
	}
	h := &HostLoad{Steal: new(*steal / cores), Busy: new(*busy / cores)}
	b, g := w.perSecond(broker, cpuSeconds), w.perSecond(generator, cpuSeconds)
	if b != nil && g != nil {
		if others := (*busy - *b - *g) / cores; others >= 0 {
			h.Others = &others
		}
	}
	return h
}

func cpuSeconds(s *monitor.Sample) float64 { return s.CPUSeconds }

// window is a span of monotonic time.
type window struct{ from, to int64 }

func (w window) seconds() float64 { return time.Duration(w.to - w.from).Seconds() }

// perSecond is how fast a counter grew within the window, where samples cover it; nil if they cover too little.
func (w window) perSecond(samples []monitor.Sample, counter func(*monitor.Sample) float64) *float64 {
	if len(samples) < 2 {
		return nil
	}
	covered := window{max(w.from, samples[0].T), min(w.to, samples[len(samples)-1].T)}
	if covered.seconds() < leastCovered*w.seconds() || covered.seconds() <= 0 {
		return nil
	}
	return new((at(samples, covered.to, counter) - at(samples, covered.from, counter)) / covered.seconds())
}

// at is a counter at time t, on the line between the samples before and after; t must not be before the first or after
// the last.
func at(samples []monitor.Sample, t int64, counter func(*monitor.Sample) float64) float64 {
	i := slices.IndexFunc(samples, func(s monitor.Sample) bool { return s.T >= t })
	b := &samples[i]
	if b.T == t {
		return counter(b)
	}
	a := &samples[i-1]
	part := float64(t-a.T) / float64(b.T-a.T)
	return counter(a) + part*(counter(b)-counter(a))
}

// busiest is the largest load, in percent of a core, between two samples that the window touches.
func (w window) busiest(samples []monitor.Sample) (most *float64) {
	for i := 1; i < len(samples); i++ {
		a, b := &samples[i-1], &samples[i]
		if b.T <= w.from || a.T >= w.to || b.T-a.T < shortestInterval {
			continue
		}
		load := 100 * (b.CPUSeconds - a.CPUSeconds) / time.Duration(b.T-a.T).Seconds()
		if most == nil || load > *most {
			most = &load
		}
	}
	return most
}
