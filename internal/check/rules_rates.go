package check

import "fmt"

// tolerance of comparisons between figures that were taken at slightly different moments.
const tolerance = 0.05

func (v *view) rateAgainstCount() bool {
	applied := false
	for _, pair := range [][2]kind{{sent, sentRate}, {received, receivedRate}} {
		count, rate, d, late := v.first(pair[0]), v.first(pair[1]), v.first(duration), v.first(drained)
		applied = v.each(func(r Row, x []float64) {
			inTime := x[0]
			if n, known := v.value(r, late); known && pair[0] == received {
				inTime -= n
			}
			want := inTime / x[2]
			if x[2] > 0 && abs(x[1]-want) > tolerance*want+1/x[2]+grain(r.Cells[rate.index]) {
				v.found(r, fmt.Sprintf("%s, but %s in %s make %s/s", v.cell(r, rate), v.cell(r, count), v.cell(r, d), figure(want)),
					"count and rate are of different windows (warm-up, drain), or the duration covers several runs", rate, count, d)
			}
		}, count, rate, d) || applied
	}
	return applied
}

func (v *view) moreOut() bool {
	in, out := v.first(sentRate), v.first(receivedRate)
	if in == nil {
		in = v.first(offeredRate)
	}
	return v.each(func(r Row, x []float64) {
		if limit := x[0] * v.copies(r); x[0] > 0 && x[1] > limit*(1+tolerance) {
			v.found(r, fmt.Sprintf("%s is %s × %s", v.cell(r, out), figure(x[1]/x[0]), v.cell(r, in)),
				"the two rates are of different windows: a backlog was drained, or publishers had stopped", in, out)
		}
	}, in, out)
}

func (v *view) samples() bool {
	n := v.first(received)
	if n == nil {
		n = v.first(sent)
	}
	applied := false
	for i := range v.columns {
		c := &v.columns[i]
		if c.kind != samples {
			continue
		}
		applied = v.each(func(r Row, x []float64) {
			if x[1] > 0 && x[0] > x[1] {
				v.found(r, fmt.Sprintf("%s, but %s", v.cell(r, c), v.cell(r, n)),
					"counts that grow from the start were added up second by second, or warm-up is in one column only", c, n)
			}
		}, c, n) || applied
	}
	return applied
}

// withoutMessages: where nothing arrived there is no time and no percentile.
func (v *view) withoutMessages() bool {
	n := v.first(received)
	if n == nil {
		n = v.first(receivedRate)
	}
	applied := false
	for _, f := range v.families {
		if f.samples == nil && n == nil || len(f.stats) == 0 || !f.isTime() {
			continue
		}
		count := f.samples
		if count == nil {
			count = n
		}
		s := &f.stats[len(f.stats)/2]
		applied = v.each(func(r Row, x []float64) {
			if x[0] == 0 && x[1] != 0 {
				v.found(r, fmt.Sprintf("%s, where %s", v.cell(r, s), v.cell(r, count)),
					"figures of messages that never came: left over from warm-up, or from another row", s, count)
			}
		}, count, s) || applied
	}
	return applied
}

// isTime tells whether a family is of times: it has quantiles, or a unit of time.
func (f *family) isTime() bool {
	for _, c := range f.stats {
		if c.kind == quantile || c.named && c.unit != 0.01 {
			return true
		}
	}
	return false
}
