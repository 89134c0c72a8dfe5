package jitter

import (
	"cmp"
	"slices"
	"time"

	"github.com/mqlab/mqlab/internal/summary"
)

// Plan is what was to be measured, written before it is.
type Plan struct {
	Cases  []Case    `json:"cases"`
	Rounds int       `json:"rounds"`
	Echo   string    `json:"echo"` // here, elsewhere
	Topics Topics    `json:"topics"`
	Not    []Skipped `json:"not_measured"`
}

// Skipped is a case that could not be measured here.
type Skipped struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// Trial is one round of one case, as it is kept.
type Trial struct {
	ID            int
	Case          int // its place in the plan
	Round         int
	Broker        string // as it names itself
	BrokerVersion string
	Failure       string  // why there is no result; "" = there is
	Result        *Result // nil = none
}

// Report is the fold of a run.
type Report struct {
	Schema  int       `json:"schema"`
	Run     string    `json:"run"`
	Started time.Time `json:"started"`
	Plan
	Cases []CaseReport `json:"cases"`
}

// CaseReport is what is known of a case. Its figures are of all messages of its valid rounds together.
type CaseReport struct {
	Case
	Library       string           `json:"library,omitempty"`
	Version       string           `json:"version,omitempty"`
	BrokerVersion string           `json:"broker_version,omitempty"`
	Validity      summary.Validity `json:"validity"` // invalid if no round is valid
	Why           string           `json:"why,omitempty"`
	Cause         string           `json:"cause,omitempty"` // the verdict that most of the valid rounds have
	Share         float64          `json:"cause_ratio,omitempty"`
	Service       Figures          `json:"service"`
	Response      Figures          `json:"response"`
	Modes         []Mode           `json:"modes"`
	Histogram     []Bin            `json:"histogram"`
	Rounds        []*Round         `json:"rounds"`
	Failed        []string         `json:"failures,omitempty"`
}

// NewReport folds the trials of a run.
func NewReport(run string, started time.Time, p Plan, trials []Trial) *Report {
	r := &Report{Schema: 1, Run: run, Started: started, Plan: p}
	slices.SortStableFunc(trials, func(a, b Trial) int { return cmp.Compare(a.ID, b.ID) })
	for i := range p.Cases {
		c := CaseReport{Case: p.Cases[i], Rounds: []*Round{}}
		for _, t := range trials {
			if t.Case == i {
				c.add(&t)
			}
		}
		c.fold()
		r.Cases = append(r.Cases, c)
	}
	return r
}

func (c *CaseReport) add(t *Trial) {
	c.BrokerVersion = cmp.Or(t.BrokerVersion, c.BrokerVersion)
	if t.Result == nil {
		c.Failed = append(c.Failed, t.Failure)
		return
	}
	c.Library, c.Version = t.Result.Library, t.Result.Version
	c.Rounds = append(c.Rounds, newRound(&c.Case, t.ID, t.Result))
}

// fold puts the valid rounds together; where there is none, those that are not, and says so.
func (c *CaseReport) fold() {
	use := slices.DeleteFunc(slices.Clone(c.Rounds), func(r *Round) bool { return r.Validity == summary.Invalid })
	c.Validity = summary.Valid
	switch {
	case len(c.Rounds) == 0 && len(c.Failed) > 0:
		c.Validity, c.Why = summary.Invalid, c.Failed[0]
	case len(c.Rounds) == 0:
		c.Validity, c.Why = summary.Invalid, "it was not measured"
	case len(use) == 0:
		c.Validity, use = summary.Invalid, c.Rounds
		for _, reason := range c.Rounds[0].Reasons {
			if reason.Level == summary.Invalid {
				c.Why = cmp.Or(c.Why, reason.Text)
			}
		}
	case len(use) < len(c.Rounds) || len(c.Failed) > 0 || slices.ContainsFunc(use, func(r *Round) bool { return r.Validity != summary.Valid }):
		c.Validity = summary.Warning
	}
	var services, responses []int64
	expected := 0
	for _, r := range use {
		services, responses = append(services, r.times...), append(responses, r.responses...)
		expected += int(r.Service.Expected)
	}
	c.Service, c.Response = figuresOf(services, expected), figuresOf(responses, expected)
	c.Modes, c.Histogram = modesOf(services), histogramOf(services)
	c.verdict(use)
}

// verdict is the cause that most rounds name, the first of them where there are as many.
func (c *CaseReport) verdict(rounds []*Round) {
	counts, shares := map[string]int{}, map[string]float64{}
	var names []string
	for _, r := range rounds {
		name := string(r.Diagnosis.Verdict)
		if counts[name]++; counts[name] == 1 {
			names = append(names, name)
		}
		shares[name] += r.Diagnosis.Findings[0].Share
	}
	for _, name := range names {
		if counts[name] > counts[c.Cause] {
			c.Cause = name
		}
	}
	if n := counts[c.Cause]; n > 0 {
		c.Share = shares[c.Cause] / float64(n)
	}
}
