package check

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Finding is a contradiction between figures of one table.
type Finding struct {
	Rule    string   `json:"rule"`
	Line    int      `json:"line,omitempty"` // of the file; of JSON the number of the row; absent: of the column as a whole
	Row     string   `json:"row,omitempty"`  // what the row is called
	Columns []string `json:"columns"`
	Text    string   `json:"text"`  // the contradiction, in figures
	Cause   string   `json:"cause"` // the likely one
}

// Result is what a check found.
type Result struct {
	Rows     int       `json:"rows"`
	Columns  int       `json:"columns"`
	Checked  []string  `json:"checked"` // the rules that the table has columns for
	Findings []Finding `json:"findings"`
}

// view is a table with its columns understood.
type view struct {
	*Table
	columns  []column
	families []family
	result   Result
	inRule   string
}

// family is the statistics of one quantity, such as a latency.
type family struct {
	name    string
	stats   []column // minimum, quantiles upwards, maximum
	mean    *column
	spread  *column // standard deviation
	samples *column
}

// Check applies every rule that the table has columns for.
func Check(t *Table) *Result {
	v := &view{Table: t, result: Result{Rows: len(t.Rows), Columns: len(t.Columns), Checked: []string{}, Findings: []Finding{}}}
	for i, name := range t.Columns {
		v.columns = append(v.columns, columnOf(i, name))
	}
	v.families = v.gather()
	for _, r := range rules {
		v.inRule = r.name
		if r.apply(v) {
			v.result.Checked = append(v.result.Checked, r.name)
		}
	}
	slices.SortStableFunc(v.result.Findings, func(a, b Finding) int { return cmp.Compare(a.Line, b.Line) })
	return &v.result
}

// gather sorts the columns of statistics into families.
func (v *view) gather() []family {
	var list []family
	at := func(name string) *family {
		i := slices.IndexFunc(list, func(f family) bool { return f.name == name })
		if i < 0 {
			i = len(list)
			list = append(list, family{name: name})
		}
		return &list[i]
	}
	for i := range v.columns {
		c := &v.columns[i]
		switch c.kind {
		case minimum, quantile, maximum:
			f := at(c.family)
			f.stats = append(f.stats, *c)
		case mean:
			at(c.family).mean = c
		case deviation:
			at(c.family).spread = c
		}
	}
	for i := range list {
		f := &list[i]
		slices.SortStableFunc(f.stats, func(a, b column) int { return cmp.Compare(a.rank(), b.rank()) })
		f.samples = v.samplesOf(f.name)
	}
	return list
}

// rank orders the statistics of a family by the size their values must have.
func (c column) rank() float64 {
	switch c.kind {
	case minimum:
		return -1
	case maximum:
		return 2
	}
	return c.q
}

// samplesOf is the count of a family's own samples, or that of all.
func (v *view) samplesOf(name string) (found *column) {
	for i := range v.columns {
		c := &v.columns[i]
		if c.kind == samples && (c.family == name || c.family == "" && found == nil) {
			found = c
		}
	}
	return found
}

// first is the first column of a kind, nil if there is none.
func (v *view) first(k kind) *column {
	i := slices.IndexFunc(v.columns, func(c column) bool { return c.kind == k })
	if i < 0 {
		return nil
	}
	return &v.columns[i]
}

// value is the figure of a row in the column's unit; ok is false where there is none.
func (v *view) value(r Row, c *column) (x float64, ok bool) {
	if c == nil || c.index >= len(r.Cells) {
		return 0, false
	}
	return v.number(r.Cells[c.index])
}

// scaled is the value in seconds, or as a part of 1.
func (v *view) scaled(r Row, c *column) (x float64, ok bool) {
	x, ok = v.value(r, c)
	if ok {
		x *= c.unit
	}
	return x, ok
}

// slack is how far scaled values, added up, may be off by rounding.
func (v *view) slack(r Row, columns ...*column) (sum float64) {
	for _, c := range columns {
		sum += grain(r.Cells[c.index]) * c.unit * 1.001
	}
	return sum
}

// orderSlack is how much the lower of two values may seem to exceed the upper: nothing if both were rounded alike.
func (v *view) orderSlack(r Row, a, b *column) float64 {
	if a.unit == b.unit && grain(r.Cells[a.index]) == grain(r.Cells[b.index]) {
		return 0
	}
	return v.slack(r, a, b)
}

// found adds a finding about a row.
func (v *view) found(r Row, text, cause string, columns ...*column) {
	f := Finding{Rule: v.inRule, Line: r.Line, Row: r.Name, Text: text, Cause: cause}
	for _, c := range columns {
		f.Columns = append(f.Columns, c.name)
	}
	v.result.Findings = append(v.result.Findings, f)
}

// cell is a figure as it was written, with its column.
func (v *view) cell(r Row, c *column) string {
	return fmt.Sprintf("%s %s", c.name, r.Cells[c.index])
}

func percent(x float64) string { return figure(x*100) + " %" }

// figure writes a number with at most four digits that count.
func figure(x float64) string {
	s := strconv.FormatFloat(x, 'g', 4, 64)
	if !strings.Contains(s, "e") {
		return s
	}
	return strconv.FormatFloat(x, 'f', 0, 64)
}
