package capacity

import (
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/search"
	"github.com/mqlab/mqlab/internal/stat"
	"github.com/mqlab/mqlab/internal/summary"
)

// Result is what was found of one subject at one point of the matrix. What is not known is absent.
type Result struct {
	Subject string            `json:"subject"`
	Set     []plan.Assignment `json:"set,omitempty"`
	Vary    string            `json:"vary"`
	// Sustainable is the largest value that keeps the limits. Every probe at or below Low held, every one at or above High did not:
	// the answer lies between.
	Sustainable *float64 `json:"sustainable,omitempty"`
	Low         *float64 `json:"sustainable_low,omitempty"`
	High        *float64 `json:"sustainable_high,omitempty"`
	// Delivered is the rate of deliveries at Sustainable; Peak the highest that was seen in any probe, whatever limits it kept, and
	// PeakAt the value of that probe.
	Delivered *float64 `json:"sustainable_delivered_per_s,omitempty"`
	Peak      *float64 `json:"peak_delivered_per_s,omitempty"`
	PeakAt    *float64 `json:"peak_at,omitempty"`
	Knee      *float64 `json:"knee,omitempty"` // the value from which on p99 grows much faster than before

	End        search.End          `json:"end"`
	Bottleneck *summary.Bottleneck `json:"ended_by,omitempty"` // of the probes next above
	Why        string              `json:"end_text,omitempty"` // what the first of these did not keep
	Settled    bool                `json:"settled"`
	Probes     []Probe             `json:"probes"`

	search *plan.Search
}

// Of replays the searches of a run. It is nil for a run that is no search. The summary is the run's.
func Of(s *summary.Summary, p *plan.Plan) ([]Result, error) {
	if p.Search == nil {
		return nil, nil
	}
	h, err := New(p)
	if err != nil {
		return nil, err
	}
	for i := range s.Trials {
		h.Add(s, s.Trials[i].ID)
	}
	return h.Results(), nil
}

// Results are what the searches have found so far.
func (h *Hunt) Results() []Result {
	var all []Result
	for i, s := range h.searches {
		all = append(all, h.result(i, s.Result()))
	}
	return all
}

func (h *Hunt) result(number int, r search.Result) Result {
	begin := &h.plan.Trials[number]
	out := Result{
		Subject: begin.Subject.Name, Set: begin.Params.Set, Vary: h.plan.Search.Vary, End: r.End, Settled: r.Settled,
		Sustainable: h.value(r.Best), Low: h.value(r.Low), High: h.value(r.High), Probes: h.probes[number], search: h.plan.Search,
	}
	if out.Probes == nil {
		out.Probes = []Probe{}
	}
	out.rates()
	out.knee()
	out.ended(h.value(r.Next))
	return out
}

func (h *Hunt) value(index int) *float64 {
	if index < 0 {
		return nil
	}
	return &h.values[index]
}

// rates finds what was delivered.
func (r *Result) rates() {
	var at []float64
	for i := range r.Probes {
		p := &r.Probes[i]
		rate := p.trial.Rates.Delivered
		if rate == nil || p.Outcome == search.Unmeasured {
			continue
		}
		if r.Peak == nil || *rate > *r.Peak {
			r.Peak, r.PeakAt = rate, &p.Value
		}
		if r.Sustainable != nil && p.Value == *r.Sustainable && p.Outcome == search.Held {
			at = append(at, *rate)
		}
	}
	if len(at) > 0 {
		r.Delivered = new(stat.Median(at))
	}
}

// knee finds where latency takes off among the values of which p99 is known.
func (r *Result) knee() {
	var x, y []float64
	for _, p := range r.Values() {
		if p.P99 != nil {
			x, y = append(x, p.Value), append(y, *p.P99)
		}
	}
	if i, ok := stat.Knee(x, y); ok {
		r.Knee = &x[i]
	}
}

// ended finds what kept the next larger value from being sustained: the bottleneck that most of its probes show, of those that failed;
// of those that could not be measured where that was the end.
func (r *Result) ended(next *float64) {
	if next == nil {
		return
	}
	outcome := search.Failed
	if r.End == search.NotTested {
		outcome = search.Unmeasured
	}
	var trials []*summary.Trial
	for i := range r.Probes {
		p := &r.Probes[i]
		if p.Value != *next || p.Outcome != outcome {
			continue
		}
		if r.Why == "" {
			r.Why = p.Why
		}
		trials = append(trials, p.trial)
	}
	r.Bottleneck = summary.CommonBottleneck(trials)
}
