package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/stamp"
)

// Search asks for the largest value of something that keeps limits, instead of measuring values that are written.
type Search struct {
	// Vary is what is searched. rate: messages per second in total. pairs: publishers, each with its subscriber, at the rate of each.
	// subscribers: those of a fanout. payload: bytes of a message. connections: publishers and subscribers, at a rate in total.
	Vary string `yaml:"vary" oneof:"rate pairs subscribers payload connections"`
	// From is where the search begins, for example 1000/s, 64B, 10. Absent: 100/s, 64B, or 1 (connections: 10).
	From Amount `yaml:"from"`
	// To is the largest value that is tried. Absent: 1000000/s, 1MiB, 10000 (connections: 20000); less where this host's limits
	// forbid it.
	To Amount `yaml:"to"`
	// Step is how finely is searched: from one value to the next, as a part of it, 0.1 % to 100 %. Absent: 5 %.
	Step Share `yaml:"step"`
	// Limits are what a value must keep to be sustained, one text each. Absent: p99 < 50ms, lost = 0, achieved >= 98 %.
	Limits []Limit `yaml:"limits"`
	// Confirm is by how many probes the answer must be ahead on each side of the edge, 1 to 10. Absent: 3.
	Confirm int `yaml:"confirm" min:"1" max:"10"`
	// Longest bounds the measure phase of a probe, which is longer than phases.measure where the limits' percentiles need more
	// messages. Absent: 30s.
	Longest time.Duration `yaml:"longest" min:"1s" max:"1h"`
}

// Amount is a number of messages per second, of bytes, or of connections.
type Amount struct {
	Value float64
	Unit  string // per_s, bytes, or "" where none was written
}

// The units of an Amount.
const (
	perSecond = "per_s"
	bytesUnit = "bytes"
)

// defaultSearchLimits are kept by what is sustained unless the scenario says otherwise.
var defaultSearchLimits = []string{"p99 < 50ms", "lost = 0", "achieved >= 98 %"}

// variable is something that can be searched.
type variable struct {
	name, key, unit string
	from, to        float64
}

// varied says of each thing that can be searched: which key it stands for, in what unit, and from where to where by default.
var varied = []variable{
	{"rate", "load.rate", perSecond, 100, 1e6},
	{"pairs", "load.publishers", "", 1, 10_000},
	{"subscribers", "load.subscribers", "", 1, 10_000},
	{"payload", "load.payload.size", bytesUnit, 64, 1 << 20},
	{"connections", "load.publishers", "", 10, 20_000},
}

// parseAmount reads 1000/s, 64B, 1KiB, 10.
func parseAmount(text string) (Amount, error) {
	if strings.Contains(text, "/") {
		r, err := parseRate(text)
		if err == nil && r.Each {
			err = errors.New("is in total: leave out \"each\"")
		}
		return Amount{r.PerSecond, perSecond}, err
	}
	value, unit, err := number(text)
	if err != nil {
		return Amount{}, err
	}
	if unit == "" {
		return Amount{Value: value}, nil
	}
	if _, known := sizeUnits[unit]; !known {
		return Amount{}, fmt.Errorf("%q is no amount: write for example 1000/s, 64B, 10", text)
	}
	n, err := parseSize(text)
	if err != nil {
		return Amount{}, err
	}
	return Amount{float64(n), bytesUnit}, nil
}

// Searches reports whether the scenario asks for a search.
func (s *Scenario) Searches() bool {
	_, whole := s.at["search"]
	for key := range s.at {
		whole = whole || strings.HasPrefix(key, "search.")
	}
	return whole
}

// completeSearch fills in what is not written.
func (s *Scenario) completeSearch() {
	x := &s.Search
	absent := func(key string) bool { return s.at[key] == (Pos{}) }
	if x.Vary == "" {
		x.Vary = "rate"
	}
	for _, v := range varied {
		if v.name != x.Vary {
			continue
		}
		if x.From.Value == 0 && absent("search.from") {
			x.From = Amount{v.from, v.unit}
		}
		if x.Vary == "payload" && absent("search.from") && s.Load.Payload.Form == "json" {
			x.From.Value = max(x.From.Value, float64(stamp.JSONSize))
		}
		if x.To.Value == 0 && absent("search.to") {
			x.To = Amount{max(v.to, x.From.Value), v.unit}
		}
	}
	if x.Step == 0 && absent("search.step") {
		x.Step = 0.05
	}
	if x.Confirm == 0 {
		x.Confirm = 3
	}
	if x.Longest == 0 {
		x.Longest = 30 * time.Second
	}
	if len(x.Limits) == 0 {
		for _, text := range defaultSearchLimits {
			x.Limits = append(x.Limits, Limit{Text: text, At: s.At("search")})
		}
	}
}

// checkSearch adds what contradicts a search. Points have been completed.
func (s *Scenario) checkSearch(points []Point, problems *Errors) {
	report := func(key, format string, args ...any) {
		if !problems.within(key) {
			problems.Add(s.At(key), key, format, args...)
		}
	}
	if problems.has("search.vary") {
		return // what would fit it is not known
	}
	s.checkAmounts(report)
	if at, written := s.at["repeat"]; written && at.Source != quickFlag {
		report("repeat", "a search repeats by itself where it must: leave out the key, see search.confirm")
	}
	if len(s.Limits) > 0 {
		report("limits", "the limits of a search stand under search.limits")
	}
	for i := range points {
		p := &points[i]
		p.checkSearch(s.Search.Vary, func(key, format string, args ...any) {
			problems.Add(p.At(key), key, format, args...)
		})
	}
}

func (s *Scenario) checkAmounts(report reporter) {
	x := &s.Search
	i := slices.IndexFunc(varied, func(v variable) bool { return v.name == x.Vary })
	if i < 0 {
		return
	}
	unit := varied[i].unit
	for key, a := range map[string]Amount{"search.from": x.From, "search.to": x.To} {
		switch {
		case a.Unit != "" && a.Unit != unit:
			report(key, "has the wrong unit for %s: write for example %s", x.Vary, map[string]string{perSecond: "1000/s", bytesUnit: "64B", "": "10"}[unit])
		case unit != perSecond && a.Value != float64(int64(a.Value)) || a.Value < 1 || a.Value > maxRate:
			report(key, "%v is no value for %s: a number from 1 to 1000000000, a whole one unless it is a rate", a.Value, x.Vary)
		}
	}
	if x.Vary == "payload" {
		least := stamp.Size
		if s.Load.Payload.Form == "json" {
			least = stamp.JSONSize
		}
		if x.From.Value < float64(least) && x.From.Value >= 1 {
			report("search.from", "%v B cannot hold the stamp: at least %d", x.From.Value, least)
		}
	}
	if x.Step < 0.001 || x.Step > 1 {
		report("search.step", "%v is out of range: 0.1 %% to 100 %%", float64(x.Step))
	}
	if x.To.Value < x.From.Value {
		report("search.to", "is below search.from")
	}
}

// checkSearch adds what of a point contradicts a search of something.
func (p *Point) checkSearch(vary string, report reporter) {
	l := &p.Load
	if key := searched(vary); p.written(key) {
		report(key, "is what is searched: leave out the key")
	}
	switch {
	case l.Rate.Max:
		report("load.rate", "as fast as possible keeps no limit on latency: a search needs a rate")
	case vary == "pairs" && !l.Rate.Each:
		report("load.rate", "more pairs are more load only where every publisher has a rate: write for example 10/s each")
	case vary == "connections" && l.Rate.Each:
		report("load.rate", "more connections are to carry the same load: leave out each, or vary pairs")
	}
	switch {
	case vary == "pairs" && l.Pattern != "pairs":
		report("load.pattern", "pairs are searched: leave out the key")
	case vary == "subscribers" && l.Pattern != "fanout":
		report("load.pattern", "more subscribers are more load only where each hears all: fanout")
	case vary == "connections" && l.Pattern != "pairs":
		report("load.pattern", "connections are searched with pairs")
	case vary == "payload" && (l.Payload.File != "" || l.Payload.Text != ""):
		report("load.payload", "has a size that is searched: no file and no text")
	}
	if l.Ramp != (Ramp{}) || l.Burst != (Burst{}) || len(p.Faults) > 0 || p.Outages != Defaults().Outages {
		report("search", "is for a steady load: no ramp, burst, fault or outage")
	}
}

// searched is the key that a search sets.
func searched(vary string) string {
	for _, v := range varied {
		if v.name == vary {
			return v.key
		}
	}
	return ""
}
