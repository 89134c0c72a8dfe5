package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/summary"
)

// group is what one set of tables shows: the subjects of one point that give the same guarantee; or, where there is but one
// subject, all points.
type group struct {
	heading     string
	params      []*plan.Params // of each point
	openLoop    bool
	rows        []row
	comparisons map[string]*summary.Comparison // by metric; nil where rows are of several points
	unlike      []summary.Unlike
}

// row is a cell and its place in the comparisons of its point.
type row struct {
	label       string
	cell        *summary.Cell
	keptUp      bool   // every valid trial delivered what was offered, at an open loop
	cores       string // which brokers and generator had, in words; "" = not known
	comparisons map[string]*summary.Comparison
}

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
			if lone || x.rows[0].cell.Point == c.Point && x.rows[0].cell.Promise == c.Promise {
				g = x
			}
		}
		r := row{label: c.Subject.Name, cell: c, cores: coresOf(s, c), keptUp: keptUp(s, c), comparisons: comparisonsOf(s, c)}
		if g == nil {
			g = &group{heading: heading(s, c), openLoop: params.Pacing != "max", comparisons: r.comparisons}
			groups = append(groups, g)
			if cs := r.comparisons[summary.ResponseP50]; cs != nil {
				g.unlike = cs.NotComparable
			}
		}
		if lone {
			r.label, g.comparisons = setWords(c.Set), nil
			g.heading = "Results for " + c.Subject.Name
		}
		g.params, g.rows = append(g.params, params), append(g.rows, r)
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

// coresOf says whether brokers and generator of a cell were in each other's way.
func coresOf(s *summary.Summary, c *summary.Cell) string {
	for i := range s.Trials {
		p := s.Trials[i].Placement
		switch {
		case s.Trials[i].Cell != c.Cell || p == nil || p.Shared == nil:
		case *p.Shared:
			return "broker and generator shared cores (" + p.GeneratorCores + ")"
		default:
			return "broker on cores " + p.BrokerCores + ", generator on " + p.GeneratorCores
		}
	}
	return ""
}

func keptUp(s *summary.Summary, c *summary.Cell) bool {
	for i := range s.Trials {
		t := &s.Trials[i]
		if t.Cell != c.Cell || t.Validity == summary.Invalid {
			continue
		}
		if t.Params.Pacing == "max" || t.Rates.Achieved == nil || *t.Rates.Achieved < summary.MinAchieved {
			return false
		}
	}
	return true
}

func comparisonsOf(s *summary.Summary, c *summary.Cell) map[string]*summary.Comparison {
	m := map[string]*summary.Comparison{}
	for i := range s.Comparisons {
		if x := &s.Comparisons[i]; x.Point == c.Point && x.Promise == c.Promise {
			m[x.Metric] = x
		}
	}
	return m
}

// heading names the point, and the guarantee where the point has several.
func heading(s *summary.Summary, c *summary.Cell) string {
	name := setWords(c.Set)
	for i := range s.Cells {
		if o := &s.Cells[i]; o.Point == c.Point && o.Promise != c.Promise {
			return strings.TrimPrefix(name+", "+c.Promise.String(), ", ")
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

// load describes what was asked of the broker; where points differ, each way.
func (g *group) load() string {
	each := func(describe func(*plan.Params) string) string {
		var ways []string
		for _, p := range g.params {
			if way := describe(p); !slices.Contains(ways, way) {
				ways = append(ways, way)
			}
		}
		return strings.Join(ways, " / ")
	}
	text := each(func(p *plan.Params) string { return p.Pattern }) + ": " +
		each(func(p *plan.Params) string { return summary.Plural(uint64(p.Publishers), "publisher") }) + ", " +
		each(func(p *plan.Params) string { return summary.Plural(uint64(p.Subscribers), "subscriber") }) + "; " +
		each(func(p *plan.Params) string { return summary.Bytes(uint64(p.PayloadBytes)) }) + ", " +
		each(rate) + "; " +
		each(func(p *plan.Params) string { return fmt.Sprintf("QoS %d", p.QoS) }) + ", " + g.rows[0].cell.Promise.String() + "; measured for " +
		each(func(p *plan.Params) string { return p.Phases.Measure.String() })
	if machine := each(machine); machine != "" {
		text += "; " + machine
	}
	var cores []string
	for _, r := range g.rows {
		if r.cores != "" && !slices.Contains(cores, r.cores) {
			cores = append(cores, r.cores)
		}
	}
	if len(cores) > 0 {
		text += "; " + strings.Join(cores, " / ")
	}
	if faults := each(faults); faults != "" {
		text += "; " + faults
	}
	if link := each(linkName); link != "" {
		text += "; " + link
	}
	return text + "."
}

// machine names what the broker was held to.
func machine(p *plan.Params) string {
	switch {
	case p.Profile.Off:
		return "machine " + p.Profile.Name + " not enforced"
	case p.Profile.Limited():
		return "machine " + p.Profile.Name
	}
	return ""
}

// rate describes the pace of all publishers together.
func rate(p *plan.Params) string {
	if p.Pacing == "max" {
		return "as fast as possible"
	}
	text := summary.Number(p.RatePerS) + " messages/s in total"
	if p.RampToPerS > 0 {
		text += " growing to " + summary.Number(p.RampToPerS)
	}
	if p.Pacing == "poisson" {
		text += " (Poisson)"
	}
	if p.Burst.Count > 0 {
		text += fmt.Sprintf(" and bursts of %s every %s", summary.Count(uint64(p.Burst.Count)), p.Burst.Every)
	}
	return text
}

func faults(p *plan.Params) string {
	words := make([]string, len(p.Faults))
	for i, f := range p.Faults {
		words[i] = fmt.Sprintf("%s of %s at %s", f.Kind, f.For, f.At)
	}
	return strings.Join(words, ", ")
}

// valid reports whether any trial of the group counts.
func (g *group) valid() bool {
	return slices.ContainsFunc(g.rows, func(r row) bool { return r.cell.Valid > 0 })
}

// repeated reports whether any figure is a median.
func (g *group) repeated() bool {
	return slices.ContainsFunc(g.rows, func(r row) bool { return r.cell.Valid > 1 })
}

// enoughForInterval is how many repetitions make the interval one of 94 % or more.
const enoughForInterval = 5

// thin says what the interval of the fewest repetitions is worth; "" = what it is said to be. That of so few is their whole
// span, which misses the median where all values fall on one side of it: 2 × (1/2)ⁿ of the time (David & Nagaraja, Order
// Statistics, 2003, §7.1).
func (g *group) thin() string {
	fewest := enoughForInterval
	for _, r := range g.rows {
		if r.cell.Valid > 1 {
			fewest = min(fewest, r.cell.Valid)
		}
	}
	if fewest == enoughForInterval {
		return ""
	}
	confidence := 1 - math.Pow(2, float64(1-fewest))
	return fmt.Sprintf("The interval of %d repetitions is their whole span: its confidence is %s, not 95 %%.", fewest, summary.Ratio(confidence))
}

// sentences are the verdicts of the metrics that matter for the load; others only where there is a difference.
func (g *group) sentences() list {
	always, different := []string{summary.ResponseP50, summary.ResponseP99}, []string{summary.DeliveredPer, summary.LostRatio}
	if !g.openLoop {
		always, different = []string{summary.DeliveredPer}, []string{summary.LostRatio}
	}
	var points list
	for _, name := range always {
		points = append(points, g.sentencesOf(name, true)...)
	}
	for _, name := range different {
		points = append(points, g.sentencesOf(name, false)...)
	}
	slices.SortStableFunc(points, shownFirst)
	for _, r := range g.rows {
		if r.cell.Valid == 0 {
			points = append(points, paragraph{r.label + " has no valid trial and is not ranked.", bad})
		}
	}
	return points
}

// shownFirst puts the differences that were shown before those that were not.
func shownFirst(a, b paragraph) int {
	switch {
	case a.style == strong && b.style != strong:
		return -1
	case a.style != strong && b.style == strong:
		return 1
	}
	return 0
}

// killed lists the subjects that were ended for want of memory: a result, though there is no figure.
func (g *group) killed() (points list) {
	for _, r := range g.rows {
		if r.cell.KilledForMemory != "" {
			points = append(points, paragraph{r.label + ": " + r.cell.KilledForMemory + ".", bad})
		}
	}
	return points
}

// sentencesOf compares the best subject by a metric with each other one.
func (g *group) sentencesOf(metric string, all bool) (points list) {
	c := g.comparisons[metric]
	if c == nil {
		return nil
	}
	var level []summary.Verdict
	for _, v := range c.Verdicts {
		switch {
		case len(c.Groups) == 0 || v.Better != c.Groups[0][0]:
		case metric == summary.DeliveredPer && g.keptUp(v.Worse): // who is above it hands over what was due before
		case v.Different:
			points = append(points, paragraph{v.Text + ".", strong})
		case all:
			level = append(level, v)
		}
	}
	if len(level) > 0 {
		points = append(points, paragraph{levelled(level, metric) + ".", plain})
	}
	for _, r := range g.rows {
		if s, _ := r.standing(metric); all && r.cell.Valid > 0 && s != nil && s.Unranked != "" {
			points = append(points, paragraph{fmt.Sprintf("%s is not ranked at %s: %s.", s.Subject, wordsOf(metric), s.Unranked), plain})
		}
	}
	return points
}

// keptUp reports whether a subject delivered what was offered: then no other can have delivered more of it.
func (g *group) keptUp(subject string) bool {
	i := slices.IndexFunc(g.rows, func(r row) bool { return r.cell.Subject.Name == subject })
	return i >= 0 && g.rows[i].keptUp
}

// levelled says in one sentence from whom the best by a metric is not told apart.
func levelled(vs []summary.Verdict, metric string) string {
	if len(vs) == 1 {
		return vs[0].Text
	}
	var names []string
	low, high, needed := 1.0, 0.0, 0
	for _, v := range vs {
		names = append(names, v.Worse)
		low, high = min(low, *v.P), max(high, *v.P)
		if v.Needed != nil && (needed == 0 || *v.Needed < needed) {
			needed = *v.Needed
		}
	}
	p := summary.Probability(low)
	if high := summary.Probability(high); high != p {
		p += " to " + high
	}
	text := fmt.Sprintf("no difference shown between %s and any of %s at %s (p = %s)", vs[0].Better, and(names), wordsOf(metric), p)
	if needed > 0 {
		text += fmt.Sprintf("; the first would take about %d repetitions", needed)
	}
	return text
}

// wordsOf names a metric in a sentence.
func wordsOf(metric string) string {
	for _, m := range summary.Metrics {
		if m.Name == metric {
			return m.Words
		}
	}
	return metric
}
