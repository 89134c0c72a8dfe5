package findings

import (
	"slices"
	"time"

	"github.com/mqlab/mqlab/internal/diagnose"
	"github.com/mqlab/mqlab/internal/monitor"
	"github.com/mqlab/mqlab/internal/run"
)

// watch adds what the monitor saw: who was held back, and when.
func watch(rec *run.Trial, c *diagnose.Course) {
	if rec.MeasureStart == 0 {
		return
	}
	brokers, hosts := watched(rec, monitor.Broker), watched(rec, monitor.Host)
	if len(brokers) > 1 {
		c.Sources = append(c.Sources, diagnose.Broker)
		busiest(brokers, c)
		throttled(rec, brokers, c)
		memory(brokers, c)
	}
	if len(hosts) > 1 && hosts[0].Cores > 0 {
		c.Sources = append(c.Sources, diagnose.Control)
		for i := 1; i < len(hosts); i++ {
			a, b := &hosts[i-1], &hosts[i]
			stolen := seconds((b.StealSeconds - a.StealSeconds) / float64(b.Cores))
			hold(c, diagnose.Span{From: a.T, To: b.T}, diagnose.Hold{Cause: diagnose.HostNoise, Side: "host", Time: stolen})
		}
	}
}

// watched are the samples of a role in the order of time, which counts from the begin of the measure window.
func watched(rec *run.Trial, role string) []monitor.Sample {
	samples := rec.Watched(role)
	for i := range samples {
		samples[i].T -= rec.MeasureStart
	}
	return samples
}

func seconds(s float64) int64 { return int64(s * float64(time.Second)) }

// busiest adds how long the broker's busiest thread had no core.
func busiest(samples []monitor.Sample, c *diagnose.Course) {
	var ran, waited, of float64
	for i := 1; i < len(samples); i++ {
		b := samples[i].Busiest
		if b == nil || b.Seconds <= 0 {
			continue
		}
		ran, waited, of = ran+b.CPUSeconds, waited+b.RunWaitSeconds, of+b.Seconds
		span := diagnose.Span{From: samples[i].T - seconds(b.Seconds), To: samples[i].T}
		hold(c, span, diagnose.Hold{Cause: diagnose.CPUContention, Side: "broker", Time: seconds(b.RunWaitSeconds)})
	}
	if of > 0 {
		c.Busiest = &diagnose.Busy{Running: ran / of, Waiting: waited / of}
		c.Sources = append(c.Sources, diagnose.RunQueue)
	}
}

// alwaysHeld is the part of a quota's periods from which on what had to be done piled up.
const alwaysHeld = 0.3

// throttled adds how long the broker had to wait for its quota: by the second, or where that was not kept evenly over the whole.
func throttled(rec *run.Trial, samples []monitor.Sample, c *diagnose.Course) {
	each := func(span diagnose.Span, periods, times uint64, time int64) {
		hold(c, span, diagnose.Hold{
			Cause: diagnose.Throttling, Side: "broker", Time: time, Count: int(times), Full: float64(times) > alwaysHeld*float64(periods),
		})
	}
	known := false
	for i := 1; i < len(samples); i++ {
		a, b := samples[i-1].Quota, samples[i].Quota
		if a == nil || b == nil || b.Periods < a.Periods || b.Throttled < a.Throttled {
			continue
		}
		known = true
		each(diagnose.Span{From: samples[i-1].T, To: samples[i].T}, b.Periods-a.Periods, b.Throttled-a.Throttled, seconds(b.ThrottledSeconds-a.ThrottledSeconds))
	}
	if t := rec.Broker.Throttling; t != nil && !known && rec.Checks.Measured > 0 {
		each(diagnose.Span{To: rec.Checks.Measured}, t.Periods, t.Throttled, t.Time)
	}
}

// hold deals a hold out to the stretches that it lies in.
func hold(c *diagnose.Course, span diagnose.Span, h diagnose.Hold) {
	if h.Time <= 0 || span.To <= span.From {
		return
	}
	for i := range c.Stretches {
		s := &c.Stretches[i]
		shared := min(s.To, span.To) - max(s.From, span.From)
		if shared <= 0 {
			continue
		}
		part := float64(shared) / float64(span.To-span.From)
		x := h
		x.Time, x.Count = int64(float64(h.Time)*part), int(float64(h.Count)*part+0.5)
		if n := slices.IndexFunc(s.Holds, func(o diagnose.Hold) bool { return o.Cause == h.Cause }); n >= 0 {
			o := &s.Holds[n]
			o.Time, o.Count, o.Full = o.Time+x.Time, o.Count+x.Count, o.Full || x.Full && part > 0.2
		} else if x.Time > 0 {
			s.Holds = append(s.Holds, x)
		}
	}
}

// memory adds how fast that of the broker grew.
func memory(samples []monitor.Sample, c *diagnose.Course) {
	var first, end *monitor.Sample
	for i := range samples {
		if s := &samples[i]; s.PSSBytes > 0 {
			if first == nil {
				first = s
			}
			end = s
		}
	}
	if first != nil && end.T > first.T {
		c.Facts.MemoryGrowth = new((float64(end.PSSBytes) - float64(first.PSSBytes)) / time.Duration(end.T-first.T).Seconds())
		c.Facts.MemoryBytes = new(float64(end.PSSBytes))
	}
}
