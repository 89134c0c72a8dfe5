package scenario

import "time"

// Outages are failures that come while measuring, one after the other, at times that follow from the seed: the same for every
// subject.
type Outages struct {
	// Kind is what fails. rst: connections are reset at both ends, and new ones refused. blackhole: nothing gets through, and nobody
	// is told. half-open: likewise for the connections there are, for good, while new ones work, as when a NAT forgot them. drip:
	// 64 bytes a second get through. restart, kill: the broker ends, in order or at once, and is started again.
	Kind string `yaml:"kind" oneof:"none rst blackhole half-open drip restart kill"`
	// Side is whose connections fail.
	Side string `yaml:"side" oneof:"both publishers subscribers"`
	// At is when the first begins, from the start of the measure phase; absent: after a time drawn as for the others.
	At time.Duration `yaml:"at" max:"720h"`
	// MTTF is the mean time from the end of one outage to the beginning of the next (mean time to failure); absent: there is one
	// outage, at the time of at.
	MTTF time.Duration `yaml:"mttf" max:"720h"`
	// MTTR is the mean length of an outage (mean time to repair).
	MTTR time.Duration `yaml:"mttr" max:"720h"`
	// Spread is how the times to failure scatter about their mean: exponential, as independent failures come, or fixed.
	Spread string `yaml:"spread" oneof:"exponential fixed"`
	// RepairSpread is how the lengths of outages scatter about theirs.
	RepairSpread string `yaml:"repair_spread" oneof:"fixed exponential"`
}

// Any tells that there are outages.
func (o *Outages) Any() bool { return o.Kind != "none" && o.Kind != "" }

// span is how long a measure phase must be to see something of them.
func (o *Outages) span() time.Duration {
	if !o.Any() {
		return 0
	}
	return max(o.At+o.MTTR+time.Second, 3*(o.MTTF+o.MTTR))
}

func (p *Point) checkOutages(report reporter) {
	o := &p.Outages
	if !o.Any() {
		return
	}
	switch {
	case o.MTTR <= 0:
		report("outages.mttr", "is missing: how long does an outage last?")
	case o.At == 0 && o.MTTF <= 0:
		report("outages.mttf", "is missing: how long until an outage comes? For a single one write at")
	case o.At >= p.Phases.Measure:
		report("outages.at", "%v is not within the measure phase of %v", o.At, p.Phases.Measure)
	}
	ofBroker := o.Kind == "restart" || o.Kind == "kill"
	if ofBroker && o.Side != "both" {
		report("outages.side", "a broker ends for both sides")
	}
	if len(p.Faults) > 0 {
		report("outages", "not together with faults: who would tell what came of which?")
	}
	if !p.Connect.Reconnect {
		report("connect.reconnect", "false, but there are outages: nothing would come after the first")
	}
}
