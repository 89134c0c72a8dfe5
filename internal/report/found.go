package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mqlab/mqlab/internal/capacity"
	"github.com/mqlab/mqlab/internal/chart"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/search"
	"github.com/mqlab/mqlab/internal/summary"
)

// answers puts what searches found before the rest of a verdict, in place of comparisons.
func (sec *section) answers(found []capacity.Result) {
	var points list
	for i := range found {
		r := &found[i]
		st := strong
		if !r.Settled || r.End == search.NotTested {
			st = caution
		}
		points = append(points, paragraph{r.Sentence() + ".", st})
	}
	sec.blocks = slices.Insert(sec.blocks, 0, block(points))
}

// found shows the answers of searches, and what they rest on.
func (d *document) found(found []capacity.Result) {
	sec := d.section("Capacity")
	sec.say(plain, "What is sustained keeps all limits of the search; the peak is the highest rate of deliveries of any probe, whatever came late or not at all.")
	sec.add(answerTable(found))
	d.searchCost(found)
	for i := range found {
		probes := d.section("Probes of " + found[i].Name())
		probes.add(probeTable(&found[i]))
	}
}

func answerTable(found []capacity.Result) *table {
	t := &table{head: []string{"", "sustainable", "between", "sustained/s", "peak/s", "peak at", "knee", "ended by", "probes"}, left: 1}
	for i := range found {
		r := &found[i]
		between := unknown
		if r.Low != nil && r.High != nil {
			between = summary.Range(r.Text(r.Low), r.Text(r.High))
		}
		t.row(r.Name(), r.Text(r.Sustainable), between, numberOf(r.Delivered), numberOf(r.Peak), r.Text(r.PeakAt), r.Text(r.Knee), r.EndedBy(), fmt.Sprint(len(r.Probes)))
	}
	if c := slices.Index(t.head, "sustained/s"); found[0].Vary == plan.VaryRate {
		t.drop(c) // it says the same
	}
	t.dropEmpty()
	return t
}

// probeTable has a row for each value that was tried, ascending.
func probeTable(r *capacity.Result) *table {
	t := &table{head: []string{"", "held", "not measured", "delivered/s", "p50", "p99", "lost", "thread", "bottleneck"}, left: 1}
	for _, v := range r.Values() {
		held, spoilt := unknown, unknown
		if v.Probes > 0 {
			held = fmt.Sprintf("%d of %d", v.Held, v.Probes)
		}
		if v.Unmeasured > 0 {
			spoilt = fmt.Sprint(v.Unmeasured)
		}
		t.row(r.Text(&v.Value), held, spoilt, numberOf(v.Delivered), nanosecondsOr(v.P50), nanosecondsOr(v.P99),
			countOr(v.Lost), ratio(v.Thread), v.Bottleneck())
	}
	t.dropEmpty()
	return t
}

// searchCost is what messages took at the values that are sustained.
func (d *document) searchCost(found []capacity.Result) {
	t := costTable()
	for i := range found {
		if c := found[i].Cost(); c != nil {
			t.row(append([]string{found[i].Name()}, costCells(c)...)...)
		}
	}
	d.costs(t, "At the value that is sustained. ")
}

// cost is what messages took in every cell.
func (d *document) cost(s *summary.Summary) {
	t := costTable()
	for i := range s.Cells {
		c := &s.Cells[i]
		if c.Cost == nil || c.Valid == 0 {
			continue
		}
		limiter := unknown
		if c.Bottleneck != nil {
			limiter = string(c.Bottleneck.Kind)
		}
		t.row(append(append([]string{cellName(c)}, costCells(c.Cost)...), limiter)...)
	}
	if len(t.rows) == 0 {
		return
	}
	t.head = append(t.head, "bottleneck")
	d.costs(t, "")
	d.last().bottlenecks(s, func(c *summary.Cell) bool { return c.Cost != nil && c.Valid > 0 })
}

// bottlenecks shows the evidence for what set the pace of cells, one line each; where the load came through there is none to name.
func (sec *section) bottlenecks(s *summary.Summary, of func(*summary.Cell) bool) {
	var points list
	for i := range s.Cells {
		c := &s.Cells[i]
		if b := c.Bottleneck; b != nil && b.Kind != summary.LimitNone && of(c) {
			points = append(points, paragraph{fmt.Sprintf("bottleneck of %s: %s: %s", cellName(c), b.Kind, b.Text), plain})
		}
	}
	if len(points) > 0 {
		sec.add(points)
	}
}

func (d *document) costs(t *table, where string) {
	if len(t.rows) == 0 {
		return
	}
	t.dropEmpty()
	words := where + "Messages per CPU-second of broker (delivered) and generator (sent and received), the broker's memory"
	if slices.Contains(t.head, memoryEach) {
		words += " for each connection and in all"
	}
	sec := d.section("Cost")
	sec.say(plain, words+":")
	sec.add(t)
}

// memoryEach heads what is known only where there are many connections.
const memoryEach = "memory each"

func costTable() *table {
	return &table{head: []string{"", "broker/CPU-s", "generator/CPU-s", memoryEach, "memory"}, left: 1}
}

func costCells(c *summary.Cost) []string {
	bytes := func(v *float64) string {
		if v == nil {
			return unknown
		}
		return summary.Size.Format(*v)
	}
	return []string{numberOf(c.DeliveriesPerBrokerCPU), numberOf(c.MessagesPerGeneratorCPU), bytes(c.BytesPerConnection), bytes(c.BrokerBytes)}
}

// foundCharts shows what was delivered, and how late, by what was offered.
func (p *page) foundCharts() {
	p.found(p.o.Searches)
	i := slices.IndexFunc(p.sections, func(x *section) bool { return x.heading == "Capacity" })
	var charts figures
	for from := 0; from < len(p.o.Searches); from += together {
		charts = append(charts, saturation(p.o.Searches[from:min(from+together, len(p.o.Searches))]))
	}
	p.sections[i].blocks = slices.Insert(p.sections[i].blocks, 1, block(charts))
}

func saturation(found []capacity.Result) figure {
	c := chart.Saturation{Latency: "response p99"}
	c.Title = "Delivered per second and response p99, by what was offered per second"
	axis, ofValue := loadAxis(&found[0])
	if ofValue {
		c.Load, c.Title = axis, "Delivered per second and response p99, by "+axis.Name
	}
	var words []string
	for i := range found {
		c.Paths = append(c.Paths, pathOf(&found[i], ofValue))
		words = append(words, found[i].Sentence())
	}
	c.Desc = sentence(words)
	return figure{c.SVG(), c.Title + "; a solid vertical line marks what is sustained, a dotted one the knee, a ring the peak"}
}

// loadAxis is the axis of what was searched, and whether a chart needs it: what was offered does not grow with the size of messages,
// nor with connections that carry one load.
func loadAxis(r *capacity.Result) (a chart.Axis, needed bool) {
	a = chart.Axis{Name: r.Noun(), Value: func(v float64) string { return r.Text(&v) }}
	if r.Vary == plan.VaryPayload {
		a.Ticks = chart.Bytes
	}
	return a, r.Vary == plan.VaryPayload || r.Vary == plan.VaryConnections
}

// pathOf is a search as a path of a chart: by the values that were searched, or by what was offered.
func pathOf(r *capacity.Result, ofValue bool) chart.Path {
	path := chart.Path{Name: r.Name(), Sustainable: none, Knee: none, Peak: chart.Point{X: none, Y: none}}
	for _, v := range r.Values() {
		if v.Offered == nil || v.Delivered == nil {
			continue
		}
		at := *v.Offered
		if ofValue {
			at = v.Value
		}
		is := func(x *float64) bool { return x != nil && *x == v.Value }
		path.Loads = append(path.Loads, chart.Load{At: at, Delivered: *v.Delivered, P99: orNone(v.P99)})
		if is(r.Sustainable) {
			path.Sustainable = at
		}
		if is(r.Knee) {
			path.Knee = at
		}
		if is(r.PeakAt) {
			path.Peak = chart.Point{X: at, Y: *r.Peak}
		}
	}
	slices.SortFunc(path.Loads, func(a, b chart.Load) int { return cmp.Compare(a.At, b.At) })
	return path
}

func numberOf(v *float64) string {
	if v == nil {
		return unknown
	}
	return summary.Number(*v)
}

func nanosecondsOr(v *float64) string {
	if v == nil {
		return unknown
	}
	return summary.Nanoseconds.Format(*v)
}

func countOr(v *uint64) string {
	if v == nil {
		return unknown
	}
	return summary.Count(*v)
}
