package report

import (
	"fmt"
	"io"
	"slices"

	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/summary"
)

// HTML writes the report as one page that needs nothing else: no network, no script to be read, light or dark as the reader
// likes. Its figures are those of the summary; r, the run that s is the summary of, gives the charts their windows. explain has the
// texts for words on the page (column names, rows of times, reasons), "" where there is nothing to say; nil = for none.
func HTML(w io.Writer, s *summary.Summary, r *run.Run, o Options, explain func(word string) string) error {
	return writeHTML(w, buildHTML(s, r, &o), explain)
}

// page builds the document that is laid out as HTML: the blocks of the other reports in another order, with charts.
type page struct {
	document
	s      *summary.Summary
	o      *Options
	groups []*group
	folds  map[int]*cellFold // by cell
}

func buildHTML(s *summary.Summary, r *run.Run, o *Options) *document {
	p := &page{
		document: document{title: fmt.Sprintf("mqlab run %s (%s)", s.Run.Scenario, s.Run.ID)},
		s:        s, o: o, groups: groupsOf(s), folds: foldCells(s, r),
	}
	p.head(s)
	p.answer()
	p.limits(o.Gate)
	p.why()
	if o.Searches != nil {
		p.foundCharts()
	} else {
		p.compare()
		p.cost(s)
	}
	p.percentiles()
	p.overTime()
	p.throughput()
	p.resourceUse()
	p.counts()
	p.link(s)
	p.linkCharts()
	p.reasons()
	p.configuration(r)
	p.everyTrial()
	p.again()
	p.sections = slices.DeleteFunc(p.sections, func(x *section) bool { return len(x.blocks) == 0 })
	return &p.document
}

// answer is the verdict: one sentence, and below it what it rests on.
func (p *page) answer() {
	if p.o.Searches != nil {
		p.verdict(p.s, nil)
		p.last().answers(p.o.Searches)
		return
	}
	p.verdict(p.s, p.groups)
	v := p.sections[len(p.sections)-1]
	if first, ok := p.oneSentence(v); ok {
		v.blocks = slices.Insert(v.blocks, 0, block(lead(first)))
		return
	}
	if first, ok := v.blocks[0].(paragraph); ok { // nothing to conclude
		v.blocks[0] = lead(first)
	}
}

// oneSentence is the shortest answer that can be given. A list that holds it loses it.
func (p *page) oneSentence(v *section) (paragraph, bool) {
	if choiceOf(p.groups) != nil {
		if first, ok := v.blocks[0].(paragraph); ok {
			v.blocks = v.blocks[1:]
			return first, true
		}
	}
	if points, ok := v.blocks[0].(list); ok {
		i := slices.IndexFunc(points, func(x paragraph) bool { return x.style == strong })
		if i < 0 {
			return p.winners(), true
		}
		first := points[i]
		if v.blocks[0] = slices.Delete(slices.Clone(points), i, i+1); len(points) == 1 {
			v.blocks = v.blocks[1:]
		}
		return first, true
	}
	if len(p.groups) == 0 || !slices.ContainsFunc(p.groups, (*group).valid) {
		return paragraph{}, false
	}
	if slices.ContainsFunc(p.groups, (*group).contested) {
		return p.winners(), true
	}
	g := p.groups[0]
	if i := slices.IndexFunc(g.rows, func(r row) bool { return r.cell.Valid > 0 }); len(p.groups) == 1 && len(g.rows) == 1 {
		return g.rows[i].inOneSentence(), true
	}
	return p.spread(), true
}

// inOneSentence says how a subject did that there is nobody to compare with.
func (r *row) inOneSentence() paragraph {
	p50, _ := r.figures(summary.ResponseP50)
	p99, _ := r.figures(summary.ResponseP99)
	text := r.cell.Subject.Name + ": response p50 " + p50 + ", p99 " + p99 + "; " +
		countOf(&r.cell.Counts, "delivered") + " of " + countOf(&r.cell.Counts, "expected") + " expected messages delivered"
	st := strong
	if n := r.cell.Counts.Lost; n != nil && *n > 0 {
		text, st = text+", "+summary.Count(*n)+" lost", caution
	}
	return paragraph{text + ".", st}
}

// winners counts how often each subject is told apart as the best at the median of response times, or at the rate of a
// closed loop.
func (p *page) winners() paragraph {
	wins, names, total := map[string]int{}, []string{}, 0
	metric := summary.ResponseP50
	if !p.groups[0].openLoop {
		metric = summary.DeliveredPer
	}
	for _, g := range p.groups {
		if !g.contested() {
			continue
		}
		total++
		who, _ := best(g.comparisons[metric], g.openLoop)
		if wins[who]++; who != unknown && who != "not shown" && !slices.Contains(names, who) {
			names = append(names, who)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return wins[b] - wins[a] })
	text := "No subject is told apart as the best at " + wordsOf(metric)
	for i, who := range names {
		if i == 0 {
			text = "At " + wordsOf(metric) + ", "
		} else {
			text += ", "
		}
		text += fmt.Sprintf("%s is best in %d of %s", who, wins[who], summary.Plural(uint64(total), "comparison"))
	}
	st := strong
	if len(names) == 0 {
		st = caution
	}
	return paragraph{text + ".", st}
}

// spread names the range of figures of subjects that are not compared.
func (p *page) spread() paragraph {
	var low, high *summary.Standing
	var unit summary.Unit
	n := 0
	for _, g := range p.groups {
		for i := range g.rows {
			st, u := g.rows[i].standing(summary.ResponseP99)
			if st == nil || st.Median == nil {
				continue
			}
			n++
			unit = u
			if low == nil || *st.Median < *low.Median {
				low = st
			}
			if high == nil || *st.Median > *high.Median {
				high = st
			}
		}
	}
	if low == nil {
		return paragraph{"Nothing is compared here, and no 99th percentile of response times is known.", caution}
	}
	return paragraph{fmt.Sprintf("Response p99 is between %s and %s at %s.", unit.Format(*low.Median), unit.Format(*high.Median), summary.Plural(uint64(n), "point")), strong}
}

// everyTrial is the long table, folded away.
func (p *page) everyTrial() {
	if len(p.s.Trials) < 2 {
		return
	}
	p.trials(p.s)
	last := p.sections[len(p.sections)-1]
	last.blocks = []block{folded{words: "All " + summary.Plural(uint64(len(p.s.Trials)), "trial"), blocks: last.blocks}}
}

// again says how to repeat the run.
func (p *page) again() {
	before := len(p.sections)
	p.end(p.s, p.o)
	for _, x := range p.sections[before:] {
		x.heading = "How to repeat it"
	}
}
