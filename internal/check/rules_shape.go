package check

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

func (v *view) order() bool {
	applied := false
	for _, f := range v.families {
		if len(f.stats) < 2 {
			continue
		}
		applied = true
		for _, r := range v.Rows {
			v.orderOf(r, f)
		}
	}
	return applied
}

// orderOf names the first two statistics of a row that are the wrong way round.
func (v *view) orderOf(r Row, f family) {
	for i := 1; i < len(f.stats); i++ {
		for j := range i {
			lower, upper := &f.stats[j], &f.stats[i]
			a, one := v.scaled(r, lower)
			b, both := v.scaled(r, upper)
			if one && both && a > b+v.orderSlack(r, lower, upper) {
				v.found(r, fmt.Sprintf("%s is above %s", v.cell(r, lower), v.cell(r, upper)),
					"a column was read by its number and holds another figure, or the two are of different runs", lower, upper)
				return
			}
		}
	}
}

// means: a mean lies between minimum and maximum, and not so high or so low that the percentiles could not be true: at least 1 − q
// of the values are at or above the quantile q, and at least q of them at or below it.
func (v *view) means() bool {
	applied := false
	for _, f := range v.families {
		if f.mean == nil || len(f.stats) == 0 {
			continue
		}
		applied = true
		for _, r := range v.Rows {
			m, ok := v.scaled(r, f.mean)
			if ok {
				v.meanOf(r, f, m)
			}
		}
	}
	return applied
}

func (v *view) meanOf(r Row, f family, m float64) {
	const cause = "the column holds another figure (a maximum, a total), or the mean is of other messages than the percentiles"
	top := &f.stats[len(f.stats)-1]
	highest, known := v.scaled(r, top)
	known = known && top.kind == maximum
	for i := range f.stats {
		c := &f.stats[i]
		x, ok := v.scaled(r, c)
		if !ok {
			continue
		}
		slack, alike := v.slack(r, f.mean, c), v.orderSlack(r, f.mean, c)
		switch {
		case c.kind == minimum && m < x-alike, c.kind == quantile && m < (1-c.q)*x-slack-1e-9*x:
			v.found(r, fmt.Sprintf("%s is too small beside %s", v.cell(r, f.mean), v.cell(r, c)), cause, f.mean, c)
			return
		case c.kind == maximum && m > x+alike:
			v.found(r, fmt.Sprintf("%s is above %s", v.cell(r, f.mean), v.cell(r, c)), cause, f.mean, c)
			return
		case c.kind == quantile && known && highest >= x && m > c.q*x+(1-c.q)*highest+slack+v.slack(r, top)+1e-9*highest:
			v.found(r, fmt.Sprintf("%s is too large for %s and %s", v.cell(r, f.mean), v.cell(r, c), v.cell(r, top)), cause, f.mean, c, top)
			return
		}
	}
}

// deviations: by Popoviciu's inequality no standard deviation exceeds half of the range; that of a sample may by √(n/(n−1)), at most
// √2 (n = 2).
func (v *view) deviations() bool {
	applied := false
	for _, f := range v.families {
		if f.spread == nil || len(f.stats) < 2 || f.stats[0].kind != minimum || f.stats[len(f.stats)-1].kind != maximum {
			continue
		}
		low, high := &f.stats[0], &f.stats[len(f.stats)-1]
		applied = v.each(func(r Row, x []float64) {
			limit := (x[2] - x[1]) / 2 * math.Sqrt2
			if x[2] >= x[1] && x[0] > limit+v.slack(r, f.spread, low, high) {
				v.found(r, fmt.Sprintf("%s is more than values from %s to %s can scatter", v.cell(r, f.spread), r.Cells[low.index], r.Cells[high.index]),
					"it is a variance, has another unit, or is of other messages", f.spread, low, high)
			}
		}, f.spread, low, high) || applied
	}
	return applied
}

// shifted: where a family is out of order in most rows, and always in the same way, its headings are wrong.
func (v *view) shifted() bool {
	applied := false
	for _, f := range v.families {
		if len(f.stats) < 3 {
			continue
		}
		applied = true
		counts := map[string]int{}
		total, disorder := 0, 0
		for _, r := range v.Rows {
			names, sorted, ok := v.bySize(r, f)
			if !ok {
				continue
			}
			total++
			if !sorted {
				disorder++
				counts[names]++
			}
		}
		for names, n := range counts {
			if 5*n >= 4*total && n == slices.Max(values(counts)) {
				v.result.Findings = append(v.result.Findings, Finding{
					Rule: v.inRule, Columns: strings.Split(names, " ≤ "),
					Text:  fmt.Sprintf("in %d of %d rows the figures have the order %s", n, total, names),
					Cause: "the columns were exported or read by position, and the headings belong to their neighbours",
				})
			}
		}
	}
	return applied
}

// bySize joins the names of a family's columns by the size of their values. sorted: as they should be.
func (v *view) bySize(r Row, f family) (names string, sorted, ok bool) {
	type one struct {
		c *column
		x float64
	}
	var list []one
	for i := range f.stats {
		x, known := v.scaled(r, &f.stats[i])
		if !known {
			return "", false, false
		}
		list = append(list, one{&f.stats[i], x})
	}
	less := func(a, b one) int {
		switch {
		case a.x < b.x:
			return -1
		case a.x > b.x:
			return 1
		}
		return 0
	}
	sorted = slices.IsSortedFunc(list, less)
	slices.SortStableFunc(list, less)
	parts := make([]string, len(list))
	for i, o := range list {
		parts[i] = o.c.name
	}
	return strings.Join(parts, " ≤ "), sorted, true
}

func values(m map[string]int) (list []int) {
	for _, n := range m {
		list = append(list, n)
	}
	return list
}

// totals are names of rows that sum up the others.
var totals = []string{"all", "total", "mean", "average", "avg", "overall", "summary"}

// averaged: a percentile of everything is not the mean of the parts' percentiles.
func (v *view) averaged() bool {
	applied := false
	for i := range v.columns {
		c := &v.columns[i]
		if c.kind != quantile {
			continue
		}
		sum, n := 0.0, 0
		for _, r := range v.Rows {
			x, ok := v.scaled(r, c)
			isTotal := slices.ContainsFunc(strings.Fields(strings.ToLower(r.Name)), func(w string) bool { return slices.Contains(totals, w) })
			switch {
			case !ok:
			case !isTotal:
				sum, n = sum+x, n+1
			case n >= 2:
				applied = true
				if abs(x-sum/float64(n)) <= v.slack(r, c) {
					v.found(r, fmt.Sprintf("%s is the mean of the %d rows above", v.cell(r, c), n),
						"percentiles were averaged; the percentile of all messages needs their histograms merged", c)
				}
				sum, n = 0, 0
			}
		}
	}
	return applied
}
