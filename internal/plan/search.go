package plan

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/mqlab/mqlab/internal/scenario"
	"github.com/mqlab/mqlab/internal/search"
)

// Search is what a run looks for: of each subject at each point of the matrix the largest value that keeps the limits.
type Search struct {
	Vary    string        `json:"vary"` // rate, pairs, subscribers, payload, connections
	From    float64       `json:"from"`
	To      float64       `json:"to"`
	Step    float64       `json:"step_ratio"`        // from one value to the next
	Limits  []string      `json:"limits"`            // as written
	Confirm int           `json:"confirm"`           // probes that the answer must be ahead by, on each side of the edge
	Need    int           `json:"need_deliveries"`   // that the limits' percentiles take
	Longest time.Duration `json:"longest_ns"`        // of a probe's measure phase
	Sockets int           `json:"sockets,omitempty"` // that one process of the generator can have; 0 = not known
	Bounded string        `json:"bounded,omitempty"` // why To is less than was asked for: a limit of this host
}

// climb is the factor from one probe to the next while nothing has failed.
const climb = 2

// Config is how each of the searches goes.
func (s *Search) Config() search.Config {
	return search.Config{Values: s.values(), Climb: climb, Margin: s.Confirm}
}

func (s *Search) values() []float64 {
	g := search.Grid{From: s.From, To: s.To, Step: s.Step}
	if s.Vary == VaryConnections {
		g.Unit = 2 // a pair has two
	}
	return g.Values()
}

// What can be searched.
const (
	VaryRate        = "rate"
	VaryPairs       = "pairs"
	VarySubscribers = "subscribers"
	VaryPayload     = "payload"
	VaryConnections = "connections"
)

// Probe is the trial that tries a value; begin is that of the plan which the search begins with. Trials of one value are
// repetitions of each other, and values are points, as those of a matrix are.
func (s *Search) Probe(begin Trial, p search.Probe, id int) Trial {
	values := len(s.values())
	t := begin
	t.ID, t.Repetition, t.Seed = id, p.Repetition, derive(begin.Seed, p.Index, p.Repetition)
	t.Cell, t.Point = (begin.Cell-1)*values+p.Index+1, (begin.Point-1)*values+p.Index+1
	t.Params.Set = append(slices.Clip(begin.Params.Set), Assignment{Key: s.Vary, Value: s.Text(p.Value)})
	s.set(&t.Params, p.Value)
	t.Params.Phases.Measure = s.length(&t.Params)
	if n := t.generators(s.Sockets); n > 1 {
		t.Params.Generators = max(n, t.Params.Generators)
	}
	return t
}

// Found tells which cell of the plan a probe's cell belongs to, and the index of the value it tried.
func (s *Search) Found(probed int) (cell, index int) {
	values := len(s.values())
	return (probed-1)/values + 1, (probed - 1) % values
}

// set gives the parameters one value of what is searched.
func (s *Search) set(p *Params, v float64) {
	switch n := int(v); s.Vary {
	case VaryRate:
		p.RatePerS = v
	case VaryPairs:
		p.RatePerS *= v / float64(p.Publishers)
		p.Publishers, p.Subscribers = n, n
	case VarySubscribers:
		p.Subscribers = n
	case VaryPayload:
		p.PayloadBytes = n
	case VaryConnections:
		p.Publishers, p.Subscribers = n/2, n/2
	}
}

// length is how long a probe is measured: long enough for the deliveries that its limits need.
func (s *Search) length(p *Params) time.Duration {
	seconds := float64(s.Need) / (p.RatePerS * float64(p.Fan()))
	return max(p.Phases.Measure, min(s.Longest, time.Duration(math.Ceil(seconds))*time.Second))
}

// Text writes a value with its unit.
func (s *Search) Text(v float64) string {
	switch s.Vary {
	case VaryRate:
		return decimal(v) + "/s"
	case VaryPayload:
		return decimal(v) + " B"
	}
	return decimal(v)
}

// search plans what each subject begins with at each point.
func (r *resolver) search(s *scenario.Scenario, p *Plan, params []Params, able [][]bool) {
	x := &s.Search
	p.Repeat = 1
	p.Search = &Search{
		Vary: x.Vary, From: x.From.Value, To: x.To.Value, Step: float64(x.Step), Confirm: x.Confirm, Longest: x.Longest, Need: 1,
		Sockets: r.options.Sockets,
	}
	for _, l := range x.Limits {
		p.Search.Limits = append(p.Search.Limits, l.Text)
		if r.options.SearchLimit != nil {
			p.Search.Need = max(p.Search.Need, r.options.SearchLimit(l.Text))
		}
	}
	if len(r.problems) > 0 {
		return
	}
	for point := range params {
		p.Search.set(&params[point], p.Search.values()[0])
		params[point].Phases.Measure = max(params[point].Phases.Measure, time.Second)
	}
	p.Trials = interleave(p.Seed, p.Subjects, params, able, 1)
	for i := range p.Trials {
		p.Trials[i].ID = 0
		r.checkProbes(s, p, &p.Trials[i])
	}
}

// checkProbes refuses what a search cannot decide, and bounds it by what this host allows.
func (r *resolver) checkProbes(s *scenario.Scenario, p *Plan, begin *Trial) {
	x := p.Search
	probe := func(v float64) *Trial {
		t := x.Probe(*begin, search.Probe{Value: v, Repetition: 1}, 1)
		return &t
	}
	values := x.values()
	first := probe(values[0])
	if least := math.Round(float64(x.Need) / enough * spare); first.Params.messages()*float64(first.Params.Fan()) < least && len(r.problems) == 0 {
		r.problems.Add(s.At("search.from"), "search.from", "%s gives %s deliveries in %v, and the limits need %s: begin with more, or set search.longest",
			x.Text(values[0]), decimal(first.Params.messages()), first.Params.Phases.Measure, decimal(least))
	}
	unfit := func(v float64) string {
		t := probe(v)
		if n := t.Params.connections(); n > maxConnections {
			return "would need " + count(int64(n), "connection") + ", and there are " + grouped(maxConnections) + " from one address"
		}
		if r.options.Unfit == nil {
			return ""
		}
		return r.options.Unfit(t.Estimate())
	}
	fits := len(values)
	for fits > 0 && unfit(values[fits-1]) != "" {
		fits--
	}
	switch {
	case fits == 0:
		r.problems.Add(s.At("search.from"), "search.from", "%s does not fit this host: it %s", x.Text(values[0]), unfit(values[0]))
	case fits < len(values):
		x.To, x.Bounded = values[fits-1], unfit(values[fits])
	}
}

// enough is how many times as many deliveries as a percentile takes at least a probe has: with 1,000 for p99 ten are
// later than it, give or take three; with 10,000 a hundred, give or take ten.
const enough = 10

// spare is how many times as many are planned for at least: how many are due in a window varies with the phases of the schedules.
const spare = 1.1

// estimateSearch bounds what the searches take.
func (p *Plan) estimateSearch() (sum Estimate) {
	c := p.Search.Config()
	for i := range p.Trials {
		lengths := make([]time.Duration, 0, len(c.Values))
		var whole time.Duration
		for n, v := range c.Values {
			t := p.Search.Probe(p.Trials[i], search.Probe{Index: n, Value: v, Repetition: 1}, 1)
			e := t.Estimate()
			lengths = append(lengths, e.DurationMax)
			whole += e.Duration
			sum.Connections, sum.OpenFiles = max(sum.Connections, e.Connections), max(sum.OpenFiles, e.OpenFiles)
			sum.Ports, sum.PortsAway = max(sum.Ports, e.Ports), max(sum.PortsAway, e.PortsAway)
			if n == 0 {
				sum.BrokerStarts += e.BrokerStarts * c.Most()
			}
		}
		sum.Trials += c.Most()
		sum.AsFastAsPossible += c.Most()
		sum.Duration += whole / time.Duration(len(c.Values)) * time.Duration(c.About())
		sum.DurationMax += slices.Max(lengths) * time.Duration(c.Most())
	}
	return sum
}

// search describes what is looked for.
func (t *text) search(p *Plan) {
	s := p.Search
	t.line("search", "the largest "+s.Noun()+" from "+s.Text(s.From)+" to "+s.Text(s.To)+" that keeps the limits, to "+decimal(100*s.Step)+
		" %: growing by "+strconv.Itoa(climb)+"× until one fails, then halving what is left, then repeating both sides of the edge until one answer is ahead by "+
		count(int64(s.Confirm), "probe"))
	if s.Bounded != "" {
		t.line("", "no further, because "+s.Text(s.To)+" is the most that fits this host: more "+s.Bounded)
	}
	for i, l := range s.Limits {
		t.line([]string{"limits", ""}[min(i, 1)], l)
	}
}

// Noun names what is searched.
func (s *Search) Noun() string {
	if s.Vary == VaryRate || s.Vary == VaryPayload {
		return s.Vary
	}
	return "number of " + s.Vary
}

// searchEstimate says how long it may take.
func (t *text) searchEstimate(p *Plan, e Estimate) {
	c := p.Search.Config()
	first := p.Search.Probe(p.Trials[0], search.Probe{Value: c.Values[0], Repetition: 1}, 1)
	shortest, longest := p.Trials[0].Params.Phases.Measure, first.Params.Phases.Measure
	length := shortest.String()
	if longest > shortest {
		length += " to " + longest.String() + ", for " + grouped(int64(p.Search.Need)) + " deliveries"
	}
	fresh := "a fresh broker for every probe"
	if !slices.ContainsFunc(p.Subjects, func(s Subject) bool { return s.Runtime != "external" }) {
		fresh = "the same broker for every probe"
	}
	t.line("searches", strconv.Itoa(len(p.Trials))+", each of about "+strconv.Itoa(c.About())+" probes, at most "+strconv.Itoa(c.Most())+"; "+fresh)
	t.line("a probe", "measured for "+length+"; stopped early when it cannot keep the limits any more")
	t.line("duration", "about "+seconds(e.Duration)+", at most "+seconds(e.DurationMax))
	t.line("needs", "at most "+count(int64(e.Connections), "connection")+" at a time: "+count(int64(e.OpenFiles), "open file")+" and "+count(int64(e.Ports), "port"))
}
