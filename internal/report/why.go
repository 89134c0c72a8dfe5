package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/mqlab/mqlab/internal/diagnose"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/summary"
)

// whyHeading is that of the section of findings.
const whyHeading = "Why it was slow"

// why is what the trials of a cell have in common: the same causes.
type why struct {
	cell   *summary.Cell
	trials []int
	found  []diagnose.FindingSaid // of the first of them
	shares []span                 // of all, for each finding
}

type span struct{ low, high float64 }

// whysOf are the findings that tell of something, by cell and causes. That nothing explains a trial is told last; of a search it is not
// told at all, as it goes to where everything is slow.
func whysOf(s *summary.Summary, o *Options) (all []*why) {
	for i := range s.Cells {
		c := &s.Cells[i]
		of := len(all)
		for _, id := range c.Trials {
			t := trialOf(s, id)
			if t == nil {
				continue
			}
			found := summary.Loud(t.FindingsIn(o.language()))
			if len(found) > 0 && (o.Searches == nil || found[0].Cause != diagnose.Unexplained) {
				all = join(all, of, c, id, found)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *why) int { return cmp.Compare(a.unexplained(), b.unexplained()) })
	return all
}

// unexplained is 1 if nothing explains it, otherwise 0.
func (w *why) unexplained() int {
	if w.found[0].Cause == diagnose.Unexplained {
		return 1
	}
	return 0
}

// join adds a trial to those of its cell, from the given one on, that have the same causes.
func join(all []*why, of int, c *summary.Cell, id int, found []diagnose.FindingSaid) []*why {
	alike := func(w *why) bool {
		return slices.EqualFunc(w.found, found, func(a, b diagnose.FindingSaid) bool { return a.Cause == b.Cause && a.Side == b.Side })
	}
	n := slices.IndexFunc(all[of:], alike)
	if n < 0 {
		w := &why{cell: c, found: found}
		for _, f := range found {
			w.shares = append(w.shares, span{f.Share, f.Share})
		}
		all, n = append(all, w), len(all)-of
	}
	w := all[of+n]
	w.trials = append(w.trials, id)
	for i, f := range found {
		x := &w.shares[i]
		x.low, x.high = min(x.low, f.Share), max(x.high, f.Share)
	}
	return all
}

// words say it in one line, and of a run of several trials whose it is.
func (w *why) words(lone bool) string {
	if lone {
		return "why: " + w.line()
	}
	return w.name() + " (" + trialNumbers(w.trials) + "): " + w.line()
}

// name is whose it is.
func (w *why) name() string {
	others := slices.DeleteFunc(slices.Clone(w.cell.Set), func(a plan.Assignment) bool { return a.Key == "subject" })
	if set := setWords(others); set != "" {
		return w.cell.Subject.Name + ", " + set
	}
	return w.cell.Subject.Name
}

// whyAcross says the same of several runs, whose trials are numbered anew.
func (d *document) whyAcross(a *summary.Across) {
	var points list
	for _, w := range whysOf(&summary.Summary{Cells: a.Cells, Trials: a.Trials}, new(Options)) {
		of := fmt.Sprintf(" (%d of %s): ", len(w.trials), summary.Plural(uint64(len(w.cell.Trials)), "trial"))
		points = append(points, paragraph{w.name() + of + w.line(), plain})
	}
	if len(points) > 0 {
		d.section(whyHeading).add(points)
	}
}

// line says it in one short line: the causes, and how much of the excess each explains.
func (w *why) line() (text string) {
	for i := range w.found {
		text += "; " + w.cause(i)
	}
	return text[2:]
}

func (w *why) cause(i int) string {
	f := &w.found[i]
	text := f.What
	if f.Share > 0 {
		text += ", " + w.shares[i].words() + " of the excess"
	}
	if len(w.trials) == 1 && len(f.Spans) == 1 {
		text += " (" + stay(f.Spans[0]) + ")"
	}
	return text
}

func (s span) words() string {
	low, high := fmt.Sprintf("%.0f", 100*s.low), fmt.Sprintf("%.0f %%", 100*s.high)
	if low+" %" == high {
		return high
	}
	return low + "–" + high
}

// stay says from when to when.
func stay(s diagnose.Stay) string {
	seconds := func(ns int64) string { return fmt.Sprintf("%.2f", time.Duration(ns).Seconds()) }
	return "from " + seconds(s.Start) + " to " + seconds(s.End) + " s"
}

// mostWhys are as many lines as a report of text has room for.
const mostWhys = 12

// why says in a line for each cell why its messages were slow. Where nothing is to be explained it says nothing.
func (d *document) why(s *summary.Summary, o *Options) {
	all := whysOf(s, o)
	if len(all) == 0 {
		return
	}
	sec := d.section(whyHeading)
	var points list
	for i, w := range all {
		if i == mostWhys {
			points = append(points, paragraph{summary.Count(uint64(len(all)-i)) + " more: see --format json, or html", plain})
			break
		}
		points = append(points, paragraph{w.words(len(s.Trials) == 1), plain})
	}
	sec.add(points)
	sec.say(plain, "With evidence, and what to change:")
	sec.add(command(diagnoseCommand(o, all[0].trials[0], len(s.Trials) == 1)))
}

func diagnoseCommand(o *Options, trial int, lone bool) string {
	args := []string{"mqlab", "diagnose", cmp.Or(o.Dir, "RUN")}
	if !lone {
		args = append(args, "--trial", fmt.Sprint(trial))
	}
	return quoted(args)
}

// why shows each finding with its evidence, what to change, and how to see that it helped.
func (p *page) why() {
	all := whysOf(p.s, p.o)
	if len(all) == 0 {
		return
	}
	sec := p.section(whyHeading)
	sec.say(plain, "The excess is what messages took above the least that the path takes. A cause explains a part of it; the rest stays unexplained.")
	for i, w := range all {
		blocks := []block{}
		if len(w.trials) > 1 {
			blocks = append(blocks, paragraph{fmt.Sprintf("The figures are those of trial %d.", w.trials[0]), plain})
		}
		for k := range w.found {
			f := &w.found[k]
			if len(w.found) > 1 {
				blocks = append(blocks, paragraph{capital(w.cause(k)), strong})
			}
			blocks = append(blocks, evidence(f))
			blocks = append(blocks, explained{&table{head: []string{"", ""}, left: 2, rows: [][]string{{"what to change", f.Advice}, {"how to verify", f.Verify}}}})
		}
		sec.add(folded{w.words(len(p.s.Trials) == 1), i < openGroups, blocks})
	}
}

// evidence lists that of a finding, and when it held.
func evidence(f *diagnose.FindingSaid) (points list) {
	for _, e := range f.Evidence {
		points = append(points, paragraph{e, plain})
	}
	if len(f.Spans) > 1 {
		text := "it held"
		for i, s := range f.Spans {
			if i > 0 {
				text += ","
			}
			text += " " + stay(s)
		}
		points = append(points, paragraph{text, plain})
	}
	return points
}
