package summary

import (
	"time"

	"github.com/mqlab/mqlab/internal/energy"
	"github.com/mqlab/mqlab/internal/monitor"
	"github.com/mqlab/mqlab/internal/run"
)

// Energy is what a device spends: data, time with its radio on, and CPU of its client. A device is a connection. Bytes and radio time
// are those of the protocol and its timers; CPU time and wake-ups those of the client that speaks it, here mqlab's own.
type Energy struct {
	Devices   int     `json:"devices"`
	BytesUp   float64 `json:"bytes_up_per_device_minute"` // headers of IP and TCP included
	BytesDown float64 `json:"bytes_down_per_device_minute"`
	Packets   float64 `json:"packets_per_device_minute"` // both ways
	// Month is what a device sends and receives in 30 days at this pace.
	Month   float64      `json:"bytes_per_device_month"`
	CPU     *float64     `json:"cpu_ns_per_device_minute,omitempty"`
	Wakeups *float64     `json:"wakeups_per_device_minute,omitempty"` // times that the client gave up the CPU to wait
	Radios  []RadioUse   `json:"radios,omitempty"`                    // absent: the link cannot tell devices apart
	Costs   []TariffCost `json:"costs,omitempty"`                     // by the tariffs of the scenario
	// KeepAlives is what it costs to stay connected. Absent: none were seen.
	KeepAlives *KeepAlives `json:"keep_alives,omitempty"`
}

// RadioUse is how long a device's radio is on, by one model.
type RadioUse struct {
	energy.Radio
	On     float64 `json:"on_ns_per_hour"`
	Bursts float64 `json:"bursts_per_hour"` // times that it is switched on
}

// TariffCost is the price of a device's data for a month, by one tariff.
type TariffCost struct {
	energy.Tariff
	Month float64 `json:"cost_per_device_month"`
}

// energyOf is nil where no link counted.
func (f *folded) energyOf() *Energy {
	r := f.rec
	l := r.Link
	if l == nil || l.Up == nil || l.Down == nil || len(l.Intervals) == 0 {
		return nil
	}
	p := &r.Trial.Params
	span := time.Duration(l.Intervals[len(l.Intervals)-1].T)
	e := &Energy{Devices: p.Publishers + p.Subscribers}
	if e.Devices == 0 || span <= 0 {
		return nil
	}
	up, down := l.Up.Measured.Offered, l.Down.Measured.Offered
	minutes := float64(e.Devices) * span.Minutes()
	e.BytesUp, e.BytesDown = float64(up.Bytes)/minutes, float64(down.Bytes)/minutes
	e.Packets = float64(up.Packets+down.Packets) / minutes
	e.Month = energy.Projected(up.Bytes+down.Bytes, span) / float64(e.Devices)
	f.fillClient(e)
	e.KeepAlives = keepAlivesOf(r)
	e.Radios = radioUses(r.Radio, e.Devices)
	return e
}

// fillClient says what the generator used per device and minute.
func (f *folded) fillClient(e *Energy) {
	if g := f.generatorOf(); g.CPUSeconds != nil && f.rec.Checks.Measured > 0 {
		e.CPU = new(*g.CPUSeconds * 1e9 / (float64(e.Devices) * time.Duration(f.rec.Checks.Measured).Minutes()))
	}
	seen := f.rec.Watched(monitor.Generator)
	if n := len(seen); n > 1 && seen[n-1].T > seen[0].T {
		minutes := time.Duration(seen[n-1].T - seen[0].T).Minutes()
		e.Wakeups = new(float64(seen[n-1].CtxVoluntary-seen[0].CtxVoluntary) / (float64(e.Devices) * minutes))
	}
}

// radioUses are per device; a device without a packet had its radio off.
func radioUses(r *run.Radio, devices int) (uses []RadioUse) {
	if r == nil || r.Span <= 0 {
		return nil
	}
	hours := float64(devices) * time.Duration(r.Span).Hours()
	for _, u := range r.Uses {
		uses = append(uses, RadioUse{Radio: u.Radio, On: float64(u.On) / hours, Bursts: float64(u.Bursts) / hours})
	}
	return uses
}

// price adds what a month costs.
func (e *Energy) price(tariffs []energy.Tariff) {
	if e == nil {
		return
	}
	for _, t := range tariffs {
		e.Costs = append(e.Costs, TariffCost{t, t.Cost(e.Month)})
	}
}

// bytesPerMessage is what a link was offered, both ways, per message delivered in the measure window; nil = not known.
func bytesPerMessage(t *Trial) *float64 {
	l := t.Link
	if l == nil || l.Up == nil || l.Down == nil || t.delivered == 0 {
		return nil
	}
	return new(float64(l.Up.Counters.Offered.Bytes+l.Down.Counters.Offered.Bytes) / float64(t.delivered))
}

// retransmitted is the part of the segments that were sent again, over the whole trial: of both ends where there is a link that sees
// them, else of the clients; nil = not known.
func retransmitted(t *Trial) *float64 {
	if l := t.Link; l != nil && l.Up != nil && l.Up.TCP != nil {
		all := l.Up.TCP.Total
		if all.Add(l.Down.TCP.Total); all.Segments > 0 {
			return new(float64(all.Again) / float64(all.Segments))
		}
	}
	if t.Wire == nil || t.Wire.Retransmitted == nil || t.Wire.SegmentsUp == nil || *t.Wire.SegmentsUp == 0 {
		return nil
	}
	return new(float64(*t.Wire.Retransmitted) / float64(*t.Wire.SegmentsUp))
}

// ofEnergy is a figure of what a device spends.
func ofEnergy(of func(*Energy) *float64) func(*Trial) *float64 {
	return func(t *Trial) *float64 {
		if t.Energy == nil {
			return nil
		}
		return of(t.Energy)
	}
}
