package plan

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/mqlab/mqlab/internal/scenario"
)

// Outages are failures that come by themselves while measuring: how long until the next, and how long each lasts.
type Outages struct {
	Kind string `json:"kind"`            // see Outage
	Side string `json:"side,omitempty"`  // publishers, subscribers; absent: both
	At   int64  `json:"at_ns,omitempty"` // when the first begins; absent: drawn as the others are
	// MTTF is the mean time from the end of one to the beginning of the next; absent: there is but one. MTTR is the mean time
	// that one lasts.
	MTTF         time.Duration `json:"mttf_ns,omitempty"`
	MTTR         time.Duration `json:"mttr_ns"`
	Spread       string        `json:"spread"`        // exponential, fixed: of the time until the next
	RepairSpread string        `json:"repair_spread"` // likewise, of how long one lasts
}

// Outage is one failure of a trial.
type Outage struct {
	At   time.Duration `json:"at_ns"`  // since the measure window opened
	For  time.Duration `json:"for_ns"` // until all is well again
	Kind string        `json:"kind"`
	Side string        `json:"side,omitempty"`
}

// The kinds of outages. restart and kill, which are done to the broker, are those of faults.
const (
	OutageReset     = "rst"       // connections end by a RST at both ends, and new ones are refused
	OutageBlackHole = "blackhole" // nothing gets through, and nobody is told
	OutageHalfOpen  = "half-open" // likewise for what is open, for good; new connections work
	OutageDrip      = "drip"      // a few bytes a second get through
)

// describe says which outages there are, in words.
func (o *Outages) describe() string {
	if o.Kind == "" {
		return "none"
	}
	drawn := func(mean time.Duration, spread string) string {
		if spread == spreadFixed {
			return mean.String()
		}
		return mean.String() + " on average"
	}
	text := o.Kind
	if o.Side != "" {
		text += " of " + o.Side
	}
	if o.At > 0 {
		text += ", at " + time.Duration(o.At).String()
	}
	if o.MTTF > 0 {
		text += ", " + drawn(o.MTTF, o.Spread) + " after the last ended"
	}
	return text + ", for " + drawn(o.MTTR, o.RepairSpread)
}

// The sides of connections.
const (
	SidePublishers  = "publishers"
	SideSubscribers = "subscribers"
)

// spreadFixed says that a time is the mean itself; else it is drawn.
const spreadFixed = "fixed"

// OfBroker tells that it is done to the broker, not to connections.
func (o *Outage) OfBroker() bool { return o.Kind == FaultRestart || o.Kind == FaultKill }

// ByLink tells that the trial's link brings it about: a black hole for all connections. Every other outage of connections is done at
// their devices' end.
func (t *Trial) ByLink(o *Outage) bool {
	return t.Params.Link.Emulated() && o.Kind == OutageBlackHole && o.Side == ""
}

// Disturbed tells that messages may get stuck on their way: the link is weak, or something fails.
func (t *Trial) Disturbed() bool {
	return t.Params.Link.Emulated() || len(t.Params.Faults) > 0 || len(t.Outages) > 0
}

// Hits tells which connections an outage of connections is done to.
func (o *Outage) Hits() (publishers, subscribers bool) {
	return o.Side != SideSubscribers, o.Side != SidePublishers
}

// maxOutages bounds the outages of one trial.
const maxOutages = 10_000

// shortest is the shortest outage there is: one that would be cut to less by the end of the measure phase is left out.
const shortest = 10 * time.Millisecond

// schedule draws the outages of one trial. All have ended when the measure phase does. The same seed gives the same.
func (o *Outages) schedule(measure time.Duration, seed uint64) (list []Outage) {
	if o.Kind == "" {
		return nil
	}
	rng := rand.New(rand.NewPCG(seed, 0x6f7574616765))
	draw := func(mean time.Duration, spread string) time.Duration {
		if spread == spreadFixed {
			return mean
		}
		return time.Duration(-float64(mean) * math.Log(1-rng.Float64()))
	}
	at := time.Duration(o.At)
	if at == 0 {
		at = draw(o.MTTF, o.Spread)
	}
	for len(list) < maxOutages {
		length := min(max(draw(o.MTTR, o.RepairSpread), shortest), measure-at)
		if length < shortest {
			break
		}
		list = append(list, Outage{At: at, For: length, Kind: o.Kind, Side: o.Side})
		if o.MTTF == 0 {
			break
		}
		at += length + draw(o.MTTF, o.Spread)
	}
	return list
}

func outages(p *scenario.Point) Outages {
	o := &p.Outages
	if !o.Any() {
		return Outages{}
	}
	out := Outages{Kind: o.Kind, At: int64(o.At), MTTF: o.MTTF, MTTR: o.MTTR, Spread: o.Spread, RepairSpread: o.RepairSpread}
	if o.Side != "both" {
		out.Side = o.Side
	}
	return out
}

// checkOutages looks for what cannot be done to a subject.
func checkOutages(p *scenario.Point, s Subject, report reporter) {
	ofBroker := slices.Contains([]string{FaultRestart, FaultKill}, p.Outages.Kind)
	switch {
	case ofBroker && s.Runtime == "external":
		report("outages.kind", "a broker that was not started here cannot be ended")
	}
}
