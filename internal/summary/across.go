package summary

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/plan"
)

// Across is a comparison of runs: what is the same load in several of them, by the statistics that are used within a run. Its
// trials, cells, points and subjects are numbered and named anew; a subject's name ends in the label of its run.
type Across struct {
	Schema      int          `json:"schema"`
	Runs        []Labelled   `json:"runs"`
	Differences []Difference `json:"differences"`            // of hosts, versions, configuration and parameters
	NotCompared []string     `json:"not_compared,omitempty"` // what is in one of the runs only, or not valid
	Cells       []Cell       `json:"cells"`
	Comparisons []Comparison `json:"comparisons"`

	Trials []Trial `json:"-"`
}

// Labelled is a run and the letter it has in the comparison.
type Labelled struct {
	Label    string    `json:"label"`
	ID       string    `json:"id"`
	Scenario string    `json:"scenario"`
	Started  time.Time `json:"started"`
	Trials   int       `json:"trials"` // that are compared
}

// Difference is something that is not the same in all runs, with its value in each; – where a run has none.
type Difference struct {
	What   string   `json:"what"`
	Values []string `json:"values"`
}

// maxRuns is how many runs have a letter.
const maxRuns = 26

// CompareRuns compares two runs or more. A subject that several runs have is compared with itself; where no subject is in two
// runs, all of one load are compared with each other. The error, one line for each reason, says why there is nothing to
// compare; unless anyHost is set, different machines are one.
func CompareRuns(runs []*Summary, anyHost bool) (*Across, error) {
	if len(runs) < 2 || len(runs) > maxRuns {
		return nil, fmt.Errorf("%d runs: 2 to %d can be compared", len(runs), maxRuns)
	}
	m := &merger{runs: runs, out: &Across{Schema: Schema, Differences: []Difference{}}}
	if err := m.admit(anyHost); err != nil {
		return nil, err
	}
	m.match()
	m.differences()
	if err := m.build(); err != nil {
		return nil, err
	}
	return m.out, nil
}

// merger makes one comparison of several runs.
type merger struct {
	runs    []*Summary
	out     *Across
	matches []*match
}

// match is what is compared with each other: cells under one load.
type match struct {
	subject string // "" = all subjects of this load
	load    facts
	set     []plan.Assignment
	members []member
}

// member is a cell of a run.
type member struct {
	run    int
	trials []*Trial
}

func label(run int) string { return string(rune('A' + run)) }

// admit refuses runs that must not be compared whatever they measured.
func (m *merger) admit(anyHost bool) error {
	var reasons []error
	for i, r := range m.runs {
		for k, o := range m.runs[:i] {
			if r.Run.ID == o.Run.ID && r.Run.Started.Equal(o.Run.Started) {
				reasons = append(reasons, fmt.Errorf("%s and %s are the same run", label(k), label(i)))
			}
		}
		if apart := HostsApart(&m.runs[0].Run.Host, &r.Run.Host, "A", label(i)); i > 0 && apart != "" && !anyHost {
			reasons = append(reasons, fmt.Errorf("not the same machine: %s; --across-hosts compares nevertheless", apart))
		}
	}
	return errors.Join(reasons...)
}

// match finds what is under one load.
func (m *merger) match() {
	shared, loadOf := m.sharedSubjects(), loadIn(m.runs...)
	for run, s := range m.runs {
		for i := range s.Cells {
			c := &s.Cells[i]
			subject := ""
			if len(shared) > 0 {
				subject = c.Subject.Name
			}
			trials := s.trialsOf(c.Cell)
			if len(trials) == 0 {
				continue
			}
			load := loadOf(trials[0])
			n := slices.IndexFunc(m.matches, func(x *match) bool { return x.subject == subject && maps.Equal(x.load, load) })
			if n < 0 {
				n = len(m.matches)
				m.matches = append(m.matches, &match{subject: subject, load: load, set: c.Set})
			}
			m.matches[n].members = append(m.matches[n].members, member{run, trials})
		}
	}
}

// sharedSubjects are those that several runs have.
func (m *merger) sharedSubjects() (shared []string) {
	var seen []string
	for _, s := range m.runs {
		var mine []string
		for i := range s.Cells {
			if name := s.Cells[i].Subject.Name; !slices.Contains(mine, name) {
				mine = append(mine, name)
			}
		}
		for _, name := range mine {
			if slices.Contains(seen, name) && !slices.Contains(shared, name) {
				shared = append(shared, name)
			}
		}
		seen = append(seen, mine...)
	}
	return shared
}

func (s *Summary) trialsOf(cell int) (trials []*Trial) {
	for i := range s.Trials {
		if s.Trials[i].Cell == cell {
			trials = append(trials, &s.Trials[i])
		}
	}
	return trials
}

// common reports whether the match has cells of several runs.
func (x *match) common() bool {
	return slices.ContainsFunc(x.members, func(c member) bool { return c.run != x.members[0].run })
}

// name says what is matched.
func (x *match) name() string {
	var words []string
	if x.subject != "" {
		words = append(words, x.subject)
	} else {
		for _, c := range x.members {
			words = append(words, c.trials[0].Subject.Name)
		}
	}
	for _, a := range x.set {
		words = append(words, a.Key+" "+a.Value)
	}
	return strings.Join(words, ", ")
}

// build numbers and names what is common anew and compares it.
func (m *merger) build() error {
	compared := make([]int, len(m.runs))
	subjects := map[string]bool{}
	for _, x := range m.matches {
		if x.common() {
			subjects[x.subject] = true
		}
	}
	point, cell := 0, 0
	for _, x := range m.matches {
		if !x.common() {
			m.leaveOut("%s: only in %s", x.name(), label(x.members[0].run))
			continue
		}
		point++
		set := x.set
		if len(subjects) > 1 {
			set = append([]plan.Assignment{{Key: "subject", Value: x.subject}}, set...)
		}
		for _, c := range x.members {
			cell++
			for _, t := range c.trials {
				n := *t
				n.ID, n.Point, n.Cell, n.Params.Set = len(m.out.Trials)+1, point, cell, set
				n.Subject.Name += " (" + label(c.run) + ")"
				m.out.Trials = append(m.out.Trials, n)
				compared[c.run]++
			}
		}
	}
	if point == 0 {
		return m.nothingCommon()
	}
	m.out.Cells = cellsOf(m.out.Trials)
	if err := m.valid(point); err != nil {
		return err
	}
	m.out.Comparisons = comparisonsOf(fieldsOf(m.out.Trials), m.runs[0].Run.Seed)
	for i, s := range m.runs {
		m.out.Runs = append(m.out.Runs, Labelled{label(i), s.Run.ID, s.Run.Scenario, s.Run.Started, compared[i]})
	}
	return nil
}

func (m *merger) leaveOut(format string, args ...any) {
	m.out.NotCompared = append(m.out.NotCompared, fmt.Sprintf(format, args...))
}

// valid refuses where no point has two cells that were validly measured, and names those that were not.
func (m *merger) valid(points int) error {
	valid := make([]int, points+1)
	var missing []string
	for i := range m.out.Cells {
		c := &m.out.Cells[i]
		if c.Valid > 0 {
			valid[c.Point]++
			continue
		}
		missing = append(missing, c.Subject.Name+": no valid trial")
	}
	if slices.Max(valid) < 2 {
		const named = 4
		more := ""
		if n := len(missing) - named; n > 1 {
			missing, more = missing[:named], fmt.Sprintf("; and %d more", n)
		}
		return errors.New("nothing to compare: " + strings.Join(missing, "; ") + more)
	}
	m.out.NotCompared = append(m.out.NotCompared, missing...)
	return nil
}

// nothingCommon says where the loads that are nearest to each other differ.
func (m *merger) nothingCommon() error {
	nearest := ""
	for i, x := range m.matches {
		for _, y := range m.matches[:i] {
			a, b := y.members[0].run, x.members[0].run
			if a == b || x.subject != y.subject {
				continue
			}
			if apart := y.load.apart(x.load, label(a), label(b)); nearest == "" || len(apart) < len(nearest) {
				nearest = apart
			}
		}
	}
	if nearest == "" {
		return errors.New("nothing to compare: one of the runs has no trial")
	}
	return errors.New("no load is common to these runs: " + nearest)
}
