package summary

import (
	"strconv"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/monitor"
	"github.com/mqlab/mqlab/internal/run"
)

// bottleneck is the verdict on a trial; nil where the question makes no sense: nothing was measured, or the broker was disturbed on
// purpose.
func (t *Trial) bottleneck(f *folded) *Bottleneck {
	killed := f.rec.Checks.KilledForMemory != nil
	if !killed && (t.State != run.Finished || t.Measured == nil || f.rec.Checks.BrokerExited != "") || len(t.Params.Faults) > 0 || f.rec.Trial.Outages != nil {
		return nil
	}
	p := t.pressure(f)
	b := p.judge()
	return &b
}

// pressure gathers what is known of every resource.
func (t *Trial) pressure(f *folded) *pressure {
	p := &pressure{
		closed: !t.openLoop(), achieved: t.Rates.Achieved, killed: t.reason("killed_for_memory"), late: t.reason("generator_late"),
		starved: t.Generator.Throttled, linkFull: t.reason("link_saturated"), throttled: t.Broker.ThrottledRatio, window: t.Params.Window, publishers: t.Params.Publishers,
	}
	if h := f.hists[ledger.Blocked]; h != nil && f.counts.Offered > 0 {
		p.held = float64(h.Count()) / float64(f.counts.Offered)
	}
	if o, s := t.Rates.Offered, t.Rates.Sent; o != nil && s != nil && *o > 0 {
		p.sent = new(*s / *o)
	}
	p.limits(t, f)
	if g := &t.Generator; g.CPUSeconds != nil && g.Cores != nil && *g.Cores > 0 && t.Measured != nil && *t.Measured > 0 {
		p.generatorCPU = new(*g.CPUSeconds / (*g.Cores * time.Duration(*t.Measured).Seconds()))
	}
	if t.Host != nil {
		p.hostBusy, p.hostOthers = t.Host.Busy, t.Host.Others
	}
	if q := t.Latency.Ack; q != nil && t.Rates.Sent != nil {
		p.ack, p.ackMin, p.rate = toFloat(q.P50), toFloat(q.Min), *t.Rates.Sent
	}
	if c := t.Connections; c != nil && c.TCP != nil {
		p.connect = toFloat(c.TCP.Min)
	}
	return p
}

// limits are what the broker may use, and used.
func (p *pressure) limits(t *Trial, f *folded) {
	hosts := f.rec.Watched(monitor.Host)
	if len(hosts) > 0 {
		p.brokerCores = float64(hosts[0].Cores)
	}
	if t.Placement != nil && p.brokerCores > 0 {
		if held := coresIn(t.Placement.BrokerCores); held > 0 {
			p.brokerCores = min(p.brokerCores, float64(held))
		}
	}
	if profile := &t.Params.Profile; !profile.Off {
		if profile.CPUs > 0 && profile.CPUs < p.brokerCores {
			p.brokerCores = profile.CPUs
		}
		if limit := uint64(profile.MemoryBytes); limit > 0 && t.Broker.PSSBytesMax != nil {
			p.memoryLimit, p.memory = limit, new(float64(*t.Broker.PSSBytesMax)/float64(limit))
		}
	}
	if c := t.Broker.CPUPercentMean; c != nil {
		p.brokerCPU = new(*c / 100)
	}
	p.thread, p.wait, p.threadName = t.Broker.ThreadBusy, t.Broker.ThreadWaited, t.Broker.ThreadName
}

// coresIn counts the cores of a list as the kernel writes it, 0-1,4; 0 if it is none.
func coresIn(list string) (n int) {
	for part := range strings.SplitSeq(list, ",") {
		low, high, isRange := strings.Cut(part, "-")
		from, err := strconv.Atoi(low)
		to := from
		if err == nil && isRange {
			to, err = strconv.Atoi(high)
		}
		if err != nil || to < from {
			return 0
		}
		n += to - from + 1
	}
	return n
}

// busiestThread is, over the measure window, how busy that thread of the broker was that used most CPU in each second, how long it
// waited for a CPU, and the name of the one that did so most.
func busiestThread(samples []monitor.Sample, w window) (busy, waited *float64, name string) {
	var cpu, wait, seconds, most float64
	for _, s := range samples {
		b := s.Busiest
		if b == nil || s.T <= w.from || s.T > w.to+int64(time.Second)/2 || b.Seconds <= 0 {
			continue
		}
		cpu, wait, seconds = cpu+b.CPUSeconds, wait+b.RunWaitSeconds, seconds+b.Seconds
		if b.CPUSeconds > most {
			most, name = b.CPUSeconds, b.Name
		}
	}
	if seconds < leastCovered*w.seconds() || seconds == 0 {
		return nil, nil, ""
	}
	return new(cpu / seconds), new(wait / seconds), name
}
