package report

import (
	"fmt"
	"strings"

	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/summary"
)

// group is what one set of tables shows: the subjects of one point that give the same guarantee; or, where there is but one
// subject, all points.
type group struct {
	heading     string
	load        string // in words
	openLoop    bool
	rows        []row
	comparisons map[string]*summary.Comparison // by metric; nil where rows are of several points
	unlike      []summary.Unlike
}

// row is a cell and its place in the comparisons of its point.
type row struct {
	label       string
	cell        *summary.Cell
	comparisons map[string]*summary.Comparison
}

// name is the group's name in a table.
func (g *group) name() string { return g.heading }

// contested reports whether there is anybody to compare with.
func (g *group) contested() bool { return g.comparisons != nil && len(g.rows) > 1 }

// groupsOf arranges the cells.
func groupsOf(s *summary.Summary) []*group {
	lone := loneSubject(s)
	var groups []*group
	for i := range s.Cells {
		c := &s.Cells[i]
		params := paramsOf(s, c)
		var g *group
		for _, x := range groups {
			if lone || x.rows[0].cell.Point == c.Point && x.rows[0].cell.Guarantee == c.Guarantee {
				g = x
			}
		}
		r := row{label: c.Subject.Name, cell: c, comparisons: comparisonsOf(s, c)}
		if g == nil {
			g = &group{heading: heading(s, c), load: load(params, c.Guarantee), openLoop: params.Pacing != "max", comparisons: r.comparisons}
			groups = append(groups, g)
			if cs := r.comparisons[summary.ResponseP50]; cs != nil {
				g.unlike = cs.NotComparable
			}
		}
		if lone {
			r.label, g.comparisons = setWords(c.Set), nil
			g.heading, g.load = "Results for "+c.Subject.Name, load(params, c.Guarantee)
		}
		g.rows = append(g.rows, r)
	}
	return groups
}

// loneSubject reports whether several points have one and the same subject only.
func loneSubject(s *summary.Summary) bool {
	for i := range s.Cells {
		if s.Cells[i].Subject.Name != s.Cells[0].Subject.Name {
			return false
		}
	}
	return len(s.Cells) > 1
}

func paramsOf(s *summary.Summary, c *summary.Cell) *plan.Params {
	for i := range s.Trials {
		if s.Trials[i].Cell == c.Cell {
			return &s.Trials[i].Params
		}
	}
	return new(plan.Params)
}

func comparisonsOf(s *summary.Summary, c *summary.Cell) map[string]*summary.Comparison {
	m := map[string]*summary.Comparison{}
	for i := range s.Comparisons {
		if x := &s.Comparisons[i]; x.Point == c.Point && x.Guarantee == c.Guarantee {
			m[x.Metric] = x
		}
	}
	return m
}

// heading names the point, and the guarantee where the point has several.
func heading(s *summary.Summary, c *summary.Cell) string {
	name := setWords(c.Set)
	for i := range s.Cells {
		if o := &s.Cells[i]; o.Point == c.Point && o.Guarantee != c.Guarantee {
			return strings.TrimPrefix(name+", "+c.Guarantee, ", ")
		}
	}
	if name == "" {
		return "Results"
	}
	return name
}

func setWords(set []plan.Assignment) string {
	parts := make([]string, len(set))
	for i, a := range set {
		parts[i] = a.Key + " " + a.Value
	}
	return strings.Join(parts, ", ")
}

// load describes what was asked of the broker.
func load(p *plan.Params, guarantee string) string {
	rate := "as fast as possible"
	if p.Pacing != "max" {
		rate = summary.Number(p.RatePerS) + " messages/s in total"
		if p.RampToPerS > 0 {
			rate += " growing to " + summary.Number(p.RampToPerS)
		}
		if p.Pacing == "poisson" {
			rate += " (Poisson)"
		}
	}
	text := fmt.Sprintf("%s: %s, %s; %s of %s; QoS %d, %s; measured for %s", p.Pattern, plural(uint64(p.Publishers), "publisher"),
		plural(uint64(p.Subscribers), "subscriber"), rate, summary.Bytes(uint64(p.PayloadBytes)), p.QoS, guarantee, p.Phases.Measure)
	for _, f := range p.Faults {
		text += fmt.Sprintf("; %s of %s at %s", f.Kind, f.For, f.At)
	}
	return text + "."
}

// sentences are the verdicts of the metrics that matter for the load; others only where there is a difference.
func (g *group) sentences() list {
	always := []string{summary.ResponseP50, summary.ResponseP99}
	if !g.openLoop {
		always = []string{summary.DeliveredPer}
	}
	var points list
	for _, m := range summary.Metrics {
		c := g.comparisons[m.Name]
		if c == nil {
			continue
		}
		matters := false
		for _, name := range always {
			matters = matters || name == m.Name
		}
		if !matters && m.Name != summary.DeliveredPer && m.Name != summary.LostRatio && m.Name != summary.BrokerCPU && m.Name != summary.BrokerPSS {
			continue
		}
		points = append(points, sentencesOf(c, matters)...)
	}
	return points
}

// sentencesOf compares the best subject with each other one.
func sentencesOf(c *summary.Comparison, all bool) (points list) {
	for _, v := range c.Verdicts {
		if len(c.Groups) == 0 || v.Better != c.Groups[0][0] || !v.Different && !all {
			continue
		}
		st := plain
		if v.Different {
			st = strong
		}
		points = append(points, paragraph{v.Text + ".", st})
	}
	for _, s := range c.Subjects {
		if all && s.Lost {
			points = append(points, paragraph{fmt.Sprintf("%s is not ranked at %s: %s.", s.Subject, c.Metric, s.Unranked), plain})
		}
	}
	return points
}
