package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mqlab/mqlab/internal/capacity"
	"github.com/mqlab/mqlab/internal/summary"
)

// AcrossFormats are the names that WriteAcross knows.
var AcrossFormats = []string{"text", "json", "markdown"}

// WriteAcross writes a comparison of runs in the named format.
func WriteAcross(w io.Writer, format string, a *summary.Across, o Options) error {
	switch format {
	case "text":
		return writeText(w, buildAcross(a, o.Changes), o.Color)
	case "markdown":
		return writeMarkdown(w, buildAcross(a, o.Changes))
	case "json":
		return WriteJSON(w, struct {
			*summary.Across
			Capacities []capacity.Change `json:"capacities,omitempty"`
		}{a, o.Changes})
	}
	return fmt.Errorf("unknown format %q: there are %s", format, strings.Join(AcrossFormats, ", "))
}

// WriteJSON writes a value in the way of all of the program: two blanks a level, and characters of HTML as they are.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// buildAcross makes the document: what differs besides the results, then the verdicts, then what they rest on.
// Of searches it is about what is sustained; what single values were like in both runs is in JSON.
func buildAcross(a *summary.Across, changes []capacity.Change) *document {
	labels := make([]string, len(a.Runs))
	for i := range a.Runs {
		labels[i] = a.Runs[i].Label
	}
	d := &document{title: "mqlab compare: runs " + strings.Join(labels, ", ")}
	d.runs(a)
	d.differences(a, labels)
	groups := groupsOf(&summary.Summary{Trials: a.Trials, Cells: a.Cells, Comparisons: a.Comparisons})
	v := d.section("Verdict")
	if len(changes) > 0 {
		v.changes(changes)
	} else {
		v.verdicts(groups)
	}
	if len(a.NotCompared) > 0 && len(changes) == 0 {
		var points list
		for _, text := range a.NotCompared {
			points = append(points, paragraph{"not compared: " + text, caution})
		}
		v.add(points)
	}
	if len(changes) == 0 {
		d.whyAcross(a)
		for _, g := range groups {
			d.group(g, len(groups) > 1)
			d.last().add(g.byMetric())
		}
	}
	d.sections = slices.DeleteFunc(d.sections, func(s *section) bool { return len(s.blocks) == 0 })
	return d
}

// changes says what became of capacities.
func (sec *section) changes(all []capacity.Change) {
	var points list
	for i := range all {
		st := strong
		if v := all[i].Verdict; v == capacity.NotComplete || v == capacity.OtherSearch {
			st = caution
		}
		points = append(points, paragraph{all[i].Text + ".", st})
	}
	sec.add(points)
	sec.say(plain, "A capacity is called changed only where the intervals of the two searches lie apart. They are of one search each: repeat both where it matters.")
}

func (d *document) runs(a *summary.Across) {
	t := &table{head: []string{"", "run", "scenario", "started", "trials compared"}, left: 4}
	for i := range a.Runs {
		r := &a.Runs[i]
		t.row(r.Label, r.ID, r.Scenario, r.Started.Format("2006-01-02 15:04:05 MST"), fmt.Sprint(r.Trials))
	}
	d.section("Runs").add(t)
}

// longestValue is how much of a setting stands in a table; JSON has all of it.
const longestValue = 24

// differences shows what else is not the same in these runs: a difference of results may come from it.
func (d *document) differences(a *summary.Across, labels []string) {
	s := d.section("What differs")
	if len(a.Differences) == 0 {
		s.say(good, "Nothing that is known: host, versions, configuration and parameters are the same.")
		return
	}
	t := &table{head: append([]string{""}, labels...), left: 1 + len(labels)}
	for _, x := range a.Differences {
		row := []string{x.What}
		for _, v := range x.Values {
			row = append(row, shortened(v))
		}
		t.row(row...)
	}
	s.add(t)
}

func shortened(s string) string {
	if utf8.RuneCountInString(s) <= longestValue {
		return s
	}
	return string([]rune(s)[:longestValue-1]) + "…"
}

// byMetric is the verdict about each pair by each metric; of a single pair the medians stand beside it.
func (g *group) byMetric() *table {
	pair := len(g.rows) == 2
	t := &table{head: []string{"", "better", "than", "by", "95 %", "p", "verdict"}, left: 3}
	if pair {
		t.left, t.head[1], t.head[2] = 1, g.rows[0].label, g.rows[1].label
	}
	for i := range summary.Metrics {
		m := &summary.Metrics[i]
		c := g.comparisons[m.Name]
		if c == nil {
			continue
		}
		for k := range c.Verdicts {
			v := &c.Verdicts[k]
			row := []string{m.Words, v.Better, v.Worse}
			if pair {
				row[1], row[2] = c.Unit.Format(*c.Subjects[0].Median), c.Unit.Format(*c.Subjects[1].Median)
			}
			t.row(append(row, verdictCells(v)...)...)
		}
	}
	return t
}

// verdictCells are factor, interval, probability and verdict.
func verdictCells(v *summary.Verdict) []string {
	cells := []string{unknown, unknown, summary.Probability(*v.P), "not shown"}
	if v.Factor != nil {
		cells[0], cells[1] = summary.Factor(*v.Factor), summary.Range(summary.Factor(*v.Low), summary.Factor(*v.High))
	}
	if v.Different {
		cells[3] = "different"
	}
	return cells
}
