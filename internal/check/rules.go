package check

import (
	"fmt"
	"slices"
)

// rule is one thing that figures cannot contradict. apply tells whether the table has the columns for it.
type rule struct {
	name  string
	apply func(*view) bool
}

// rules in the order in which they are applied.
var rules = []rule{
	{"cells", (*view).cells},
	{"negative", (*view).negative},
	{"received_without_sent", (*view).receivedWithoutSent},
	{"more_received_than_sent", (*view).moreReceived},
	{"sum", (*view).sum},
	{"loss", (*view).loss},
	{"loss_against_rates", (*view).lossAgainstRates},
	{"rate_against_count", (*view).rateAgainstCount},
	{"more_out_than_in", (*view).moreOut},
	{"samples", (*view).samples},
	{"figures_without_messages", (*view).withoutMessages},
	{"percentile_order", (*view).order},
	{"mean", (*view).means},
	{"deviation", (*view).deviations},
	{"shifted_columns", (*view).shifted},
	{"averaged_percentiles", (*view).averaged},
}

// each calls f with every row in which all columns have figures.
func (v *view) each(f func(r Row, x []float64), columns ...*column) bool {
	for _, c := range columns {
		if c == nil {
			return false
		}
	}
	x := make([]float64, len(columns))
rows:
	for _, r := range v.Rows {
		for i, c := range columns {
			var ok bool
			if x[i], ok = v.scaled(r, c); !ok {
				continue rows
			}
		}
		f(r, x)
	}
	return true
}

func (v *view) cells() bool {
	known := slices.ContainsFunc(v.columns, func(c column) bool { return c.kind != other })
	for _, r := range v.Rows {
		if n, want := len(r.Cells), len(v.Columns); n != want {
			v.found(r, fmt.Sprintf("%d cells, and the header has %d", n, want),
				"cells are missing or one holds the delimiter; from there on every figure stands under another's name")
			known = true
		}
	}
	return known
}

func (v *view) negative() bool {
	applied := false
	for i := range v.columns {
		c := &v.columns[i]
		if c.kind == other {
			continue
		}
		applied = true
		v.each(func(r Row, x []float64) {
			ratio := c.kind == lossRatio && c.unit == 0.01
			switch {
			case x[0] < 0 && c.kind >= quantile:
				v.found(r, v.cell(r, c)+" is negative", "two clocks that disagree were subtracted, or a clock was set meanwhile", c)
			case x[0] < 0:
				v.found(r, v.cell(r, c)+" is negative", "two totals of different messages were subtracted", c)
			case ratio && x[0] > 1:
				v.found(r, v.cell(r, c)+" is more than all", "the ratio is of totals that do not belong together", c)
			}
		}, c)
	}
	return applied
}

func (v *view) receivedWithoutSent() bool {
	s, n := v.first(sent), v.first(received)
	return v.each(func(r Row, x []float64) {
		if x[0] == 0 && x[1] > 0 {
			v.found(r, fmt.Sprintf("%s, but %s", v.cell(r, n), v.cell(r, s)),
				"the column of sent messages was read where nobody writes it (the subscriber's output, say); every ratio made with it is void", s, n)
		}
	}, s, n)
}

// copies is how many deliveries a sent message may cause: as many as there are subscribers, if the table tells; 1 if it tells of
// pairs.
func (v *view) copies(r Row) float64 {
	subs, known := v.value(r, v.first(subscribers))
	pubs, both := v.value(r, v.first(publishers))
	if !known || both && pubs == subs {
		return 1
	}
	return max(subs, 1)
}

func (v *view) moreReceived() bool {
	s, n := v.first(sent), v.first(received)
	if v.first(expected) != nil {
		s = v.first(expected)
	}
	return v.each(func(r Row, x []float64) {
		limit := x[0]
		if s.kind == sent {
			limit *= v.copies(r)
		}
		if x[0] > 0 && x[1] > limit {
			v.found(r, fmt.Sprintf("%s, but %s", v.cell(r, n), v.cell(r, s)),
				"duplicates, warm-up or another run's messages were counted as received, or several subscribers are not told of", s, n)
		}
	}, s, n)
}

// sum: delivered + lost + undelivered because unsent = expected.
func (v *view) sum() bool {
	e, n, l, u := v.first(expected), v.first(received), v.first(lost), v.first(unsent)
	return v.each(func(r Row, x []float64) {
		left, known := v.value(r, u)
		if got := x[1] + x[2] + left; got != x[0] && known {
			v.found(r, fmt.Sprintf("%s + %s + %s = %s, but %s", v.cell(r, n), v.cell(r, l), v.cell(r, u), figure(got), v.cell(r, e)),
				"messages are counted in no column or in two", n, l, u, e)
		}
	}, e, n, l)
}

func (v *view) loss() bool {
	ratio, count := v.first(lossRatio), v.first(lost)
	s, n := v.first(sent), v.first(received)
	if e := v.first(expected); e != nil {
		s = e
	}
	a := ratio != nil && v.each(func(r Row, x []float64) { v.lossRatio(r, ratio, s, n, x) }, ratio, s, n)
	b := count != nil && v.first(unsent) == nil && v.each(func(r Row, x []float64) {
		total := x[1]
		if s.kind == sent {
			total *= v.copies(r)
		}
		if x[1] > 0 && total >= x[2] && x[0] != total-x[2] {
			v.found(r, fmt.Sprintf("%s, but %s − %s = %s", v.cell(r, count), v.cell(r, s), v.cell(r, n), figure(total-x[2])),
				"losses were counted by gaps in the numbers seen (then the first and last ones are missing), or the columns are of different phases", count, s, n)
		}
	}, count, s, n)
	return a || b
}

func (v *view) lossRatio(r Row, ratio, s, n *column, x []float64) {
	if x[1] == 0 {
		if x[0] == 0 && x[2] > 0 {
			v.found(r, fmt.Sprintf("%s, where %s: a loss nobody can know", v.cell(r, ratio), v.cell(r, s)),
				"the loss was computed from a column that is always 0, and a guard against division by 0 made it 0", ratio, s)
		}
		return
	}
	total := x[1]
	if s.kind == sent {
		total *= v.copies(r)
	}
	want := max(0, 1-x[2]/total)
	off := func(unit float64) bool {
		got := x[0] / ratio.unit * unit
		return abs(got-want) > grain(r.Cells[ratio.index])*unit*1.001+1e-9
	}
	if off(ratio.unit) && (ratio.named || off(0.01)) {
		v.found(r, fmt.Sprintf("%s, but %s and %s make %s", v.cell(r, ratio), v.cell(r, s), v.cell(r, n), percent(want)),
			"the loss was computed from other counters than those shown", ratio, s, n)
	}
}

// achieved is the part of an offered rate below which a loss of 0 is not believed.
const achieved = 0.95

func (v *view) lossAgainstRates() bool {
	ratio, o, n := v.first(lossRatio), v.first(offeredRate), v.first(receivedRate)
	if ratio == nil {
		ratio = v.first(lost)
	}
	return v.each(func(r Row, x []float64) {
		if want := x[1] * v.copies(r); x[0] == 0 && x[1] > 0 && x[2] < achieved*want {
			v.found(r, fmt.Sprintf("%s, but %s of %s (%s)", v.cell(r, ratio), v.cell(r, n), v.cell(r, o), percent(x[2]/want)),
				"messages that never left, or never came, are in no column; or the loss was never computed", ratio, o, n)
		}
	}, ratio, o, n)
}

func abs(x float64) float64 { return max(x, -x) }

// RuleNames are the names of all rules.
func RuleNames() (names []string) {
	for _, r := range rules {
		names = append(names, r.name)
	}
	return names
}
