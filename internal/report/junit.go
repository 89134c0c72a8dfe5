package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"time"

	"github.com/mqlab/mqlab/internal/capacity"
	"github.com/mqlab/mqlab/internal/gate"
	"github.com/mqlab/mqlab/internal/summary"
)

// JUnit writes limits and validity as test results: a case for every check of the gate, a missed one as failure, an undecidable
// one as error; and one for every cell, an error if it has no valid repetition. Of a run of searches there is a case for every search
// instead, an error if it has no final answer. The form is the JUnit XML that CI servers read
// (https://github.com/testmoapp/junitxml).
func JUnit(w io.Writer, s *summary.Summary, g *gate.Gate, found []capacity.Result) error {
	suite := junitSuite{Name: "mqlab " + s.Run.Scenario, Timestamp: s.Run.Started.UTC().Format(time.RFC3339), Hostname: s.Run.Host.Hostname}
	suite.Properties = []junitProperty{{"run", s.Run.ID}, {"seed", fmt.Sprint(s.Run.Seed)}}
	for i := range s.Cells {
		if len(found) == 0 {
			suite.add(cellCase(&s.Cells[i]))
		}
	}
	for i := range found {
		suite.add(searchCase(&found[i]))
	}
	if g != nil {
		if g.Baseline != "" {
			suite.Properties = append(suite.Properties, junitProperty{"baseline", g.Baseline})
		}
		for i := range g.Checks {
			suite.add(checkCase(&g.Checks[i]))
		}
	}
	if !s.Run.Complete {
		suite.add(junitCase{Class: s.Run.Scenario, Name: "the run reached its end", Error: &junitProblem{Message: "it did not", Type: "incomplete"}})
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(junitSuites{Suites: []junitSuite{suite}}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string          `xml:"name,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Timestamp  string          `xml:"timestamp,attr"`
	Hostname   string          `xml:"hostname,attr,omitempty"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *junitProblem `xml:"failure,omitempty"`
	Error   *junitProblem `xml:"error,omitempty"`
	Output  string        `xml:"system-out,omitempty"`
}

type junitProblem struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
}

func (s *junitSuite) add(c junitCase) {
	s.Tests++
	if c.Failure != nil {
		s.Failures++
	}
	if c.Error != nil {
		s.Errors++
	}
	s.Cases = append(s.Cases, c)
}

func cellCase(c *summary.Cell) junitCase {
	k := junitCase{Class: cellName(c), Name: "has a valid repetition"}
	if c.Valid == 0 {
		k.Error = &junitProblem{Message: fmt.Sprintf("none of %s is valid", summary.Plural(uint64(len(c.Trials)), "trial")), Type: string(summary.Invalid)}
	}
	return k
}

func searchCase(r *capacity.Result) junitCase {
	k := junitCase{Class: r.Name(), Name: "has a sustainable " + r.Noun()}
	if !r.Answered() {
		k.Error = &junitProblem{Message: r.Sentence(), Type: string(r.End)}
		return k
	}
	low, high := r.Text(r.Low), r.Text(r.High)
	k.Output = fmt.Sprintf("%s. Sustainable %s, between %s and %s; knee %s; peak %s deliveries/s at %s; ended by %s.",
		r.Sentence(), r.Text(r.Sustainable), low, high, r.Text(r.Knee), numberOf(r.Peak), r.Text(r.PeakAt), r.EndedBy())
	return k
}

// cellName is the subject with the matrix values of its point.
func cellName(c *summary.Cell) string {
	if len(c.Set) == 0 {
		return c.Subject.Name
	}
	return c.Subject.Name + ", " + setWords(c.Set)
}

func checkCase(c *gate.Check) junitCase {
	k := junitCase{Class: c.Name(), Name: c.Limit}
	problem := &junitProblem{Message: c.Text, Type: string(c.Result)}
	switch c.Result {
	case gate.Pass:
		k.Output = c.Text
	case gate.Missed:
		k.Failure = problem
	default:
		k.Error = problem
	}
	return k
}
